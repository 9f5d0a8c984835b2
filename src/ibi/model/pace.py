"""How often and how fast: back-off after failures, token buckets, and even pacing.

Nothing here waits or reads a clock: the caller passes the time and the random number. Times are
nanoseconds of a clock that cannot be set back; waits of a Backoff have the unit of its limits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ibi.model.clock import SECOND

_MAX_STEPS: Final = 64
"""The largest exponent of a Backoff: by then every wait has reached its limit."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off: each wait is longer than the one before by a factor, up to a limit."""

    first: int
    longest: int
    factor: float = 2

    def wait(self, failures: int) -> int:
        """Return how long to wait if so many attempts failed before the last one."""
        grown = self.first * self.factor ** min(failures, _MAX_STEPS)
        return int(min(grown, self.longest))

    def jittered(self, failures: int, jitter: float) -> int:
        """Return the wait with half of it left to chance, by a random number between 0 and 1.

        Clients that failed at the same moment do not all come back at the same moment.
        """
        half = self.wait(failures) // 2
        return half + int(half * jitter)


class _Failed(NamedTuple):
    failures: int
    retry_at: int


class RetryTimes:
    """The times of the next attempts, for each key that failed; the back-off is in nanoseconds."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._failed: dict[Hashable, _Failed] = {}

    def failed(self, key: Hashable, now: int) -> None:
        """Count a failure, and start the wait that follows from it."""
        failures = self._failed[key].failures if key in self._failed else 0
        self._failed[key] = _Failed(failures + 1, now + self._backoff.wait(failures))

    def retry_at(self, key: Hashable) -> int:
        """Return when a key may be tried again; 0 if it did not fail."""
        return self._failed[key].retry_at if key in self._failed else 0

    def forget(self, key: Hashable) -> None:
        """Discard the failures of a key."""
        self._failed.pop(key, None)


class TokenBuckets:
    """A token bucket for each key, which begins full and refills as time passes.

    A bucket holds `burst` tokens and refills by `rate` tokens a second.
    Memory is bounded: beyond `max_keys`, the key that was used longest ago is forgotten, and begins
    with a full bucket again.
    """

    def __init__(self, rate: int, burst: int, max_keys: int) -> None:
        self._rate = rate
        self._room = burst * SECOND // rate
        """Nanoseconds in which an empty bucket becomes full."""
        self._max_keys = max_keys
        self._full_at: OrderedDict[Hashable, int] = OrderedDict()
        """When the bucket of each key will be full again."""

    def take(self, key: Hashable, now: int, cost: int = 1) -> int:
        """Take tokens and return 0, or take none and return how long until there are enough.

        A cost greater than the burst needs a full bucket, and leaves a debt: the next tokens can be
        taken after it was refilled. So the rate holds in the long run whatever is taken at once.
        """
        before = max(now, self._full_at.get(key, now))
        price = cost * SECOND // self._rate
        missing = before + min(price, self._room) - now - self._room
        if missing > 0:
            return missing
        self._full_at[key] = before + price
        self._full_at.move_to_end(key)
        if len(self._full_at) > self._max_keys:
            self._full_at.popitem(last=False)
        return 0


class Pace:
    """Spreads units (requests, bytes) evenly over time, for each key separately.

    `rate` is in units a second, 0 for no limit.

    Units that were not used in time are lost, except for the `slack`, in nanoseconds: a slow user
    does not catch up afterwards.
    """

    def __init__(self, rate: float, slack: int = 0) -> None:
        self._step = SECOND / rate if rate else 0.0
        self._slack = slack
        self._free_at: dict[Hashable, int] = {}
        """When all units that were taken so far are used up at this rate."""

    def before(self, now: int, count: int = 1, key: Hashable = None) -> int:
        """Take units that are about to be used; return how long to wait before using them."""
        begin, _ = self._take(now, count, key)
        return max(0, begin - now)

    def after(self, now: int, count: int = 1, key: Hashable = None) -> int:
        """Take units that were just used; return how long to wait before using any others."""
        _, end = self._take(now, count, key)
        return max(0, end - now)

    def _take(self, now: int, count: int, key: Hashable) -> tuple[int, int]:
        earliest = now - self._slack
        begin = max(earliest, self._free_at.get(key, earliest))
        end = self._free_at[key] = begin + int(count * self._step)
        return begin, end
