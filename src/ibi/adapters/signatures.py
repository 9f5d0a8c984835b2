"""Signatures of an archive: Ed25519 (RFC 8032), by the cryptography package, in hexadecimal."""

from __future__ import annotations

import secrets
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ibi.ports import Catalogue

_SETTING: Final = "signing key"
_BYTES: Final = 32


class SigningKey:
    """The key of one archive: made when it is first needed, kept in its catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Take where it is kept."""
        self._catalogue = catalogue

    def _key(self) -> Ed25519PrivateKey:
        kept = self._catalogue.setting(_SETTING)
        kept = kept or self._catalogue.keep_setting(_SETTING, secrets.token_hex(_BYTES))
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(kept))

    def public(self) -> str:
        """Return what others verify its signatures with."""
        return self._key().public_key().public_bytes_raw().hex()

    def sign(self, text: bytes) -> str:
        """Return the signature of a text."""
        return self._key().sign(text).hex()


def is_signed(key: str, text: bytes, signature: str) -> bool:
    """Tell whether a text has a signature by the owner of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            bytes.fromhex(signature), text
        )
    except (InvalidSignature, ValueError):
        return False
    return True
