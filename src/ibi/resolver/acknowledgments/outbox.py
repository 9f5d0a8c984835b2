"""Accesses on their way to archives: noted in memory, and kept in the store from then on.

A row has one keeper, the process that wrote it: it knows of each of its rows what stands there. It
writes in turns, and the store knows the last: a write of which nobody can say whether it was made
is made again in the same turn, before any other, and nothing is ever there twice.

A process that seemed gone, and was only asleep, finds that its rows are another's. The store takes
nothing from it under its old name; it begins anew under another, with what it has only noted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ibi.errors import StorageError
from ibi.model.clock import Clock
from ibi.resolver.ports.store import AcknowledgmentStore, PendingAcknowledgment
from ibi.resolver.rules import access_count_sheet
from ibi.resolver.rules.access_count_sheet import Clients, OpenSheet
from ibi.resolver.rules.acknowledgment import (
    SECOND,
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

MOST: Final = 100_000
"""Different accesses that wait for the store."""
SMALL_BATCH: Final = 20
"""Different ones of which each is kept by itself."""
OFTEN: Final = 100
"""So many of the same are worth a row of their own."""
SLICE: Final = 500
"""Accesses that are gone through at a time, while readers wait."""


@dataclass(slots=True)
class TakenAccesses:
    """What was noted, as it is to be kept."""

    sheets: list[PendingAcknowledgment] = field(default_factory=list)
    referrals: list[tuple[Referral, int]] = field(default_factory=list)


class PendingAccesses:
    """Counts accesses by what is known and by whom they are; of one event loop."""

    def __init__(self) -> None:
        """Count from nothing."""
        self._counts: dict[tuple[CachedRedirect, Clients], int] = {}
        self.lost = 0
        """Accesses for which there was no room."""

    def note(self, known: CachedRedirect, clients: Clients) -> None:
        """Count an access."""
        counts = self._counts
        access = known, clients
        count = counts.get(access, 0)
        if count or len(counts) < MOST:
            counts[access] = count + 1
        else:
            self.lost += 1

    def __len__(self) -> int:
        """Return how many different ones there are."""
        return len(self._counts)

    @property
    def total(self) -> int:
        """How many accesses there are."""
        return sum(self._counts.values())

    async def take(self, since: int) -> TakenAccesses:
        """Return what was noted, and begin anew; readers get their turn in between."""
        counts, self._counts = self._counts, {}
        taken = TakenAccesses()
        sheets: dict[Terms, OpenSheet] = {}
        written: list[OpenSheet] = []
        are_few = len(counts) <= SMALL_BATCH
        for place, ((known, clients), count) in enumerate(counts.items(), 1):
            if are_few or count >= OFTEN or known.asked is not None:
                taken.referrals.append((known.referral(clients), count))
            else:
                sheet = sheets.get(known.terms)
                if sheet is None or sheet.count + count > MOST_ACCESSES:
                    sheet = sheets[known.terms] = OpenSheet(known.terms)
                    written.append(sheet)
                sheet.add(known, clients, count)
            if place % SLICE == 0:
                await asyncio.sleep(0)
        taken.sheets = [sheet.row(since) for sheet in written]
        return taken


MOST_NOTED: Final = 100_000
"""Different referrals that wait for the store."""
MOST_GROWING: Final = 100_000
GROWING: Final = 24 * 3600 * SECOND
"""Accesses are added to a row for that long: what is given up for its age is not all of a week."""
MOST_ROWS: Final = 100_000
"""That wait at a time, of one process: on sheets alone some 10 GB."""
PAGE: Final = 100
"""Rows that are in memory at a time: a sheet may have 100 kB."""


@dataclass(slots=True)
class _Tally:
    count: int


@dataclass(frozen=True, slots=True)
class _Write:
    """What is written in one turn."""

    rows: Sequence[PendingAcknowledgment] = ()
    is_new: bool = False
    """Whether it tells of accesses that stand nowhere else."""


_NOTHING: Final = _Write()


class AcknowledgmentOutbox:
    """What was noted, and what the store has of it."""

    def __init__(self, store: AcknowledgmentStore, clock: Clock, keeper: Callable[[], str]) -> None:
        """Begin with whatever the store has of a keeper: `keeper` tells its name as of now."""
        self._store = store
        self._clock = clock
        self._name = keeper
        self._keeper = ""
        self._turn = self._tries = 0
        self._noted: dict[Referral, _Tally] = {}
        self._noted_since = 0
        self._growing: dict[Subject, PendingAcknowledgment] = {}
        """Rows without a key, to which more may be added; as they stand in the store."""
        self._unsure = _NOTHING
        """What is being written; more than a moment, if the store failed in the midst of it."""
        self._done: dict[int, int] = {}
        """Accesses of rows that are to be forgotten, by number."""
        self._kept: int | None = None
        self._is_uncounted = False
        self._written = 0
        """Rows that were written under this name, and are not done."""
        self._writing = asyncio.Lock()
        self.news = asyncio.Event()
        """Set when there are new rows."""
        self.are_others = False
        """Whether the rows that were read last have another keeper by now."""
        self.known = PendingAccesses()
        """Accesses of what is known."""
        self._lost = 0

    def note(self, referral: Referral, count: int) -> None:
        """Note accesses; those for which there is no room are lost."""
        # One look-up for a referral that was noted before: this is on the way of every reader.
        tally = self._noted.get(referral)
        if tally is not None:
            tally.count += count
        elif len(self._noted) + len(self._unsure.rows) < MOST_NOTED:
            if not self._noted:
                # Later than any before: this is what tells rows apart that were written or not.
                self._noted_since = max(self._clock.wall(), self._noted_since + 1)
            self._noted[referral] = _Tally(count)
        else:
            self._lost += count

    @property
    def lost(self) -> int:
        """Accesses for which there was no room."""
        return self._lost + self.known.lost

    @property
    def waiting(self) -> int:
        """How many accesses are still to be told."""
        return (self._kept or 0) + _total(self._noted) + self.known.total

    async def flush(self) -> None:
        """Keep what was noted, and forget what is done; StorageError if that must be repeated."""
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
        """Note the accesses of what is known that are kept each by itself; return the others."""
        if not len(self.known):
            return []
        taken = await self.known.take(self._clock.wall())
        for referral, count in taken.referrals:
            self.note(referral, count)
        return taken.sheets

    async def page(self, after: int) -> tuple[int, list[PendingAcknowledgment]]:
        """Return rows later than `after`, but for those done, and the last number of all; or 0."""
        async with self._writing:
            await self._settle()
            self.are_others = False
            keeper = self._keeper
        # Those that are forgotten meanwhile may still be read.
        done = frozenset(self._done)
        rows = await asyncio.to_thread(self._store.pending, keeper, after, PAGE)
        last = rows[-1].id if rows else 0
        return last, [row for row in rows if row.id not in done]

    async def key(
        self, row: PendingAcknowledgment, acknowledgment: str, most: int
    ) -> tuple[PendingAcknowledgment | None, PendingAcknowledgment | None]:
        """Keep a key with as many accesses as it is good for; return them, and the rest if any.

        Neither is there if another keeps the row by now: then the key is good for nothing.
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
        """Put rows in the place of a sheet; return those whose numbers are known."""
        rows = access_count_sheet.divided(sheet)
        async with self._writing:
            await self._settle()
            numbers = await self._replace(rows)
        return [replace(row, id=number) for row, number in zip(rows, numbers) if number]  # noqa: B905  # none, of a sheet that is another's

    async def give_up(self, row: PendingAcknowledgment) -> int:
        """Tell nobody of a row; return how many accesses that are."""
        async with self._writing:
            await self._settle()
            if self.are_others:
                return 0
            row = self._taken(row)
            self.done(row)
        return row.count

    def done(self, row: PendingAcknowledgment) -> None:
        """Forget a row soon; should it be read again before, its key is what saves us."""
        if self.are_others:
            return
        self._done[row.id] = row.count
        self._kept = (self._kept or 0) - row.count

    def adopted(self, accesses: int | None) -> None:
        """Count accesses in rows of others that are kept here from now on; None: count anew."""
        self._is_uncounted = self._is_uncounted or accesses is None
        if accesses and self._kept is not None:
            self._kept += accesses
        self.news.set()

    def _taken(self, row: PendingAcknowledgment) -> PendingAcknowledgment:
        """Return a row as it stands in the store now, to which nothing is added any more."""
        growing = self._growing.get(subject(row))
        return row if growing is None or growing.id != row.id else self._growing.pop(subject(row))

    def _rows(self, noted: Mapping[Referral, _Tally], since: int) -> list[PendingAcknowledgment]:
        """Return the rows for what was noted, those first that have a number."""
        counts = ((referral, tally.count) for referral, tally in noted.items())
        return collected(counts, since, self._growing, GROWING)

    def _with_room(self, rows: Sequence[PendingAcknowledgment]) -> list[PendingAcknowledgment]:
        """Leave out new rows for which there is no room: a disk is not filled for their sake."""
        new = [row for row in rows if not row.id]
        room = max(0, MOST_ROWS - self._written)
        lost = sum(row.count for row in new[room:])
        self._lost += lost
        self._kept = (self._kept or 0) - lost
        return [*(row for row in rows if row.id), *new[:room]]

    async def _replace(self, rows: Sequence[PendingAcknowledgment]) -> list[int]:
        """Put rows in the place of one; return their numbers, none if that is another's by now."""
        if self.are_others:
            return []
        self._unsure = _Write(rows)
        return await self._settle()

    async def _settle(self) -> list[int]:
        """Write what is to be written, once; return its numbers, none if it is for nobody now."""
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
            self._tries -= 1  # by this one nothing was written
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
        """Go on under the name that this process has now: all rows are others', but for new ones.

        Of a write that may have been made the store knows the turn. If it does not know either,
        accesses are lost rather than told twice.
        """
        new = self._new_rows()
        if new and self._tries:
            last = await asyncio.to_thread(self._store.last_turn, self._keeper)
            if last is None:
                self._lost += sum(row.count for row in new)
            if last is None or last >= self._turn:
                new = []
        self.are_others = bool(self._keeper)
        self._unsure = _Write(new, is_new=True)
        self._keeper, self._turn, self._tries = self._name(), 0, 0
        self._kept, self._written = None, 0
        self._growing.clear()
        self._done.clear()

    def _new_rows(self) -> list[PendingAcknowledgment]:
        """Return what is to be written of accesses that stand nowhere, in rows of its own."""
        rows = self._unsure.rows if self._unsure.is_new else ()
        return [replace(row, id=0, count=row.count - self._stands(row)) for row in rows]

    def _stands(self, row: PendingAcknowledgment) -> int:
        return self._growing[subject(row)].count if row.id else 0

    def _follow(self, row: PendingAcknowledgment) -> None:
        """Let a row grow that has no key; one whose number was not told does not."""
        has_room = subject(row) in self._growing or len(self._growing) < MOST_GROWING
        if row.id and has_room and not is_sheet(row) and not is_keyed(row):
            self._growing[subject(row)] = row


def _total(noted: Mapping[Referral, _Tally]) -> int:
    return sum(tally.count for tally in noted.values())
