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

from ibi.errors import IbiError, StorageFullError
from ibi.model.clock import SECOND, Clock
from ibi.resolver.ports.workers import DIGESTS, ProcessStore, WorkerList
from ibi.resolver.rules.liveness import Liveness

HEARTBEAT_SECONDS: Final = 2.5
"""Seconds between two heartbeats: after six without one, 15 s, a process counts as gone."""
LEASE_TIME: Final = 10 * SECOND
"""Nanoseconds after its last heartbeat for which a process relies on its duties; it is less than
the time after which others take them over."""
HEALTH_CHECK: Final = "watch"
ACKNOWLEDGE: Final = "acknowledge"
"""The duty of sending the acknowledgments of processes that are gone."""
ALL: Final = (ACKNOWLEDGE, DIGESTS, HEALTH_CHECK)

_LOG: Final = structlog.get_logger()
_Done = TypeVar("_Done")


@dataclass(slots=True)
class WorkerIdentity:
    """The name of this process among those that serve one resolver."""

    name: str = ""
    """Empty until the process has registered; a new one after it counted as gone."""


class WorkerLeases:
    """The duties of this process among those that serve one resolver; for one event loop."""

    def __init__(
        self,
        store: ProcessStore,
        clock: Clock,
        beat: float = HEARTBEAT_SECONDS,
        *,
        identity: WorkerIdentity | None = None,
        on_adoption: Callable[[int | None], None] | None = None,
    ) -> None:
        """Send heartbeats every `beat` seconds once open; `identity` gets the name of this process.

        `on_adoption` is called with the number of accesses that this process has to report from now
        on; None if the number is not known.
        """
        self._identity = identity or WorkerIdentity()
        self._on_adoption = on_adoption
        self._store = store
        self._clock = clock
        self._beat = beat
        self._liveness = Liveness()
        self._workers = WorkerList({})
        self._renewed = -LEASE_TIME
        self._fails = False
        self._task: asyncio.Task[None] | None = None
        # A thread of its own: a process must not seem gone because its other threads are busy.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ibi-duties")
        self._is_unsure = False
        """Whether accesses may have been adopted without a call of `on_adoption`."""

    @property
    def process(self) -> str:
        """The name of this process."""
        return self._identity.name

    async def open(self) -> None:
        """Register this process, and start its heartbeat.

        On a full disk it cannot be registered: readers are served, and a later heartbeat does so.
        """
        try:
            await self._register()
            await self.heartbeat()
        except StorageFullError as failure:
            _LOG.warning("this process could not be registered", error=str(failure))
            self._fails = True
        self._task = asyncio.create_task(self._run(), name="ibi-duties")

    async def close(self) -> None:
        """Unregister this process; another one takes over its duties at once."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._renewed = -LEASE_TIME
        try:
            await self._do(lambda: self._store.unregister(self.process))
        except IbiError as failure:
            _LOG.warning("this process could not be unregistered", error=str(failure))
        self._thread.shutdown(wait=False, cancel_futures=True)

    def holds(self, duty: str) -> bool:
        """Return whether this process has a duty now."""
        return self.is_alive and duty in self._workers.duties

    @property
    def is_alive(self) -> bool:
        """Whether no other process can have found that this one is gone."""
        return self._clock.uptime() - self._renewed < LEASE_TIME

    @property
    def processes(self) -> int:
        """How many processes there were at the last heartbeat."""
        return max(1, len(self._workers.beats))

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._beat)
            try:
                await self.heartbeat()
            except IbiError as failure:
                if not self._fails:
                    _LOG.warning("the heartbeat failed", error=str(failure))
                self._fails = True
            except Exception:  # noqa: BLE001  # the heartbeat has to continue after any failure
                _LOG.exception("the heartbeat failed")
            else:
                self._fails = False

    async def heartbeat(self) -> None:
        """Send a heartbeat, and read the other processes and the duties of this one."""
        begun, gone = self._clock.uptime(), self._liveness.gone()
        workers = await self._do(lambda: self._store.heartbeat(self.process, gone))
        if workers is None:
            _LOG.warning("this process counted as gone, and registers again", process=self.process)
            await self._register()
            return
        if gone:
            _LOG.warning("processes are gone", processes=sorted(gone.keys() - workers.beats.keys()))
        self._renewed = begun
        self._workers = workers
        others = {name: beat for name, beat in workers.beats.items() if name != self.process}
        self._liveness.observe(others)
        if self.holds(ACKNOWLEDGE):
            await self._adopt()

    async def _adopt(self) -> None:
        """Adopt the acknowledgments of processes that are gone.

        If the store fails, it may have moved them all the same.
        """
        was_unsure, self._is_unsure = self._is_unsure, True
        accesses = await self._do(lambda: self._store.adopt_pending(self.process))
        self._is_unsure = False
        if self._on_adoption is not None and (accesses or was_unsure):
            self._on_adoption(None if was_unsure else accesses)

    async def _register(self) -> None:
        self._renewed = -LEASE_TIME
        self._liveness = Liveness()
        name = secrets.token_hex(8)
        await self._do(lambda: self._store.register(name, ALL))
        self._identity.name = name

    async def _do(self, work: Callable[[], _Done]) -> _Done:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
