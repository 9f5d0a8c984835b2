"""Who may use the API of an archive, and how much of it."""

from __future__ import annotations

from starlette.requests import Request

from ibi.errors import AccessError
from ibi.ports import Clock
from ibi.web.doorkeeper import Doorkeeper
from ibi.web.rate_limit import RateLimit


class ArchiveDoor:
    """Admits whoever has a token for what they want, and has not asked too much."""

    def __init__(self, doorkeeper: Doorkeeper, clock: Clock, rate: int) -> None:
        """Let so many requests a second come from one token, bursts of five times that."""
        self.tokens = doorkeeper.tokens
        self._doorkeeper = doorkeeper
        self._limit = RateLimit(clock, rate, 5 * rate)
        # Whoever guesses tokens is soon shut out, whoever mistyped one is not.
        self._failures = RateLimit(clock, 1, 60)

    async def admit(self, request: Request, scope: str) -> str:
        """Return the name of the token, by which the history knows who did what."""
        client = request.client.host if request.client else ""
        self._failures.admit(client, cost=0)
        try:
            token = await self._doorkeeper.admit(request.headers.get("authorization"), scope)
        except AccessError:
            self._failures.admit(client)
            raise
        self._limit.admit(token.name)
        return token.name
