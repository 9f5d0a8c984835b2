"""Accesses of what is known, as they are noted on the way of every reader: a number for each.

Twice a second they are taken from here to be kept: those of few items, or of items that are read
often, each by itself, so that they can grow; those of many items that are read once, on sheets.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from ibi.ports import PendingAcknowledgment
from ibi.resolver.access_sheet import Clients, SheetInHand
from ibi.resolver.acknowledgment import Referral
from ibi.resolver.known import Known, Terms
from ibi.wire.accesses import MOST_ACCESSES

MOST: Final = 100_000
"""Different accesses that wait for the store."""
FEW: Final = 20
"""Different ones of which each is kept by itself."""
OFTEN: Final = 100
"""So many of the same are worth a row of their own."""
SLICE: Final = 500
"""Accesses that are gone through at a time, while readers wait."""


@dataclass(slots=True)
class Taken:
    """What was noted, as it is to be kept."""

    sheets: list[PendingAcknowledgment] = field(default_factory=list)
    referrals: list[tuple[Referral, int]] = field(default_factory=list)


class NotedAccesses:
    """Counts accesses by what is known and by whom they are; of one event loop."""

    def __init__(self) -> None:
        """Count from nothing."""
        self._counts: dict[tuple[Known, Clients], int] = {}
        self.lost = 0
        """Accesses for which there was no room."""

    def note(self, known: Known, clients: Clients) -> None:
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

    async def take(self, since: int) -> Taken:
        """Return what was noted, and begin anew; readers get their turn in between."""
        counts, self._counts = self._counts, {}
        taken = Taken()
        sheets: dict[Terms, SheetInHand] = {}
        written: list[SheetInHand] = []
        are_few = len(counts) <= FEW
        for place, ((known, clients), count) in enumerate(counts.items(), 1):
            if are_few or count >= OFTEN or known.asked is not None:
                taken.referrals.append((known.referral(clients), count))
            else:
                sheet = sheets.get(known.terms)
                if sheet is None or sheet.count + count > MOST_ACCESSES:
                    sheet = sheets[known.terms] = SheetInHand(known.terms)
                    written.append(sheet)
                sheet.add(known, clients, count)
            if place % SLICE == 0:
                await asyncio.sleep(0)
        taken.sheets = [sheet.row(since) for sheet in written]
        return taken
