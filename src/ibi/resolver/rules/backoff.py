"""How often somebody is asked: so many times a second, and more rarely after each failure.

Times are nanoseconds since the machine was started.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

_SECOND: Final = 1_000_000_000
LONGEST_REST: Final = 60 * _SECOND
_MOST_DOUBLINGS: Final = 6


class Pace:
    """Spaces out what is sent to each."""

    def __init__(self, rate: int) -> None:
        """Let each have `rate` a second, evenly."""
        self._step = _SECOND // rate
        self._free: dict[Hashable, int] = {}

    def wait(self, who: Hashable, now: int) -> int:
        """Take the next turn; return after how long it comes."""
        turn = max(now, self._free.get(who, now))
        self._free[who] = turn + self._step
        return turn - now


class _Rest(NamedTuple):
    failures: int
    until: int


class Rests:
    """Who failed rests: a second at first, a minute at last."""

    def __init__(self) -> None:
        """Let nobody rest yet."""
        self._rests: dict[Hashable, _Rest] = {}

    def failed(self, who: Hashable, now: int) -> None:
        """Let somebody rest, for twice as long as the last time."""
        failures = self._rests[who].failures if who in self._rests else 0
        rest = min(_SECOND << min(failures, _MOST_DOUBLINGS), LONGEST_REST)
        self._rests[who] = _Rest(failures + 1, now + rest)

    def until(self, who: Hashable) -> int:
        """Return until when somebody rests."""
        return self._rests[who].until if who in self._rests else 0

    def forget(self, who: Hashable) -> None:
        """Let somebody begin anew."""
        self._rests.pop(who, None)
