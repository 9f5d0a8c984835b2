"""Authentication: which token a request carries."""

from __future__ import annotations

import asyncio

from ibi.errors import IbiError, UnauthenticatedError
from ibi.foundation.web.tokens import Tokens
from ibi.model.clock import SECOND, Clock
from ibi.model.token import Token


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
