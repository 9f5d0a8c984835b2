"""A counter of accesses, which writes all waiting accesses in one transaction."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from ibi.archive.ports.statistics import Access, Statistics
from ibi.errors import IbiError, StorageError
from ibi.wire.access_counts import total

_LOG: Final = structlog.get_logger()
_GROUP: Final = 500
_MOST_WAITING: Final = 10_000


@dataclass(eq=False, slots=True)
class _Waiting:
    access: Access
    done: asyncio.Future[None]


class AccessCounter:
    """Counts accesses, all that wait in one transaction."""

    def __init__(self, statistics: Statistics) -> None:
        """Count in the statistics of a catalogue."""
        self._statistics = statistics
        self._line: asyncio.Queue[_Waiting] | None = None
        self._task: asyncio.Task[None] | None = None
        self.counted = 0

    def open(self) -> None:
        """Start the task that counts."""
        self._line = asyncio.Queue(_MOST_WAITING)
        self._task = asyncio.create_task(self._serve(self._line), name="ibi-counting")

    async def close(self) -> None:
        """Count the waiting accesses, and stop."""
        if self._task is not None and self._line is not None:
            await self._line.join()
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def count(self, access: Access) -> None:
        """Count an access; it is durable when this returns."""
        if self._line is None:
            raise StorageError("of the accesses", "it is closed")
        waiting = _Waiting(access, asyncio.get_running_loop().create_future())
        try:
            self._line.put_nowait(waiting)
        except asyncio.QueueFull:
            raise StorageError("of the accesses", "too many wait") from None
        await waiting.done

    async def _serve(self, line: asyncio.Queue[_Waiting]) -> None:
        while True:
            group = [await line.get()]
            while len(group) < _GROUP and not line.empty():
                group.append(line.get_nowait())
            accesses = [waiting.access for waiting in group]
            failure: IbiError | None = None
            try:
                counted = await asyncio.to_thread(self._statistics.count_accesses, accesses)
                self.counted += sum(
                    total(access.count, access.others)
                    for access, is_new in zip(accesses, counted, strict=True)
                    if is_new
                )
            except IbiError as error:
                failure = error
            except Exception:  # noqa: BLE001  # later accesses must still be counted
                _LOG.exception("accesses were not counted")
                failure = StorageError("of the accesses", "they could not be counted")
            for waiting in group:
                line.task_done()
                if not waiting.done.done():
                    _conclude(waiting.done, failure)


def _conclude(done: asyncio.Future[None], failure: IbiError | None) -> None:
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
