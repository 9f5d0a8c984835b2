"""Protocols of what a resolver needs of storage and network, and their values. No I/O."""
