"""Finds the person of a request by the session cookie."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.accounts.sessions import Sessions, new_secret
from ibi.foundation.web.visitor import Visitor
from ibi.model.account import Account
from ibi.model.token import Scopes

_FOUND: Final = "ibi.visitor"
"""The key in the scope of a request under which its visitor is kept."""
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class SessionCookie:
    """The cookie with the secret of a session.

    Browsers send cookies of a host to all of its ports, so the name has the program and the port:
    several archives and resolvers on one host do not sign each other's people out.
    """

    def __init__(self, program: str, address: str) -> None:
        """Name the cookie of a program at its public address."""
        parts = urlsplit(address)
        self._is_secure = parts.scheme == "https"
        port = f"-{parts.port}" if parts.port else ""
        # A cookie with this prefix cannot be set by another host, nor without TLS (RFC 6265bis).
        self.name = f"{'__Host-' if self._is_secure else ''}ibi-{program}{port}"

    def is_in(self, request: Request) -> bool:
        """Return whether a request has the cookie."""
        return self.name in request.headers.get("cookie", "") and bool(self.read(request))

    def read(self, request: Request) -> str:
        """Return the secret in a request; empty if there is none."""
        secret = request.cookies.get(self.name, "")
        return secret if _SECRET.fullmatch(secret) else ""

    def set(self, response: Response, secret: str) -> None:
        """Have the browser keep a secret, until it is closed."""
        response.set_cookie(
            self.name, secret, path="/", secure=self._is_secure, httponly=True, samesite="lax"
        )

    def clear(self, response: Response) -> None:
        """Have the browser forget the secret."""
        response.delete_cookie(
            self.name, path="/", secure=self._is_secure, httponly=True, samesite="lax"
        )


class SessionVisitors:
    """Finds people by their sessions."""

    def __init__(
        self, sessions: Sessions, cookie: SessionCookie, scopes: Scopes, roles: Mapping[str, str]
    ) -> None:
        """Give each role of `roles` the scopes that its scope includes."""
        self._sessions = sessions
        self._cookie = cookie
        self._scopes = {role: frozenset(scopes.included(scope)) for role, scope in roles.items()}

    def has_cookie(self, request: Request) -> bool:
        """Return whether a request has a cookie of this site."""
        return self._cookie.is_in(request)

    async def of(self, request: Request) -> Visitor:
        """Return the person of a request; an anonymous one gets a secret for forms."""
        found = request.scope.get(_FOUND)
        if isinstance(found, Visitor):
            return found
        visitor = request.scope[_FOUND] = await self._found(self._cookie.read(request))
        return visitor

    async def _found(self, secret: str) -> Visitor:
        if not secret:
            return Visitor(secret=new_secret(), is_new=True)
        account = await asyncio.to_thread(self._sessions.find, secret)
        return self.visitor(account, secret) if account else Visitor(secret=secret)

    def visitor(self, account: Account, secret: str) -> Visitor:
        """Return the visitor who has an account, and a session with a secret."""
        scopes = self._scopes.get(account.role, frozenset())
        return Visitor(account.name, account.full_name, account.role, scopes, secret)

    def introduce(self, visitor: Visitor, response: Response) -> None:
        """Have the browser keep the secret of a visitor."""
        self._cookie.set(response, visitor.secret)

    def dismiss(self, response: Response) -> None:
        """Have the browser forget the secret."""
        self._cookie.clear(response)
