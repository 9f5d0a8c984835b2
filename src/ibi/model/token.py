"""Bearer tokens, as every program keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Token:
    """Who may do what over HTTP; of the secret only a digest is kept."""

    name: str
    digest: str
    scope: str
    created: int


class TokenStore(Protocol):
    """Where tokens are kept."""

    def add_token(self, token: Token) -> bool:
        """Keep a token; False if one of that name is there."""
        ...

    def tokens(self) -> list[Token]:
        """Return all tokens."""
        ...

    def remove_token(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        ...
