"""Bearer tokens of the HTTP API, and their scopes.

A token is 256 random bits, so a plain digest is stored: there is nothing to guess, and a slow hash
would only slow down honest clients (docs/adr/0010).
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Final

from ibi.errors import (
    ForbiddenError,
    RequestError,
    Sentence,
    StateError,
    UnauthenticatedError,
    shown,
)
from ibi.model.account import owner_of
from ibi.model.clock import SECOND, Clock
from ibi.model.token import MAX_DAYS, Scopes, Token, TokenStore

STALE_TIME: Final = 5_000_000_000
"""Nanoseconds until a token that another process removed is noticed here."""

_DAY: Final = 86_400 * SECOND

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Tokens:
    """The tokens of a store; they are read again after a few seconds."""

    def __init__(
        self,
        store: TokenStore,
        clock: Clock,
        scopes: Scopes,
        *,
        trusted_for: int = STALE_TIME,
        is_allowed: Callable[[Token], bool] = lambda _: True,
    ) -> None:
        """Read none yet; tokens that were read are trusted for so many nanoseconds.

        `is_allowed` returns whether the owner of a personal token still has its scope.
        """
        self._is_allowed = is_allowed
        self._trusted_for = trusted_for
        self._store = store
        self._clock = clock
        self.scopes = scopes
        self._by_digest: dict[str, Token] = {}
        self._read_at: int | None = None

    def add(self, name: str, scope: str, days: int = 0, owner: str = "") -> str:
        """Make a token and return its secret, which cannot be shown again.

        It is valid for so many days, or with 0 until it is removed. The name of a personal token
        begins with its owner, as histories name the account: so it is no other token's.
        """
        if _NAME.fullmatch(name) is None:
            msg = Sentence(
                "%(name)s is not a name for a token: expected letters, digits, . _ or -.",
                name=shown(name),
            )
            raise RequestError(msg)
        if scope not in self.scopes.names:
            msg = Sentence(
                "%(scope)s is not a scope: expected %(names)s.",
                scope=shown(scope),
                names=" or ".join(self.scopes.names),
            )
            raise RequestError(msg)
        if not 0 <= days <= MAX_DAYS:
            msg = Sentence(
                "A token is valid for 1 to %(most)s days, or with 0 until it is removed.",
                most=MAX_DAYS,
            )
            raise RequestError(msg)
        now = self._clock.wall()
        expires = now + days * _DAY if days else 0
        secret = f"ibi_{secrets.token_urlsafe(32)}"
        name = f"{owner}/{name}" if owner else name
        if not self._store.add_token(Token(name, digest(secret), scope, now, expires)):
            msg = Sentence(
                "There is a token %(name)s already: remove it, or take another name.",
                name=shown(name),
            )
            raise RequestError(msg)
        self._read_at = None
        return secret

    def remove(self, name: str) -> bool:
        """Remove a token; return False if there is none of that name.

        The last one that may do everything, for good, stays: without it no other could be made.
        """
        highest = self.scopes.highest
        powerful = {
            token.name
            for token in self._store.tokens()
            if token.scope == highest and not token.expires and not owner_of(token.name)
        }
        if powerful == {name}:
            msg = Sentence(
                "%(name)s is the last token with the scope %(highest)s that does not expire: "
                "add another first.",
                name=name,
                highest=highest,
            )
            raise StateError(msg)
        if not self._store.remove_token(name):
            return False
        self._read_at = None
        return True

    def of(self, owner: str) -> list[Token]:
        """Return the valid personal tokens of an account, by its name in histories."""
        now = self._clock.wall()
        return [
            each
            for each in self._store.tokens()
            if each.name.startswith(f"{owner}/") and each.is_valid(now)
        ]

    def is_stale(self) -> bool:
        """Return whether the store should be read before the next `authenticate`."""
        return self._read_at is None or self._clock.uptime() - self._read_at > self._trusted_for

    def refresh(self) -> None:
        """Read the tokens again."""
        read_at = self._clock.uptime()
        found = self._store.tokens()
        self._by_digest = {token.digest: token for token in found if self._is_allowed(token)}
        self._read_at = read_at

    def identify(self, authorization: str | None) -> Token:
        """Return the token that a header carries, whatever its scope."""
        kind, _, secret = (authorization or "").partition(" ")
        token = self._by_digest.get(digest(secret.strip())) if kind.lower() == "bearer" else None
        if token is None or not token.is_valid(self._clock.wall()):
            raise UnauthenticatedError
        return token

    def check_scope(self, token: Token, scope: str) -> None:
        """Raise ForbiddenError unless a token includes a scope."""
        if scope not in self.scopes.included(token.scope):
            raise ForbiddenError(scope)


def digest(secret: str) -> str:
    """Return the digest of a secret, which is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
