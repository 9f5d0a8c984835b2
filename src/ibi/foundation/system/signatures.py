"""Signatures by Ed25519 (RFC 8032), by the cryptography package, in hexadecimal."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def is_signed(key: str, text: bytes, signature: str) -> bool:
    """Return whether a signature of a text was made with the private key of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            bytes.fromhex(signature), text
        )
    except (InvalidSignature, ValueError):
        return False
    return True
