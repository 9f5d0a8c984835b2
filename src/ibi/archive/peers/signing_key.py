"""Signatures of an archive: Ed25519 (RFC 8032), by the cryptography package, in hexadecimal."""

from __future__ import annotations

import secrets
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ibi.archive.peers.about import ask_about
from ibi.archive.ports.catalogue import SettingStore
from ibi.foundation.http_client.ssrf_guard import OutboundGuard


def ask_key(address: str, guard: OutboundGuard) -> tuple[str, str]:
    """Return the label of an archive's service and its public key."""
    about = ask_about(address, guard)
    return about.service.rep or about.service.ibip, about.key


_SETTING: Final = "signing key"
_KEY_BYTES: Final = 32
"""Bytes of a private key of Ed25519."""


class SigningKey:
    """The key of one archive: generated at its first use, stored in the catalogue."""

    def __init__(self, settings: SettingStore) -> None:
        """Store the key among these settings."""
        self._settings = settings

    def _key(self) -> Ed25519PrivateKey:
        kept = self._settings.get(_SETTING)
        kept = kept or self._settings.keep(_SETTING, secrets.token_hex(_KEY_BYTES))
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(kept))

    def public(self) -> str:
        """Return the public key, in hexadecimal."""
        return self._key().public_key().public_bytes_raw().hex()

    def sign(self, text: bytes) -> str:
        """Return the signature of a text, in hexadecimal."""
        return self._key().sign(text).hex()
