"""The HTTP API of the minting service."""
