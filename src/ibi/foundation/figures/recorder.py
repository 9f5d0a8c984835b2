"""Records figures: reads the counters of this process once a minute, and stores how they grew.

Figures are never an obstacle. A failure is logged, and what was not stored is stored with the next
minute; if it is not known whether the storage took it, it may be counted twice. What a process
counted since the last minute before it was killed is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import structlog

from ibi.errors import IbiError
from ibi.foundation.system.disk import check_room
from ibi.model.clock import Clock
from ibi.model.figures import Durations, FigureStore, Level, Tally, increase

FIGURES: Final = b"f"
"""The topic of messages between processes with tallies."""
EVERY: Final = 60.0
"""Seconds between two writes of a process."""
_DECODER: Final = msgspec.msgpack.Decoder(Tally)
_LOG: Final = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Readings:
    """The counters of a process since its start, and what it measures now."""

    counts: Mapping[str, int] = field(default_factory=dict)
    durations: Mapping[str, Durations] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)


Read: TypeAlias = Callable[[], Awaitable[Readings]]
"""Reads the counters of this process; may raise IbiError."""
Sink: TypeAlias = Callable[[Tally], Awaitable[None]]
"""Stores a tally, or sends it to the process that does; raises if it cannot."""


class FiguresRecorder:
    """Gives a sink once a minute what was counted since the last time."""

    def __init__(self, read: Read, sink: Sink) -> None:
        """Read counters that begin at 0 with the process."""
        self._read = read
        self._sink = sink
        self._before = Readings()
        self._ending = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Start the task that records."""
        self._task = asyncio.create_task(self._run(), name="ibi-figures")

    async def close(self) -> None:
        """Stop, and record what was counted since the last time."""
        self._ending.set()
        if self._task is not None:
            # Not cancelled: what a thread is just storing would be stored once more.
            await self._task
        await self.record()

    async def record(self) -> None:
        """Record what was counted since the last time; if that fails, the next time has it too."""
        try:
            now = await self._read()
            tally = grown(self._before, now)
            if tally:
                await self._sink(tally)
            self._before = now
        except (IbiError, OSError, EOFError, TimeoutError) as failure:
            _LOG.warning("figures were not recorded yet", error=str(failure))

    async def _run(self) -> None:
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), EVERY)
            if not self._ending.is_set():
                await self.record()


class FiguresWriter:
    """Stores tallies at the present time, where there is room."""

    def __init__(self, store: FigureStore, clock: Clock, folder: Path) -> None:
        """Leave the last room on the disk of a folder to what matters more."""
        self._store = store
        self._clock = clock
        self._folder = folder

    async def add(self, tally: Tally) -> None:
        """Store a tally; raise StorageError if that fails or the disk is nearly full."""
        await asyncio.to_thread(self._add, tally)

    def _add(self, tally: Tally) -> None:
        check_room(self._folder)
        self._store.add(self._clock.wall(), tally)

    async def add_encoded(self, content: bytes) -> None:
        """Store a tally that another process sent."""
        with suppress(msgspec.MsgspecError):
            await self.add(_DECODER.decode(content))


def encoded(tally: Tally) -> bytes:
    """Return a tally as bytes, for the process that stores it."""
    return msgspec.msgpack.encode(tally)


def grown(before: Readings, now: Readings) -> Tally:
    """Return what happened between two readings of the same process."""
    durations = {
        name: increase(before.durations.get(name, {}), counts)
        for name, counts in now.durations.items()
    }
    return Tally(
        increase(before.counts, now.counts),
        {name: counts for name, counts in durations.items() if counts},
        {name: Level.of(value) for name, value in now.levels.items()},
    )
