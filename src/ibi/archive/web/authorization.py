"""Who may use the API of an archive, and how much of it."""

from __future__ import annotations

from starlette.requests import Request

from ibi.errors import UnauthenticatedError
from ibi.foundation.web.authentication import Authenticator
from ibi.foundation.web.rate_limit import RateLimit
from ibi.model.clock import Clock


class ArchiveAuthorizer:
    """Admits whoever has a token for what they want, and has not asked too much."""

    def __init__(self, doorkeeper: Authenticator, clock: Clock, rate: int) -> None:
        """Let so many requests a second come from one token, bursts of five times that."""
        self.tokens = doorkeeper.tokens
        self._doorkeeper = doorkeeper
        self._limit = RateLimit(clock, rate, 5 * rate)
        # Whoever guesses tokens is soon told to wait; whoever has one is not, though both may come
        # from one address, that of a proxy for one.
        self._failures = RateLimit(clock, 1, 60)

    async def admit(self, request: Request, scope: str) -> str:
        """Return the name of the token, by which the history knows who did what."""
        authorization = request.headers.get("authorization")
        try:
            token = await self._doorkeeper.identify(authorization)
        except UnauthenticatedError:
            if authorization is not None:
                self._failures.admit(request.client.host if request.client else "")
            raise
        self._limit.admit(token.name)
        return self.tokens.authenticate(authorization, scope).name
