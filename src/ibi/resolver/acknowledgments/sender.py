"""Tells archives of accesses, in the background: the rules of `acknowledgment`, carried out.

A reader never waits for it. What was noted is kept within half a second and told as soon as the
archive listens; a restart in between loses nothing that was kept.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import structlog

from ibi.errors import IbiError, StorageError
from ibi.model.clock import Clock
from ibi.model.pace import Backoff, Pace, RetryTimes
from ibi.model.registration import RegisteredArchive
from ibi.resolver.acknowledgments.outbox import AcknowledgmentOutbox
from ibi.resolver.ports.outbound import ArchiveClient, NoReply
from ibi.resolver.ports.store import AcknowledgmentStore, ArchiveLookup, PendingAcknowledgment
from ibi.resolver.rules import access_count_sheet
from ibi.resolver.rules.acknowledgment import (
    SECOND,
    NextStep,
    Referral,
    acknowledgment_of,
    collecting_time_left,
    is_ours,
    is_reachable,
    is_sheet,
    max_accesses,
    next_step,
    refreshed,
    request_of,
)
from ibi.resolver.rules.redirect_entry import CachedRedirect

FLUSH: Final = 0.5
"""Seconds in which accesses are only noted: what a crash can lose."""
PATIENCE: Final = 5.0
"""Seconds that an archive has for its answer."""
MOST_ARCHIVES: Final = 8
"""Told at once, each by one request after the other."""
GATHER: Final = 2 * SECOND
"""In which accesses of the same are gathered before an archive is asked for a key for them."""
VISIT: Final = 5 * SECOND
"""After which an archive makes room for others."""
RETURN: Final = 10 * SECOND
"""After which an archive that was not there is looked for again."""
LONGEST_CLOSE: Final = 2.0
LONGEST_REST: Final = 60 * SECOND
"""For an archive or a row that failed time and again."""
RETRY: Final = Backoff(SECOND, LONGEST_REST)
FOREIGN_RATE: Final = 50
"""Requests a second."""

_LOG: Final = structlog.get_logger()


class AcknowledgmentSender:
    """Notes accesses and tells the archives, while it is open."""

    def __init__(
        self,
        store: AcknowledgmentStore,
        client: ArchiveClient,
        registry: ArchiveLookup,
        clock: Clock,
        keeper: Callable[[], str],
    ) -> None:
        """Get ready; `keeper` tells the name of this process, by which it keeps its rows."""
        self._queue = AcknowledgmentOutbox(store, clock, keeper)
        self._client = client
        self._registry = registry
        self._clock = clock
        self._lanes = asyncio.Semaphore(MOST_ARCHIVES)
        self._pace = Pace(FOREIGN_RATE)
        self._retries = RetryTimes(RETRY)
        self._failing: dict[str, int] = {}
        """The row that failed last, by archive, if none was taken since."""
        self._due: int | None = 0
        """When rows that were left behind are looked at again, if there are any."""
        self._closing = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.sent = 0
        self.accesses_told = 0
        self.given_up = 0
        """Accesses that no archive will ever be told of."""

    def note(self, referral: Referral, count: int = 1) -> None:
        """Note that readers were sent to a URL; its key is for the first, and later `again`."""
        self._queue.note(referral, count)

    def note_known(self, known: CachedRedirect, clients: tuple[str, ...]) -> None:
        """Note that a reader was sent to a URL that is known."""
        self._queue.known.note(known, clients)

    @property
    def lost(self) -> int:
        """Accesses for which there was no room, because the store failed for long."""
        return self._queue.lost

    @property
    def waiting(self) -> int:
        """Accesses that archives are still to be told of."""
        return self._queue.waiting

    def adopted(self, accesses: int | None) -> None:
        """Tell of accesses too that a process kept which is gone; None: nobody knows how many."""
        self._queue.adopted(accesses)
        self._come_back(self._clock.uptime())

    def open(self) -> None:
        """Begin."""
        self._tasks = [
            asyncio.create_task(self._keep(), name="ibi-accesses"),
            asyncio.create_task(self._tell_all(), name="ibi-acknowledging"),
        ]

    async def close(self) -> None:
        """Keep what was noted, and stop; requests that are under way have a moment to end."""
        self._closing.set()
        self._queue.news.set()
        if not self._tasks:
            return
        keeping, telling = self._tasks
        await keeping  # never broken off, or what it has in hand would be lost
        await asyncio.wait({telling}, timeout=LONGEST_CLOSE)
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
        await self._flush()

    async def _keep(self) -> None:
        while not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH)
            await self._flush()

    async def _flush(self) -> None:
        try:
            await self._queue.flush()
        except StorageError as failure:
            _LOG.warning("accesses not kept", error=str(failure), waiting=self.waiting)
        except Exception:  # noqa: BLE001  # whatever it is, accesses have to be kept
            _LOG.exception("accesses not kept")

    async def _tell_all(self) -> None:
        after = 0
        while not self._closing.is_set():
            if self._due is not None and self._due <= self._clock.uptime():
                after, self._due = 0, None
            self._queue.news.clear()
            try:
                after = await self._go_through(after)
            except StorageError as failure:
                _LOG.warning("accesses not told", error=str(failure))
                self._come_back(self._clock.uptime() + SECOND)
            await self._nap()

    async def _nap(self) -> None:
        """Wait until there are new rows, or it is time for those that were left behind."""
        seconds = None
        if self._due is not None:
            seconds = max(0, self._due - self._clock.uptime()) / SECOND
        with suppress(TimeoutError):
            await asyncio.wait_for(self._queue.news.wait(), seconds)

    def _come_back(self, at: int) -> None:
        self._due = at if self._due is None else min(self._due, at)

    async def _go_through(self, after: int) -> int:
        """See to all rows later than `after`; return the number of the last."""
        while not self._closing.is_set():
            last, rows = await self._queue.page(after)
            if not last:
                break
            after = last
            await self._visit_all(rows)
        return after

    async def _visit_all(self, rows: Iterable[PendingAcknowledgment]) -> None:
        by_archive: defaultdict[str, list[PendingAcknowledgment]] = defaultdict(list)
        for row in rows:
            by_archive[row.archive].append(row)
        async with asyncio.TaskGroup() as visits:
            for archive, its_rows in by_archive.items():
                visits.create_task(self._visit(archive, its_rows))

    async def _visit(self, name: str, rows: list[PendingAcknowledgment]) -> None:
        async with self._lanes:
            try:
                await self._see_to(name, rows)
            except Exception as failure:  # noqa: BLE001  # or what trips over one archive ends all
                _LOG.warning("accesses not told", archive=name, error=str(failure))
                self._retries.failed(name, self._clock.uptime())
                self._come_back(self._retries.retry_at(name))

    async def _see_to(self, name: str, rows: list[PendingAcknowledgment]) -> None:
        """See to the rows of an archive, until all have to wait or others want their turn."""
        archive = self._registry.find(name)
        ends = self._clock.uptime() + VISIT
        line = deque(sorted(rows, key=self._turn))
        while line and not self._closing.is_set() and not self._queue.are_others:
            now = self._clock.uptime()
            if now >= ends:
                self._come_back(now)
                return
            row = line.popleft()
            rested = max(self._retries.retry_at(name), self._retries.retry_at(row.id))
            if not is_reachable(archive):
                rested = max(rested, now + RETURN)
            rested = max(rested, now + collecting_time_left(row, GATHER, self._clock.wall()))
            step = next_step(row, self._clock.wall(), ready=rested <= now)
            if step is NextStep.GIVE_UP:
                await self._give_up(row)
            elif step is NextStep.WAIT or archive is None:
                self._come_back(rested)
            else:
                # What stood on a sheet is told before the next one is divided.
                onto = line.extendleft if is_sheet(row) else line.extend
                onto(await self._tell(archive, row, step))

    def _turn(self, row: PendingAcknowledgment) -> tuple[bool, bool, bool]:
        """Return what rows are sorted by.

        One that failed comes last, or it would keep its archive from the others. A key does not
        live for long; accesses without one can wait, and those on sheets for the longest.
        """
        asks = next_step(row, self._clock.wall(), ready=True) is NextStep.ASK
        return bool(self._retries.retry_at(row.id)), is_sheet(row), asks

    async def _give_up(self, row: PendingAcknowledgment) -> None:
        self.given_up += await self._queue.give_up(row)
        self._retries.forget(row.id)

    async def _tell(
        self, archive: RegisteredArchive, row: PendingAcknowledgment, step: NextStep
    ) -> list[PendingAcknowledgment]:
        """Send one acknowledgment; return what remains to be told of the row."""
        try:
            if step is NextStep.ASK:
                return await self._ask(archive, row)
            await self._send(archive, row)
        except StorageError:
            raise
        except IbiError:  # it cannot be read
            await self._give_up(row)
        return []

    async def _ask(
        self, archive: RegisteredArchive, row: PendingAcknowledgment
    ) -> list[PendingAcknowledgment]:
        if is_sheet(row) and not is_ours(archive):
            return await self._queue.divide(row)
        first = access_count_sheet.first(row) if is_sheet(row) else row
        request = request_of(first)
        await self._wait_for_turn(archive)
        heard = await self._client.ask(archive, request, PATIENCE)
        if isinstance(heard, NoReply):
            self._failed(archive, row)
            return []
        acknowledgment = refreshed(first, heard.listed)
        if not acknowledgment and is_sheet(row):
            return await self._queue.divide(row)
        if not acknowledgment:
            await self._give_up(row)
            return []
        keyed, rest = await self._queue.key(row, acknowledgment, max_accesses(archive))
        if keyed is not None:
            await self._send(archive, keyed)
        return [] if rest is None else [rest]

    async def _send(self, archive: RegisteredArchive, row: PendingAcknowledgment) -> None:
        request = acknowledgment_of(row)
        await self._wait_for_turn(archive)
        if await self._client.acknowledge(archive, request, PATIENCE):
            self._failed(archive, row)
            return
        self.sent += 1
        self.accesses_told += row.count
        self._queue.done(row)
        self._failing.pop(archive.id, None)
        self._retries.forget(archive.id)
        self._retries.forget(row.id)

    def _failed(self, archive: RegisteredArchive, row: PendingAcknowledgment) -> None:
        now = self._clock.uptime()
        # One row may be at fault; if another fails next, it is the archive.
        if self._failing.get(archive.id, row.id) != row.id:
            self._retries.failed(archive.id, now)
        self._failing[archive.id] = row.id
        self._retries.failed(row.id, now)
        self._come_back(self._retries.retry_at(row.id))

    async def _wait_for_turn(self, archive: RegisteredArchive) -> None:
        if not is_ours(archive):
            await asyncio.sleep(self._pace.before(self._clock.uptime(), key=archive.id) / SECOND)
