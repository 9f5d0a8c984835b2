"""Bearer tokens, and the interface of their storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token with its scope; only a digest of the secret is stored."""

    name: str
    digest: str
    scope: str
    created: int


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
