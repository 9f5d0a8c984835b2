"""The rate limit of requests: so many a second from one client, and some at once."""

from __future__ import annotations

from typing import Final

from ibi.errors import TooManyRequestsError
from ibi.model.clock import SECOND, Clock
from ibi.model.pace import TokenBuckets

_MAX_CLIENTS: Final = 10_000
"""Clients in memory; the one that was away for longest is dropped first."""


class RateLimit:
    """Token buckets of clients, by the clock of the machine."""

    def __init__(self, clock: Clock, rate: int, burst: int) -> None:
        """Admit `burst` requests at once, and `rate` a second in the long run."""
        self._clock = clock
        self._buckets = TokenBuckets(rate, burst, _MAX_CLIENTS)

    def admit(self, client: str, cost: int = 1) -> None:
        """Take from the bucket of a client; raise TooManyRequestsError if it holds too little."""
        wait = self._buckets.take(client, self._clock.uptime(), cost)
        if wait:
            raise TooManyRequestsError(-(-wait // SECOND))
