"""Protocols of what an archive needs of storage, and their values. No I/O."""
