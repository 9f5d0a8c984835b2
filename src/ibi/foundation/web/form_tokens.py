"""Tokens of forms, and the checks that a page of this site sent a request (CSRF).

A token is a MAC of the secret in the cookie of the browser, so nothing is stored for it, and it is
valid for as long as the cookie is the same. It is masked with random bytes: a token is another text
on every page, so that the sizes of compressed pages tell nothing of it (BREACH).
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

FIELD: Final = "csrf"
"""The name of the field of a form, or of the pair of a query, that has the token."""
HEADER: Final = "x-csrf-token"
"""The header in which scripts send the token."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_SIZE: Final = 32


def form_token(secret: str) -> str:
    """Return a token for the forms of the browser with a secret."""
    mask = secrets.token_bytes(_SIZE)
    return urlsafe_b64encode(mask + _masked(_mac(secret), mask)).decode().rstrip("=")


def is_form_token(secret: str, token: str) -> bool:
    """Return whether a token was made for the browser with a secret."""
    try:
        octets = urlsafe_b64decode(token.encode("ascii") + b"==")
    except (Error, ValueError):
        return False
    if not secret or len(octets) != 2 * _SIZE:
        return False
    mask, masked = octets[:_SIZE], octets[_SIZE:]
    return hmac.compare_digest(_masked(masked, mask), _mac(secret))


def _mac(secret: str) -> bytes:
    return hmac.digest(secret.encode(), b"form", sha256)


def _masked(octets: bytes, mask: bytes) -> bytes:
    return bytes(each ^ other for each, other in zip(octets, mask, strict=True))


class Origins:
    """Tells by the headers of browsers from which site a request comes."""

    def __init__(self, address: str) -> None:
        """Take the public address of this site."""
        self._own = _origin(address)

    def is_foreign(self, request: Request) -> bool:
        """Return whether the browser says that another site had the request sent."""
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site not in {"same-origin", "none"}
        origin = request.headers.get("origin")
        return origin is not None and not self._is_own(origin, request)

    def is_asserted(self, request: Request) -> bool:
        """Return whether the browser says that a page of this site sent the request."""
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        return self._is_own(request.headers.get("origin", ""), request)

    def _is_own(self, origin: str, request: Request) -> bool:
        # The host of the request too: an instance may be reached by several names.
        own = {self._own, f"{urlsplit(self._own).scheme}://{request.headers.get('host', '')}"}
        return origin.lower() in {each.lower() for each in own}

    def own_path(self, address: str, request: Request) -> str:
        """Return path and query of an address of this site; empty if it is of another one."""
        parts = urlsplit(address)
        if not self._is_own(f"{parts.scheme}://{parts.netloc}", request):
            return ""
        return parts.path + (f"?{parts.query}" if parts.query else "")


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
