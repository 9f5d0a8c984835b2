"""The HTTP API of a minting service."""
