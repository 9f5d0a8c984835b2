"""Protocols of the storage and network that a resolver needs, and their values. No I/O."""
