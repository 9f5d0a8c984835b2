"""The numbers of items, files and values of an archive, counted now and then in the background.

Counting reads every row: seconds in an archive of ten million items. So no request counts; a page
shows the last numbers, and makes a thread count again if they are old.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.ports.search import FACETS, Facet
from ibi.errors import StorageError
from ibi.model.clock import SECOND

_FRESH: Final = 5 * SECOND
"""The least time between two counts."""
_SHARE: Final = 200
"""The time between two counts, as a multiple of what the last one took: half a percent."""
_PATIENCE: Final = 1.0
"""Seconds that the first reader waits for numbers, before the page is shown without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The numbers of one archive."""

    items: int
    """Items of data that are not deleted."""
    files: int
    size: int
    """Bytes of all files."""
    values: dict[Facet, int] = field(default_factory=dict)
    """The number of different values of each facet."""
    first_year: str = ""
    last_year: str = ""


def count(archive: Archive) -> Overview:
    """Count what an archive holds."""
    catalogue = archive.catalogue
    files, size = catalogue.items.count_files()
    search = catalogue.search
    years = [
        next(iter(search.values("year", "", 1, last_first=last_first)), None)
        for last_first in (False, True)
    ]
    first, last = (each.value if each else "" for each in years)
    return Overview(
        items=catalogue.items.count(),
        files=files,
        size=size,
        values={facet: search.count_values(facet) for facet in FACETS},
        first_year=first,
        last_year=last,
    )


class Overviews:
    """Returns the last numbers of an archive, and has them counted again in time."""

    def __init__(self, archive: Archive) -> None:
        """Count the holdings of an archive."""
        self._archive = archive
        self._last: Overview | None = None
        self._due = 0
        self._counting: asyncio.Task[None] | None = None

    async def get(self) -> Overview | None:
        """Return the last numbers; None if they could not be counted in a moment."""
        is_due = self._last is None or self._archive.clock.uptime() >= self._due
        if is_due and (self._counting is None or self._counting.done()):
            self._counting = asyncio.create_task(self._count())
        if self._last is None and self._counting is not None:
            await asyncio.wait({self._counting}, timeout=_PATIENCE)
        return self._last

    async def _count(self) -> None:
        begun = self._archive.clock.uptime()
        try:
            self._last = await asyncio.to_thread(count, self._archive)
        except StorageError:  # the page says nothing of numbers, and the next one counts again
            return
        now = self._archive.clock.uptime()
        self._due = now + max(_FRESH, _SHARE * (now - begun))
