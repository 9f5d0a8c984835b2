"""Accesses on their way to archives: counted in memory, then stored until they are sent.

A row has one keeper, the process that wrote it, which keeps track of the content of its rows. A
keeper numbers its writes as turns, and the store has the number of the last one: a write that may
or may not have succeeded is repeated in the same turn, before any other, and nothing is stored
twice.

A process that counted as gone, and was only asleep, finds that its rows belong to another one. The
store rejects writes under its old name; the process continues under a new name, with the accesses
that were only in memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ibi.errors import StorageError
from ibi.model.clock import SECOND, Clock
from ibi.resolver.ports.store import AcknowledgmentStore, PendingAcknowledgment
from ibi.resolver.rules import access_count_sheet
from ibi.resolver.rules.access_count_sheet import Clients, OpenSheet
from ibi.resolver.rules.acknowledgment import (
    Referral,
    Subject,
    collected,
    divided,
    is_keyed,
    is_sheet,
    subject,
)
from ibi.resolver.rules.redirect_entry import CachedRedirect, Terms
from ibi.wire.access_counts import MOST_ACCESSES

MAX_COUNTED: Final = 100_000
"""Distinct accesses that are counted in memory."""
MAX_SPELLINGS: Final = 8
"""Persistent URLs that one client may write for one item: its further accesses are counted under
the one to cite, as each is a message to archives that count one access at a time."""
SMALL_BATCH: Final = 20
"""Distinct accesses up to which each gets a row of its own instead of a sheet."""
OWN_ROW_COUNT: Final = 100
"""Accesses of the same kind from which on they get a row of their own."""
YIELD_EVERY: Final = 500
"""Accesses that are processed before other tasks of the event loop run."""


@dataclass(slots=True)
class TakenAccesses:
    """The counted accesses, as they are to be stored."""

    sheets: list[PendingAcknowledgment] = field(default_factory=list)
    referrals: list[tuple[Referral, int]] = field(default_factory=list)


class PendingAccesses:
    """Counts accesses by cached redirect, clients and URL received; for one event loop."""

    def __init__(self) -> None:
        """Begin with no accesses."""
        self._counts: dict[tuple[CachedRedirect, Clients, bytes], int] = {}
        self._spellings: Counter[tuple[CachedRedirect, Clients]] = Counter()
        """Never more than there are counts, also while the store fails and none is taken."""
        self.lost = 0
        """Accesses that were not counted, because the limit was reached."""

    def note(self, known: CachedRedirect, clients: Clients, received: bytes = b"") -> None:
        """Count an access by a persistent URL as received, empty if it is the one to cite."""
        counts = self._counts
        access = known, clients, received
        count = counts.get(access, 0)
        if received and not count:
            if self._spellings[known, clients] >= MAX_SPELLINGS:
                access = known, clients, b""
                count = counts.get(access, 0)
            elif len(counts) < MAX_COUNTED:
                self._spellings[known, clients] += 1
        if count or len(counts) < MAX_COUNTED:
            counts[access] = count + 1
        else:
            self.lost += 1

    def __len__(self) -> int:
        """Return the number of distinct accesses."""
        return len(self._counts)

    @property
    def total(self) -> int:
        """The number of accesses."""
        return sum(self._counts.values())

    async def take(self, since: int) -> TakenAccesses:
        """Return the counted accesses, and begin anew; other tasks run in between."""
        counts, self._counts = self._counts, {}
        self._spellings.clear()
        taken = TakenAccesses()
        sheets: dict[Terms, OpenSheet] = {}
        written: list[OpenSheet] = []
        are_few = len(counts) <= SMALL_BATCH
        for place, ((known, clients, received), count) in enumerate(counts.items(), 1):
            if are_few or count >= OWN_ROW_COUNT or known.asked is not None:
                taken.referrals.append((known.referral(clients, received), count))
            else:
                sheet = sheets.get(known.terms)
                if sheet is None or sheet.count + count > MOST_ACCESSES:
                    sheet = sheets[known.terms] = OpenSheet(known.terms)
                    written.append(sheet)
                sheet.add(known, clients, count, received)
            if place % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        taken.sheets = [sheet.row(since) for sheet in written]
        return taken


MAX_NOTED: Final = 100_000
"""Distinct referrals in memory that wait for the store."""
MAX_GROWING: Final = 100_000
"""Rows to which accesses may be added."""
GROWING_TIME: Final = 24 * 3600 * SECOND
"""Nanoseconds for which accesses are added to a row. When a row is given up for its age, not all
accesses of a week are lost with it."""
MAX_ROWS: Final = 100_000
"""Stored rows of one process that wait to be sent: if all are sheets, about 10 GB."""
PAGE_ROWS: Final = 100
"""Rows that are in memory at a time: a sheet may have 100 kB."""


@dataclass(slots=True)
class _Tally:
    count: int


@dataclass(frozen=True, slots=True)
class _Write:
    """The rows that are written in one turn."""

    rows: Sequence[PendingAcknowledgment] = ()
    is_new: bool = False
    """Whether the rows contain accesses that are stored nowhere else."""


_NOTHING: Final = _Write()


class AcknowledgmentOutbox:
    """The accesses in memory, and the rows of this process in the store."""

    def __init__(self, store: AcknowledgmentStore, clock: Clock, keeper: Callable[[], str]) -> None:
        """Begin with the rows in the store; `keeper` returns the current name of this process."""
        self._store = store
        self._clock = clock
        self._name = keeper
        self._keeper = ""
        self._turn = self._tries = 0
        self._noted: dict[Referral, _Tally] = {}
        self._noted_since = 0
        self._growing: dict[Subject, PendingAcknowledgment] = {}
        """Rows without a key, to which more may be added, as they are in the store."""
        self._unsure = _NOTHING
        """The rows being written; they stay here for longer if the store failed during the
        write."""
        self._done: dict[int, int] = {}
        """Access counts of rows that are to be deleted, by id."""
        self._kept: int | None = None
        self._is_uncounted = False
        self._written = 0
        """Rows that were written under this name, and are not deleted."""
        self._writing = asyncio.Lock()
        self.news = asyncio.Event()
        """Set when there are new rows."""
        self.rows_moved = False
        """Whether the rows that were read last belong to another keeper now."""
        self.known = PendingAccesses()
        """Accesses by cached redirects."""
        self._lost = 0

    def note(self, referral: Referral, count: int) -> None:
        """Count accesses of a referral; those beyond the limit are lost."""
        # One look-up for a referral that was counted before: every redirect runs this.
        tally = self._noted.get(referral)
        if tally is not None:
            tally.count += count
        elif len(self._noted) + len(self._unsure.rows) < MAX_NOTED:
            if not self._noted:
                # Later than any before: the time distinguishes rows that were written from those
                # that were not.
                self._noted_since = max(self._clock.wall(), self._noted_since + 1)
            self._noted[referral] = _Tally(count)
        else:
            self._lost += count

    @property
    def lost(self) -> int:
        """Accesses that were not counted, because a limit was reached."""
        return self._lost + self.known.lost

    @property
    def waiting(self) -> int:
        """The number of accesses that are still to be reported."""
        return (self._kept or 0) + _total(self._noted) + self.known.total

    async def flush(self) -> None:
        """Store counted accesses, and delete sent rows; after a StorageError call it again."""
        async with self._writing:
            await self._settle()
            sheets = await self._take_known()
            if self._noted or sheets:
                noted, since = self._noted, self._noted_since
                self._noted = {}
                self._kept = (self._kept or 0) + _total(noted) + sum(row.count for row in sheets)
                rows = await asyncio.to_thread(self._rows, noted, since)
                self._unsure = _Write(self._with_room([*rows, *sheets]), is_new=True)
                await self._settle()
            if self._done:
                done = tuple(self._done)
                if not await asyncio.to_thread(self._store.drop_pending, self._keeper, done):
                    await self._begin_anew()
                self._written = max(0, self._written - len(done))
                for each in done:
                    self._done.pop(each, None)
            if self._is_uncounted:
                kept = await asyncio.to_thread(self._store.count_pending, self._keeper)
                self._kept, self._is_uncounted = kept - sum(self._done.values()), False

    async def _take_known(self) -> list[PendingAcknowledgment]:
        """Count accesses by cached redirect that get rows of their own; return the sheets."""
        if not len(self.known):
            return []
        taken = await self.known.take(self._clock.wall())
        for referral, count in taken.referrals:
            self.note(referral, count)
        return taken.sheets

    async def page(self, after: int) -> tuple[int, list[PendingAcknowledgment]]:
        """Return unsent rows later than `after`, and the last id of all; 0 if there is none."""
        async with self._writing:
            await self._settle()
            self.rows_moved = False
            keeper = self._keeper
        # Rows that are deleted meanwhile may still be read.
        done = frozenset(self._done)
        rows = await asyncio.to_thread(self._store.pending, keeper, after, PAGE_ROWS)
        last = rows[-1].id if rows else 0
        return last, [row for row in rows if row.id not in done]

    async def key(
        self, row: PendingAcknowledgment, acknowledgment: str, most: int
    ) -> tuple[PendingAcknowledgment | None, PendingAcknowledgment | None]:
        """Store a key with as many accesses as it may report; return that row, and the rest if any.

        Both are None if the row belongs to another keeper now: then the key is of no use.
        """
        async with self._writing:
            await self._settle()
            row = self._taken(row)
            give = access_count_sheet.keyed if is_sheet(row) else divided
            rows = give(row, acknowledgment, most, self._clock.wall())
            numbers = await self._replace(rows)
        if not numbers:
            return None, None
        *rest, keyed = (
            replace(each, id=number) for each, number in zip(rows, numbers, strict=True)
        )
        return keyed, rest[0] if rest else None

    async def divide(self, sheet: PendingAcknowledgment) -> list[PendingAcknowledgment]:
        """Replace a sheet by rows; return those whose ids are known."""
        rows = access_count_sheet.divided(sheet)
        async with self._writing:
            await self._settle()
            numbers = await self._replace(rows)
        return [replace(row, id=number) for row, number in zip(rows, numbers) if number]  # noqa: B905  # empty if the sheet belongs to another keeper

    async def give_up(self, row: PendingAcknowledgment) -> int:
        """Give a row up without sending it; return its number of accesses."""
        async with self._writing:
            await self._settle()
            if self.rows_moved:
                return 0
            row = self._taken(row)
            self.done(row)
        return row.count

    def done(self, row: PendingAcknowledgment) -> None:
        """Delete a row with the next flush.

        If the process ends before that, the row is sent again, and its key prevents a second count.
        """
        if self.rows_moved:
            return
        self._done[row.id] = row.count
        self._kept = (self._kept or 0) - row.count

    def add_adopted(self, accesses: int | None) -> None:
        """Add the accesses of rows that were adopted from another process; None: count anew."""
        self._is_uncounted = self._is_uncounted or accesses is None
        if accesses and self._kept is not None:
            self._kept += accesses
        self.news.set()

    def _taken(self, row: PendingAcknowledgment) -> PendingAcknowledgment:
        """Return a row as it is in the store now, and stop adding accesses to it."""
        growing = self._growing.get(subject(row))
        return row if growing is None or growing.id != row.id else self._growing.pop(subject(row))

    def _rows(self, noted: Mapping[Referral, _Tally], since: int) -> list[PendingAcknowledgment]:
        """Return the rows for counted accesses; rows that are stored already come first."""
        counts = ((referral, tally.count) for referral, tally in noted.items())
        return collected(counts, since, self._growing, GROWING_TIME)

    def _with_room(self, rows: Sequence[PendingAcknowledgment]) -> list[PendingAcknowledgment]:
        """Drop new rows beyond the limit, so that they do not fill the disk."""
        new = [row for row in rows if not row.id]
        room = max(0, MAX_ROWS - self._written)
        lost = sum(row.count for row in new[room:])
        self._lost += lost
        self._kept = (self._kept or 0) - lost
        return [*(row for row in rows if row.id), *new[:room]]

    async def _replace(self, rows: Sequence[PendingAcknowledgment]) -> list[int]:
        """Replace a row by others; return their ids, or none if another keeper has the row."""
        if self.rows_moved:
            return []
        self._unsure = _Write(rows)
        return await self._settle()

    async def _settle(self) -> list[int]:
        """Complete the pending write; return its ids, or none if another keeper has the rows."""
        if self._keeper != self._name():
            await self._begin_anew()
        if self._kept is None:
            kept = await asyncio.to_thread(self._store.count_pending, self._keeper)
            self._kept = kept + sum(row.count for row in self._unsure.rows)
        rows = self._unsure.rows
        if not rows:
            return []
        if not self._tries:
            self._turn += 1
        self._tries += 1
        write = self._store.keep_pending
        numbers = await asyncio.to_thread(write, self._keeper, self._turn, rows)
        if numbers is None:
            self._tries -= 1  # this attempt wrote nothing
            await self._begin_anew()
            if self._unsure.rows:
                raise StorageError("of the resolver", "this process counts as gone")
            return []
        self._unsure, self._tries = _NOTHING, 0
        self._written += sum(not row.id for row in rows)
        self.news.set()
        for row, number in zip(rows, numbers, strict=True):
            self._follow(replace(row, id=number))
        return numbers

    async def _begin_anew(self) -> None:
        """Continue under the current name of this process, with the rows that are not stored yet.

        Whether the last write succeeded is decided by the last turn in the store. If the store does
        not have it, accesses are lost rather than reported twice.
        """
        new = self._new_rows()
        if new and self._tries:
            last = await asyncio.to_thread(self._store.last_turn, self._keeper)
            if last is None:
                self._lost += sum(row.count for row in new)
            if last is None or last >= self._turn:
                new = []
        self.rows_moved = bool(self._keeper)
        self._unsure = _Write(new, is_new=True)
        self._keeper, self._turn, self._tries = self._name(), 0, 0
        self._kept, self._written = None, 0
        self._growing.clear()
        self._done.clear()

    def _new_rows(self) -> list[PendingAcknowledgment]:
        """Return rows for accesses that are not in the store yet, without ids."""
        rows = self._unsure.rows if self._unsure.is_new else ()
        return [replace(row, id=0, count=row.count - self._stands(row)) for row in rows]

    def _stands(self, row: PendingAcknowledgment) -> int:
        return self._growing[subject(row)].count if row.id else 0

    def _follow(self, row: PendingAcknowledgment) -> None:
        """Remember a row without a key, so that accesses can be added; its id must be known."""
        has_room = subject(row) in self._growing or len(self._growing) < MAX_GROWING
        if row.id and has_room and not is_sheet(row) and not is_keyed(row):
            self._growing[subject(row)] = row


def _total(noted: Mapping[Referral, _Tally]) -> int:
    return sum(tally.count for tally in noted.values())
