"""The person for whom a request is answered: signed in by a session, or anonymous."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.web.form_tokens import form_token
from ibi.model.account import actor_of


@dataclass(frozen=True, slots=True)
class Visitor:
    """The person who sent a request."""

    account: str = ""
    """The name of the account; empty for an anonymous person."""
    full_name: str = ""
    role: str = ""
    scopes: frozenset[str] = frozenset()
    """The scopes that the role includes."""
    secret: str = field(default="", repr=False)
    """The secret in the cookie, to which the tokens of forms are bound."""
    is_new: bool = False
    """Whether the browser has no cookie yet, and gets the secret with the response."""

    @property
    def is_signed_in(self) -> bool:
        """Whether a session authorizes the request."""
        return bool(self.account)

    @property
    def actor(self) -> str:
        """The name in the history and the access log; empty for an anonymous person."""
        return actor_of(self.account) if self.account else ""

    @property
    def csrf(self) -> str:
        """A token that a form of this person carries; another text each time, all of them valid."""
        return form_token(self.secret) if self.secret else ""


ANONYMOUS: Final = Visitor()

_CURRENT: Final[ContextVar[Visitor]] = ContextVar("visitor", default=ANONYMOUS)


def current_visitor() -> Visitor:
    """Return the person for whom a page is made."""
    return _CURRENT.get()


class Visiting:
    """A block in which pages are made for one person."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._visitor)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


class VisitorFinder(Protocol):
    """Finds the person of a request by its cookie, at most once for each request."""

    def has_cookie(self, request: Request) -> bool:
        """Return whether a request has a cookie of this site."""
        ...

    async def of(self, request: Request) -> Visitor:
        """Return the person; an anonymous one gets a secret, so that forms can have tokens."""
        ...

    def introduce(self, visitor: Visitor, response: Response) -> None:
        """Have the browser keep the secret of a visitor."""
        ...
