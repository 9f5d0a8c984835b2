"""How much one client may ask: so many requests a second, and some at once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from ibi.errors import TooManyRequestsError
from ibi.model.clock import Clock

_SECOND: Final = 1_000_000_000
_MOST_CLIENTS: Final = 10_000
"""Remembered; who has not come for longest is forgotten first, and starts anew."""


class RateLimit:
    """A bucket for each client, which fills as time goes by."""

    def __init__(self, clock: Clock, rate: int, burst: int) -> None:
        """Let `burst` requests come at once, and `rate` a second in the long run."""
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._full_at: OrderedDict[str, int] = OrderedDict()
        """When each bucket will be full again."""

    def admit(self, client: str, cost: int = 1) -> None:
        """Take from the bucket of a client; TooManyRequestsError if it is empty."""
        now = self._clock.uptime()
        step = cost * _SECOND // self._rate
        full_at = max(now, self._full_at.get(client, now)) + step
        room = self._burst * _SECOND // self._rate
        if full_at - now > room:
            raise TooManyRequestsError(max(1, -(-(full_at - now - room) // _SECOND)))
        self._full_at[client] = full_at
        self._full_at.move_to_end(client)
        if len(self._full_at) > _MOST_CLIENTS:
            self._full_at.popitem(last=False)
