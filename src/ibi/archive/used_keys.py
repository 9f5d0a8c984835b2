"""Keys that were used are forgotten once nobody would take them any more: by a clock that is right.

A key that is forgotten too early counts a second time. A machine may begin with a clock that is
hours ahead, and have it put right a moment later. So only what had run out a round ago is
forgotten, and only if the clock went on since then as the uptime did.
"""

from __future__ import annotations

from typing import Final

from ibi.ports import Clock
from ibi.ports.statistics import Statistics

SECOND: Final = 1_000_000_000
_DRIFT: Final = 60 * SECOND
"""By which the clock may be put right between two rounds: less than a key lives."""


class UsedKeys:
    """Forgets used keys, round by round."""

    def __init__(self, statistics: Statistics, clock: Clock) -> None:
        """Begin without a round: the first one forgets nothing."""
        self._statistics = statistics
        self._clock = clock
        self._before: tuple[int, int] | None = None

    def forget(self) -> None:
        """Forget those that had run out in the round before."""
        before, now = self._before, (self._clock.wall(), self._clock.uptime())
        self._before = now
        if before is None:
            return
        drift = (now[0] - before[0]) - (now[1] - before[1])
        if abs(drift) <= _DRIFT:
            self._statistics.forget_keys(before[0] // SECOND)
