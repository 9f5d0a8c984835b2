"""Accesses on their way to archives: noted in memory, and kept in the store from then on.

One process keeps the queue of a store: it knows of each row what stands there, also after a write
of which nobody can say whether it was made. Such a write is looked for, and made if it was not,
before anything else is written: nothing is ever there twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ibi.ports import AcknowledgmentStore, Clock, PendingAcknowledgment
from ibi.resolver.acknowledgment import (
    SECOND,
    Referral,
    Subject,
    divided,
    is_keyed,
    pending,
    subject,
)

MOST_NOTED: Final = 100_000
"""Different referrals that wait for the store."""
MOST_GROWING: Final = 100_000
GROWING: Final = 24 * 3600 * SECOND
"""Accesses are added to a row for that long: what is given up for its age is not all of a week."""
PAGE: Final = 1000


@dataclass(slots=True)
class _Tally:
    count: int


class AcknowledgmentQueue:
    """What was noted, and what the store has of it."""

    def __init__(self, store: AcknowledgmentStore, clock: Clock) -> None:
        """Begin with whatever is in the store."""
        self._store = store
        self._clock = clock
        self._noted: dict[Referral, _Tally] = {}
        self._noted_since = 0
        self._growing: dict[Subject, PendingAcknowledgment] = {}
        """Rows without a key, to which more may be added; as they stand in the store."""
        self._unsure: Sequence[PendingAcknowledgment] = ()
        """What is being written; more than a moment, if the store failed in the midst of it."""
        self._tried = False
        self._done: set[int] = set()
        self._kept: int | None = None
        self._writing = asyncio.Lock()
        self.news = asyncio.Event()
        """Set when there are new rows."""
        self.lost = 0

    def note(self, referral: Referral, count: int) -> None:
        """Note accesses; those for which there is no room are lost."""
        # One look-up for a referral that was noted before: this is on the way of every reader.
        tally = self._noted.get(referral)
        if tally is not None:
            tally.count += count
        elif len(self._noted) + len(self._unsure) < MOST_NOTED:
            if not self._noted:
                # Later than any before: this is what tells rows apart that were written or not.
                self._noted_since = max(self._clock.wall(), self._noted_since + 1)
            self._noted[referral] = _Tally(count)
        else:
            self.lost += count

    @property
    def waiting(self) -> int:
        """How many accesses are still to be told."""
        return (self._kept or 0) + _total(self._noted)

    async def flush(self) -> None:
        """Keep what was noted, and forget what is done; StorageError if that must be repeated."""
        async with self._writing:
            await self._settle()
            if self._noted:
                noted, since = self._noted, self._noted_since
                self._noted = {}
                self._kept = (self._kept or 0) + _total(noted)
                self._unsure = await asyncio.to_thread(self._rows, noted, since)
                await self._settle()
            if self._done:
                done = tuple(self._done)
                await asyncio.to_thread(self._store.drop_pending, done)
                self._done.difference_update(done)

    async def page(self, after: int) -> tuple[int, list[PendingAcknowledgment]]:
        """Return rows later than `after`, but for those done, and the last number of all; or 0."""
        async with self._writing:
            await self._settle()
        # Those that are forgotten meanwhile may still be read.
        done = frozenset(self._done)
        rows = await asyncio.to_thread(self._store.pending, after, PAGE)
        last = rows[-1].id if rows else 0
        return last, [row for row in rows if row.id not in done]

    async def key(
        self, row: PendingAcknowledgment, acknowledgment: str, most: int
    ) -> tuple[PendingAcknowledgment, PendingAcknowledgment | None]:
        """Keep a key with as many accesses as it is good for; return them, and the rest if any."""
        async with self._writing:
            await self._settle()
            row = self._taken(row)
            rows = divided(row, acknowledgment, most, self._clock.wall())
            self._unsure = rows
            numbers = await self._settle()
        *rest, keyed = (
            replace(each, id=number) for each, number in zip(rows, numbers, strict=True)
        )
        return keyed, rest[0] if rest else None

    async def give_up(self, row: PendingAcknowledgment) -> int:
        """Tell nobody of a row; return how many accesses that are."""
        async with self._writing:
            await self._settle()
            row = self._taken(row)
            self.done(row)
        return row.count

    def done(self, row: PendingAcknowledgment) -> None:
        """Forget a row soon; should it be read again before, its key is what saves us."""
        self._done.add(row.id)
        self._kept = (self._kept or 0) - row.count

    def _taken(self, row: PendingAcknowledgment) -> PendingAcknowledgment:
        """Return a row as it stands in the store now, to which nothing is added any more."""
        growing = self._growing.get(subject(row))
        return row if growing is None or growing.id != row.id else self._growing.pop(subject(row))

    def _rows(self, noted: Mapping[Referral, _Tally], since: int) -> list[PendingAcknowledgment]:
        """Return the rows for what was noted, those first that have a number."""
        keyed: list[PendingAcknowledgment] = []
        counts: Counter[Subject] = Counter()
        for referral, tally in noted.items():
            for row in pending(referral, tally.count, since):
                if is_keyed(row):
                    keyed.append(row)
                else:
                    counts[subject(row)] += row.count
        grown: list[PendingAcknowledgment] = []
        new: list[PendingAcknowledgment] = []
        for each, count in counts.items():
            known = self._growing.get(each)
            if known is not None and since - known.since < GROWING:
                grown.append(replace(known, count=known.count + count))
            else:
                new.append(PendingAcknowledgment(0, *each, count, since))
        return [*grown, *keyed, *new]

    async def _settle(self) -> list[int]:
        """Write what is to be written, unless it is found to be there; return its numbers."""
        if self._kept is None:
            self._kept = await asyncio.to_thread(self._store.count_pending)
        rows = self._unsure
        if not rows:
            return []
        if self._tried and await asyncio.to_thread(self._is_there, rows[0]):
            numbers = [row.id for row in rows]
        else:
            self._tried = True
            numbers = await asyncio.to_thread(self._store.keep_pending, rows)
        self._unsure, self._tried = (), False
        self.news.set()
        for row, number in zip(rows, numbers, strict=True):
            self._follow(replace(row, id=number))
        return numbers

    def _is_there(self, row: PendingAcknowledgment) -> bool:
        """Tell whether a row was written, and so all that were written with it."""
        if row.id:
            return self._store.pending(row.id - 1, 1) == [row]
        after = 0
        while found := self._store.pending(after, PAGE):
            if any(replace(each, id=0) == row for each in found):
                return True
            after = found[-1].id
        return False

    def _follow(self, row: PendingAcknowledgment) -> None:
        """Let a row grow that has no key; one whose number was not told does not."""
        has_room = subject(row) in self._growing or len(self._growing) < MOST_GROWING
        if row.id and has_room and not is_keyed(row):
            self._growing[subject(row)] = row


def _total(noted: Mapping[Referral, _Tally]) -> int:
    return sum(tally.count for tally in noted.values())
