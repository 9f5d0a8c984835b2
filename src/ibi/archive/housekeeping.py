"""Hourly housekeeping of an archive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from ibi.archive.ports.statistics import Statistics
from ibi.errors import IbiError
from ibi.model.clock import SECOND, Clock

_DRIFT: Final = 60 * SECOND
"""Nanoseconds by which the clock may be adjusted between two rounds; less than a key's life."""
_ROUND: Final = 3600.0
"""Seconds between two rounds."""


class UsedKeyCleanup:
    """Removes used keys after they expired, once a round."""

    def __init__(self, statistics: Statistics, clock: Clock) -> None:
        """Remove nothing in the first round, which only takes the time."""
        self._statistics = statistics
        self._clock = clock
        self._before: tuple[int, int] | None = None

    def forget(self) -> None:
        """Remove the keys that had expired at the previous round.

        If the clock was adjusted since, keep them: a key might become valid again.
        """
        before, now = self._before, (self._clock.wall(), self._clock.uptime())
        self._before = now
        if before is None:
            return
        drift = (now[0] - before[0]) - (now[1] - before[1])
        if abs(drift) <= _DRIFT:
            self._statistics.forget_keys(before[0] // SECOND)


class Housekeeping:
    """Calls functions at the start and then every hour."""

    def __init__(self, rounds: Sequence[Callable[[], None]]) -> None:
        """Call these functions in this order; each may be called at any time."""
        self._rounds = rounds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin the first round, in the running event loop."""
        self._task = asyncio.create_task(self._run(), name="ibi-housekeeping")

    async def stop(self) -> None:
        """Stop; a function that is running in its thread is not interrupted."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            for each in self._rounds:
                with suppress(IbiError):  # the next round tries again
                    await asyncio.to_thread(each)
            await asyncio.sleep(_ROUND)
