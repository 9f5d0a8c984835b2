"""Signatures of an archive: Ed25519 (RFC 8032), by the cryptography package, in hexadecimal."""

from __future__ import annotations

import secrets
from contextlib import closing
from http import HTTPStatus
from typing import Final

import msgspec
import urllib3
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ibi.archive.ports.catalogue import SettingStore
from ibi.errors import ArchiveRequestError, ArchiveUnreachableError, shown
from ibi.foundation.http_client.api_client import reason_of
from ibi.foundation.http_client.guarded_pool import guarded_pool
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.wire.addresses import is_web_address

_LARGEST_ANSWER: Final = 1 << 16
"""Bytes of the largest answer that is read."""


class _Labels(msgspec.Struct):
    rep: str = ""
    ibip: str = ""


class _About(msgspec.Struct):
    service: _Labels
    key: str


def ask_key(address: str, guard: OutboundGuard) -> tuple[str, str]:
    """Return the label of an archive's service and its public key."""
    if not is_web_address(address):
        msg = f"{shown(address)} is not the address of an archive: expected http://host[:port]."
        raise ArchiveRequestError(msg)
    base = address.rstrip("/")
    with closing(guarded_pool(base, guard, 1)) as pool:
        try:
            answer = pool.urlopen("GET", "/api/v1/archive", redirect=False, preload_content=False)
            with closing(answer):
                body = answer.read(_LARGEST_ANSWER)
        except urllib3.exceptions.HTTPError as failure:
            raise ArchiveUnreachableError(base, reason_of(failure)) from failure
    try:
        about = msgspec.json.decode(body, type=_About)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise ArchiveUnreachableError(base, "it publishes no key") from None
    if answer.status != HTTPStatus.OK:
        raise ArchiveUnreachableError(base, f"it answered {answer.status}")
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


def is_signed(key: str, text: bytes, signature: str) -> bool:
    """Return whether a signature of a text was made with the private key of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            bytes.fromhex(signature), text
        )
    except (InvalidSignature, ValueError):
        return False
    return True
