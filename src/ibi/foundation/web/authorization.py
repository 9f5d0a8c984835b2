"""Authorization: which callers may use an operation of an HTTP API, and how often.

An `Authenticator` finds the token that a request carries. An operation declares its access, and the
router has an `Authorizer` check it before the handler runs and before anything of the body is read.
No handler checks it by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from starlette.requests import Request

from ibi.errors import ForgeryError, IbiError, RoleError, UnauthenticatedError
from ibi.foundation.web.access_log import CALLER
from ibi.foundation.web.form_tokens import HEADER, SAFE_METHODS, Origins, is_form_token
from ibi.foundation.web.rate_limit import RateLimit
from ibi.foundation.web.tokens import Tokens
from ibi.foundation.web.visitor import ANONYMOUS, Visitor, VisitorFinder
from ibi.model.clock import SECOND, Clock
from ibi.model.token import Token


class Public(Enum):
    """Access without a token, as a value that an operation has to name."""

    PUBLIC = "public"


PUBLIC: Final = Public.PUBLIC

GRANTED: Final = "ibi.granted"
"""The key under which a request has the scopes of the session or the token that authorized it."""


@dataclass(frozen=True, slots=True)
class OptionalScope:
    """Access for every caller; a token that is sent must have the scope, and shows more."""

    scope: str


@dataclass(frozen=True, slots=True)
class Policy:
    """Access by a rule of the program, which its `Authorizer` has under this name."""

    name: str


Access: TypeAlias = str | Public | OptionalScope | Policy
"""The access that an operation requires of its caller; a text is the scope that the token must
have."""

CheckPolicy: TypeAlias = Callable[[Request], None]
"""Raises if a request does not meet a policy."""


def check_access(access: object) -> None:
    """Raise TypeError unless a value declares an access."""
    if isinstance(access, str) and not access:
        msg = "An empty scope is no declaration: name a scope, or PUBLIC."
        raise TypeError(msg)
    if not isinstance(access, str | Public | OptionalScope | Policy):
        msg = f"{access!r} declares no access: name a scope, or PUBLIC."
        raise TypeError(msg)


class Authenticator:
    """Identifies tokens; the store is read again every few seconds, for all requests at once."""

    def __init__(self, tokens: Tokens, clock: Clock) -> None:
        """Identify these tokens."""
        self.tokens = tokens
        self._clock = clock
        self._refreshing = asyncio.Lock()
        self._failure: tuple[int, IbiError | None] = (0, None)

    async def identify(self, authorization: str | None) -> Token:
        """Return the token that a header carries, whatever its scope."""
        if authorization is None:
            raise UnauthenticatedError
        if self.tokens.is_stale():
            async with self._refreshing:
                await self._refresh()
        return self.tokens.identify(authorization)

    async def _refresh(self) -> None:
        """Read the tokens; a store that fails is asked once a second."""
        if not self.tokens.is_stale():
            return
        failed_at, failure = self._failure
        if failure is not None and self._clock.uptime() - failed_at < SECOND:
            raise failure
        try:
            await asyncio.to_thread(self.tokens.refresh)
            self._failure = (0, None)
        except IbiError as error:
            self._failure = (self._clock.uptime(), error)
            raise


class TokenLimits:
    """Limits how often one token is used, and how often tokens are guessed from one place."""

    def __init__(self, clock: Clock, rate: int, place: Callable[[Request], str]) -> None:
        """Allow `rate` requests a second of one token, and bursts of five times that.

        `place` returns where a request comes from: an address, or its network.
        """
        self._place = place
        self._requests = RateLimit(clock, rate, 5 * rate)
        # A client that guesses tokens soon has to wait. A client that has a token does not, though
        # both may come from one place, for example through one proxy.
        self._failures = RateLimit(clock, 1, 60)

    def charge(self, token: str) -> None:
        """Count a request of a token; raise TooManyRequestsError if there were too many."""
        self._requests.admit(token)

    def charge_failure(self, request: Request) -> None:
        """Count an unknown token; raise TooManyRequestsError if there were too many."""
        self._failures.admit(self._place(request))


@dataclass(frozen=True, slots=True)
class SessionAccess:
    """Access to the API by the session of a person, for the scripts of our own pages."""

    visitors: VisitorFinder
    origins: Origins


class Authorizer:
    """Decides whether a request meets the access that an operation declares."""

    def __init__(
        self,
        authenticator: Authenticator,
        limits: TokenLimits | None = None,
        policies: Mapping[Policy, CheckPolicy] | None = None,
        sessions: SessionAccess | None = None,
    ) -> None:
        """Identify callers by their tokens, and check the policies of one program.

        With `sessions`, also by their sessions.
        """
        self.tokens = authenticator.tokens
        self._authenticator = authenticator
        self._limits = limits
        self._policies = policies or {}
        self._sessions = sessions

    def check(self, access: Access) -> None:
        """Raise LookupError if this program has no such scope or policy."""
        scope = access.scope if isinstance(access, OptionalScope) else access
        if isinstance(scope, str) and scope not in self.tokens.scopes.names:
            msg = f"{scope} is not one of {self.tokens.scopes.names}."
            raise LookupError(msg)
        if isinstance(access, Policy) and access not in self._policies:
            msg = f"Nothing checks {access.name}."
            raise LookupError(msg)

    async def authorize(self, request: Request, access: Access) -> str:
        """Return the name of the token or the account; "" where none is needed and none was sent.

        A token takes precedence over a session.
        """
        if isinstance(access, str):
            authorization = _authorization_of(request)
            if authorization is None and (visitor := await self._visitor(request)).is_signed_in:
                return self._authorize_visitor(visitor, request, access)
            return await self.authorize_by(authorization, request, access)
        if isinstance(access, OptionalScope):
            authorization = _authorization_of(request)
            if authorization is not None:
                return await self.authorize_by(authorization, request, access.scope)
            visitor = await self._visitor(request)
            if access.scope in visitor.scopes:
                return self._authorize_visitor(visitor, request, access.scope)
            return ""
        if isinstance(access, Policy):
            self._policies[access](request)
        return ""

    async def authorize_by(self, authorization: str | None, request: Request, scope: str) -> str:
        """Authorize by a token that came elsewhere than in the headers of the request."""
        try:
            token = await self._authenticator.identify(authorization)
        except UnauthenticatedError:
            if authorization is not None and self._limits is not None:
                self._limits.charge_failure(request)
            raise
        if self._limits is not None:
            self._limits.charge(token.name)
        self.tokens.check_scope(token, scope)
        request.scope[CALLER] = token.name
        request.scope[GRANTED] = frozenset(self.tokens.scopes.included(token.scope))
        return token.name

    def has_credentials(self, request: Request) -> bool:
        """Return whether a request has a token or the cookie of a session, valid or not."""
        if _authorization_of(request) is not None:
            return True
        return self._sessions is not None and self._sessions.visitors.has_cookie(request)

    async def _visitor(self, request: Request) -> Visitor:
        if self._sessions is None or not self._sessions.visitors.has_cookie(request):
            return ANONYMOUS
        return await self._sessions.visitors.of(request)

    def _authorize_visitor(self, visitor: Visitor, request: Request, scope: str) -> str:
        """Authorize a person; what changes something must come from a page of this site."""
        if request.method not in SAFE_METHODS:
            is_own = is_form_token(visitor.secret, request.headers.get(HEADER, ""))
            if not is_own or self._sessions is None or self._sessions.origins.is_foreign(request):
                raise ForgeryError
        if self._limits is not None:
            self._limits.charge(visitor.actor)
        if scope not in visitor.scopes:
            raise RoleError(scope)
        request.scope[CALLER] = visitor.actor
        request.scope[GRANTED] = visitor.scopes
        return visitor.actor


def _authorization_of(request: Request) -> str | None:
    # As `request.headers.get`, without an object for all headers: labels are minted by the
    # thousand.
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            text: str = value.decode("latin-1")
            return text
    return None
