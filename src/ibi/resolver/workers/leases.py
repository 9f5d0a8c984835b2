"""Duties of one process on behalf of all: leases in the database that the processes share.

A process that stops its heartbeat loses its duties to another after `MAX_MISSED_BEATS`, and must
stop before that: it relies on a duty only for `HELD` seconds after its last successful heartbeat.
If two processes have a duty for a short time, because a clock was wrong, archives are only asked
twice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from ibi.errors import IbiError
from ibi.model.clock import Clock
from ibi.resolver.ports.workers import ProcessStore, WorkerList
from ibi.resolver.rules.liveness import Liveness

SECOND: Final = 1_000_000_000
BEAT: Final = 2.5
"""Seconds between two beats: after six without, 15 s, a process counts as gone."""
HELD: Final = 10 * SECOND
"""After its last beat, for which a process counts on its duties: less than others wait."""
WATCH: Final = "watch"
DIGESTS: Final = "digests"
ACKNOWLEDGE: Final = "acknowledge"
"""Who keeps the acknowledgments of those that are gone."""
ALL: Final = (ACKNOWLEDGE, DIGESTS, WATCH)

_LOG: Final = structlog.get_logger()
_Done = TypeVar("_Done")


@dataclass(slots=True)
class WorkerIdentity:
    """The name of this process among those that serve one resolver."""

    name: str = ""
    """Empty until the process has joined; another after it counted as gone."""


class WorkerLeases:
    """This process among those that serve one resolver; of one event loop."""

    def __init__(
        self,
        store: ProcessStore,
        clock: Clock,
        beat: float = BEAT,
        *,
        identity: WorkerIdentity | None = None,
        on_adoption: Callable[[int | None], None] | None = None,
    ) -> None:
        """Get ready to beat, so many seconds apart; `identity` gets the name of this process.

        `on_adoption` takes how many accesses are this process's to tell from now on; None if that
        is not known.
        """
        self._identity = identity or WorkerIdentity()
        self._on_adoption = on_adoption
        self._store = store
        self._clock = clock
        self._beat = beat
        self._attendance = Liveness()
        self._roll = WorkerList({})
        self._told = -HELD
        self._fails = False
        self._task: asyncio.Task[None] | None = None
        # Its own: a process must not seem gone because its other threads wait for something.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ibi-duties")
        self._is_unsure = False
        """Whether accesses may have been adopted of which nobody was told."""

    @property
    def process(self) -> str:
        """The name of this process."""
        return self._identity.name

    async def open(self) -> None:
        """Join the others."""
        await self._join()
        await self.attend()
        self._task = asyncio.create_task(self._run(), name="ibi-duties")

    async def close(self) -> None:
        """Leave; whoever is there takes over at once."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._told = -HELD
        try:
            await self._do(lambda: self._store.leave(self.process))
        except IbiError as failure:
            _LOG.warning("this process could not say that it leaves", error=str(failure))
        self._thread.shutdown(wait=False, cancel_futures=True)

    def holds(self, duty: str) -> bool:
        """Return whether this process has a duty now."""
        return self.is_there and duty in self._roll.duties

    @property
    def is_there(self) -> bool:
        """Whether no other process can have said that this one is gone."""
        return self._clock.uptime() - self._told < HELD

    @property
    def processes(self) -> int:
        """How many processes serve, as far as was last seen."""
        return max(1, len(self._roll.beats))

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._beat)
            try:
                await self.attend()
            except IbiError as failure:
                if not self._fails:
                    _LOG.warning("nobody can be told that this is there", error=str(failure))
                self._fails = True
            except Exception:  # noqa: BLE001  # whatever it is, this process is there
                _LOG.exception("duties were not looked at")
            else:
                self._fails = False

    async def attend(self) -> None:
        """Say that this process is there, and see who else is, and what is to be done."""
        begun, gone = self._clock.uptime(), self._attendance.gone()
        roll = await self._do(lambda: self._store.beat(self.process, gone))
        if roll is None:
            _LOG.warning("this process counted as gone, and begins anew", process=self.process)
            await self._join()
            return
        if gone:
            _LOG.warning("processes are gone", processes=sorted(gone.keys() - roll.beats.keys()))
        self._told = begun
        self._roll = roll
        others = {name: beat for name, beat in roll.beats.items() if name != self.process}
        self._attendance.observe(others)
        if self.holds(ACKNOWLEDGE):
            await self._adopt()

    async def _adopt(self) -> None:
        """Take over from who is gone; a store that fails may have done so all the same."""
        was_unsure, self._is_unsure = self._is_unsure, True
        accesses = await self._do(lambda: self._store.adopt(self.process))
        self._is_unsure = False
        if self._on_adoption is not None and (accesses or was_unsure):
            self._on_adoption(None if was_unsure else accesses)

    async def _join(self) -> None:
        self._told = -HELD
        self._attendance = Liveness()
        name = secrets.token_hex(8)
        await self._do(lambda: self._store.join(name, ALL))
        self._identity.name = name

    async def _do(self, work: Callable[[], _Done]) -> _Done:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
