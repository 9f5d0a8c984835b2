"""Who may use the API of a resolver, and how much of it."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from ibi.errors import UnauthenticatedError
from ibi.foundation.web.authentication import Authenticator
from ibi.foundation.web.client_address import ClientAddresses, network_of
from ibi.foundation.web.rate_limit import RateLimit
from ibi.model.clock import Clock

_HOUR: Final = 3600
REGISTRATIONS_AN_HOUR: Final = 10
"""For one client's network: nobody has more archives to register in an hour."""


class ResolverAuthorizer:
    """Admits whoever has a token for what they want, and strangers within their share."""

    def __init__(
        self, doorkeeper: Authenticator, clients: ClientAddresses, clock: Clock, rate: int
    ) -> None:
        """Let so many requests a second come from one token, bursts of five times that."""
        self.tokens = doorkeeper.tokens
        self._doorkeeper = doorkeeper
        self._clients = clients
        self._limit = RateLimit(clock, rate, 5 * rate)
        # Whoever guesses tokens is soon told to wait; whoever has one is not, though both may come
        # from one network.
        self._failures = RateLimit(clock, 1, 60)
        self._registrations = RateLimit(clock, 1, _HOUR)

    async def admit(self, request: Request, scope: str) -> str:
        """Return the name of the token, by which the history knows who did what."""
        return await self.admit_by(request.headers.get("authorization"), request, scope)

    async def admit_by(self, authorization: str | None, request: Request, scope: str) -> str:
        """Do the same by a token that came elsewhere than in the head of the request."""
        try:
            token = await self._doorkeeper.admit(authorization, self.tokens.scopes[0])
        except UnauthenticatedError:
            if authorization is not None:
                self._failures.admit(self._network(request))
            raise
        self._limit.admit(token.name)
        return self.tokens.authenticate(authorization, scope).name

    async def knows(self, request: Request, scope: str) -> bool:
        """Tell whether a request that needs no token has one; a bad one is refused all the same."""
        if "authorization" not in request.headers:
            return False
        return bool(await self.admit(request, scope))

    def admit_registration(self, request: Request) -> None:
        """Let a stranger register something, if not too much is already from there."""
        self._registrations.admit(self._network(request), _HOUR // REGISTRATIONS_AN_HOUR)

    def _network(self, request: Request) -> str:
        return network_of(self._clients.of(request)[0])
