"""Bearer tokens, and the interface of their storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

MAX_DAYS: Final = 3650
"""The longest validity of a token that expires, in days."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token with its scope; only a digest of the secret is stored."""

    name: str
    digest: str
    scope: str
    created: int
    expires: int = 0
    """When it becomes invalid, in nanoseconds of POSIX time; 0 for never."""

    def is_valid(self, now: int) -> bool:
        """Return whether the token has not expired at a time."""
        return not self.expires or now < self.expires


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes of one program, weakest first; a token of a scope may do what those before it may.

    A scope in `apart` stands outside this order: it includes no other, and only the last scope
    includes it.
    """

    names: tuple[str, ...]
    apart: frozenset[str] = frozenset()

    @property
    def highest(self) -> str:
        """The scope that includes all others."""
        return self.names[-1]

    def included(self, scope: str) -> tuple[str, ...]:
        """Return the scopes that a token of this scope is good for."""
        if scope == self.highest:
            return self.names
        if scope in self.apart:
            return (scope,)
        before = self.names[: self.names.index(scope) + 1]
        return tuple(each for each in before if each not in self.apart)


class TokenStore(Protocol):
    """Storage of tokens."""

    def add_token(self, token: Token) -> bool:
        """Store a token; return False if the name is taken."""
        ...

    def tokens(self) -> list[Token]:
        """Return all tokens."""
        ...

    def remove_token(self, name: str) -> bool:
        """Remove a token; return False if there is none of this name."""
        ...
