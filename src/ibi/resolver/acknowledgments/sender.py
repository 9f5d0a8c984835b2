"""Reports accesses to archives in the background, by the rules of `rules.acknowledgment`.

A reader never waits for it. Accesses are stored within half a second, and reported as soon as the
archive answers; a restart in between loses nothing that was stored.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import structlog

from ibi.errors import IbiError, StorageError
from ibi.model.clock import SECOND, Clock
from ibi.model.pace import Backoff, Pace, RetryTimes
from ibi.model.registration import RegisteredArchive
from ibi.resolver.acknowledgments.outbox import AcknowledgmentOutbox
from ibi.resolver.ports.outbound import ArchiveClient, NoReply
from ibi.resolver.ports.store import AcknowledgmentStore, ArchiveLookup, PendingAcknowledgment
from ibi.resolver.rules import access_count_sheet
from ibi.resolver.rules.acknowledgment import (
    NextStep,
    Referral,
    accepts_counts,
    acknowledgment_of,
    collecting_time_left,
    is_ours,
    is_reachable,
    is_sheet,
    max_accesses,
    next_step,
    proved,
    refreshed,
    request_of,
)
from ibi.resolver.rules.redirect_entry import CachedRedirect

FLUSH_SECONDS: Final = 0.5
"""Seconds for which accesses are only in memory, and can be lost by a crash."""
TIMEOUT_SECONDS: Final = 5.0
"""Seconds that an archive has for its answer."""
MAX_ARCHIVES: Final = 8
"""Archives that receive acknowledgments at the same time, each one request after the other."""
COLLECT_TIME: Final = 2 * SECOND
"""Nanoseconds for which equal accesses are collected before the archive is asked for a key."""
VISIT_TIME: Final = 5 * SECOND
"""Nanoseconds after which an archive makes room for others."""
ABSENCE_TIME: Final = 10 * SECOND
"""Nanoseconds after which an archive that was not included is looked up again."""
CLOSE_SECONDS: Final = 2.0
"""Seconds that open requests have to end when the sender is closed."""
MAX_REST: Final = 60 * SECOND
"""Nanoseconds of the longest wait after repeated failures of an archive or a row."""
RETRY: Final = Backoff(SECOND, MAX_REST)
FOREIGN_RATE: Final = 50
"""Requests a second to an archive that does not run this software."""

_LOG: Final = structlog.get_logger()


class AcknowledgmentSender:
    """Counts accesses and reports them to the archives, while it is open."""

    def __init__(
        self,
        store: AcknowledgmentStore,
        client: ArchiveClient,
        registry: ArchiveLookup,
        clock: Clock,
        keeper: Callable[[], str],
    ) -> None:
        """Create a closed sender; `keeper` returns the name under which it stores its rows."""
        self._queue = AcknowledgmentOutbox(store, clock, keeper)
        self._client = client
        self._registry = registry
        self._clock = clock
        self._lanes = asyncio.Semaphore(MAX_ARCHIVES)
        self._pace = Pace(FOREIGN_RATE)
        self._retries = RetryTimes(RETRY)
        self._failing: dict[str, int] = {}
        """The row that failed last, by archive, unless the archive accepted one since."""
        self._due: int | None = 0
        """When rows that were left behind are processed again, if there are any."""
        self._closing = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.sent = 0
        self.accesses_reported = 0
        self.given_up = 0
        """Accesses that will never be reported."""

    def note(self, referral: Referral, count: int = 1) -> None:
        """Count readers who were sent to a URL; its key is for the first reader only."""
        self._queue.note(referral, count)

    def note_known(self, known: CachedRedirect, clients: tuple[str, ...], received: bytes) -> None:
        """Count a reader who was sent to the URL of a cached redirect.

        `received` is the path and query of the request, empty if they are those to cite.
        """
        self._queue.known.note(known, clients, received)

    @property
    def lost(self) -> int:
        """Accesses that were not counted, because the store failed for long."""
        return self._queue.lost

    @property
    def waiting(self) -> int:
        """Accesses that are still to be reported."""
        return self._queue.waiting

    def add_adopted(self, accesses: int | None) -> None:
        """Report accesses of a process that is gone as well; None if their number is unknown."""
        self._queue.add_adopted(accesses)
        self._come_back(self._clock.uptime())

    def open(self) -> None:
        """Start the background tasks."""
        self._tasks = [
            asyncio.create_task(self._keep(), name="ibi-accesses"),
            asyncio.create_task(self._report_all(), name="ibi-acknowledging"),
        ]

    async def close(self) -> None:
        """Store the counted accesses, and stop; open requests have CLOSE_SECONDS to end."""
        self._closing.set()
        self._queue.news.set()
        if not self._tasks:
            return
        keeping, telling = self._tasks
        await keeping  # never cancelled, or the accesses of its write would be lost
        await asyncio.wait({telling}, timeout=CLOSE_SECONDS)
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
        await self._flush()

    async def _keep(self) -> None:
        while not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH_SECONDS)
            await self._flush()

    async def _flush(self) -> None:
        try:
            await self._queue.flush()
        except StorageError as failure:
            _LOG.warning("accesses not stored", error=str(failure), waiting=self.waiting)
        except Exception:  # noqa: BLE001  # accesses have to be stored after any failure
            _LOG.exception("accesses not stored")

    async def _report_all(self) -> None:
        after = 0
        while not self._closing.is_set():
            if self._due is not None and self._due <= self._clock.uptime():
                after, self._due = 0, None
            self._queue.news.clear()
            try:
                after = await self._go_through(after)
            except StorageError as failure:
                _LOG.warning("accesses not reported", error=str(failure))
                self._come_back(self._clock.uptime() + SECOND)
            await self._nap()

    async def _nap(self) -> None:
        """Wait until there are new rows, or those that were left behind are due."""
        seconds = None
        if self._due is not None:
            seconds = max(0, self._due - self._clock.uptime()) / SECOND
        with suppress(TimeoutError):
            await asyncio.wait_for(self._queue.news.wait(), seconds)

    def _come_back(self, at: int) -> None:
        self._due = at if self._due is None else min(self._due, at)

    async def _go_through(self, after: int) -> int:
        """Process all rows later than `after`; return the id of the last."""
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
                await self._process(name, rows)
            except Exception as failure:  # noqa: BLE001  # a failure of one archive must not affect others
                _LOG.warning("accesses not reported", archive=name, error=str(failure))
                self._retries.failed(name, self._clock.uptime())
                self._come_back(self._retries.retry_at(name))

    async def _process(self, name: str, rows: list[PendingAcknowledgment]) -> None:
        """Process the rows of an archive, until all have to wait or its time is over."""
        archive = self._registry.find(name)
        ends = self._clock.uptime() + VISIT_TIME
        line = deque(sorted(rows, key=self._turn))
        while line and not self._closing.is_set() and not self._queue.rows_moved:
            now = self._clock.uptime()
            if now >= ends:
                self._come_back(now)
                return
            row = line.popleft()
            rested = max(self._retries.retry_at(name), self._retries.retry_at(row.id))
            if not is_reachable(archive):
                rested = max(rested, now + ABSENCE_TIME)
            rested = max(rested, now + collecting_time_left(row, COLLECT_TIME, self._clock.wall()))
            step = next_step(row, self._clock.wall(), ready=rested <= now)
            if step is NextStep.GIVE_UP:
                await self._give_up(row)
            elif step is NextStep.WAIT or archive is None:
                self._come_back(rested)
            else:
                # The lines of a sheet are sent before the next sheet is divided.
                onto = line.extendleft if is_sheet(row) else line.extend
                onto(await self._report(archive, row, step))

    def _turn(self, row: PendingAcknowledgment) -> tuple[bool, bool, bool]:
        """Return the sort key of rows.

        A row that failed comes last, or it would delay the others of its archive. A key does not
        live for long; accesses without one can wait, and those on sheets for the longest.
        """
        asks = next_step(row, self._clock.wall(), ready=True) is NextStep.ASK
        return bool(self._retries.retry_at(row.id)), is_sheet(row), asks

    async def _give_up(self, row: PendingAcknowledgment) -> None:
        self.given_up += await self._queue.give_up(row)
        self._retries.forget(row.id)

    async def _report(
        self, archive: RegisteredArchive, row: PendingAcknowledgment, step: NextStep
    ) -> list[PendingAcknowledgment]:
        """Send one acknowledgment; return the rows that remain to be sent."""
        try:
            if step is NextStep.ASK:
                return await self._ask(archive, row)
            await self._send(archive, row)
        except StorageError:
            raise
        except IbiError:  # the row cannot be read
            await self._give_up(row)
        return []

    async def _ask(
        self, archive: RegisteredArchive, row: PendingAcknowledgment
    ) -> list[PendingAcknowledgment]:
        if is_sheet(row) and not accepts_counts(archive):
            return await self._queue.divide(row)
        first = access_count_sheet.first(row) if is_sheet(row) else row
        request = request_of(first)
        await self._wait_for_turn(archive)
        reply = await self._client.ask(archive, request, TIMEOUT_SECONDS)
        if isinstance(reply, NoReply):
            self._failed(archive, row)
            return []
        acknowledgment = refreshed(first, reply.listed)
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
        request = proved(acknowledgment_of(row), archive)
        await self._wait_for_turn(archive)
        if await self._client.acknowledge(archive, request, TIMEOUT_SECONDS):
            self._failed(archive, row)
            return
        self.sent += 1
        self.accesses_reported += row.count
        self._queue.done(row)
        self._failing.pop(archive.id, None)
        self._retries.forget(archive.id)
        self._retries.forget(row.id)

    def _failed(self, archive: RegisteredArchive, row: PendingAcknowledgment) -> None:
        now = self._clock.uptime()
        # The fault may be of one row; if another row fails next, it is of the archive.
        if self._failing.get(archive.id, row.id) != row.id:
            self._retries.failed(archive.id, now)
        self._failing[archive.id] = row.id
        self._retries.failed(row.id, now)
        self._come_back(self._retries.retry_at(row.id))

    async def _wait_for_turn(self, archive: RegisteredArchive) -> None:
        if not is_ours(archive):
            await asyncio.sleep(self._pace.before(self._clock.uptime(), key=archive.id) / SECOND)
