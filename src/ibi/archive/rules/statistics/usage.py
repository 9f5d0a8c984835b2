"""What is a view or a download of an item, by the rules of COUNTER for research data.

Code of Practice for Research Data, version 1: only successful requests count, robots do not, and
two requests of one reader for one thing within 30 seconds count once (double clicks).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from ibi.archive.rules.calendar import day_of

Use: TypeAlias = Literal["view", "download"]
"""A view is of the page of an item, or of its metadata; a download is of one of its files."""
Uses: TypeAlias = dict[tuple[int, str], tuple[int, int]]
"""Views and downloads by the number of the item and the day."""

DOUBLE_CLICK: Final = 30
"""Seconds within which two requests of one reader for one thing count once."""
MAX_REMEMBERED: Final = 200_000
"""Requests that are remembered for the double clicks; further ones count without."""
_DAY: Final = 86_400
_ANSWERED: Final = frozenset({200, 302, 304})
_PARTIAL: Final = 206


class Visit(NamedTuple):
    """A request that may count."""

    item: int
    """The number of the item in the catalogue."""
    is_download: bool
    key: int
    """A keyed digest of the reader and of what was requested, from which neither can be told."""
    second: int
    """POSIX time."""


def is_counted(method: str, status: int, content_range: str = "") -> bool:
    """Return whether an answer counts: the whole, or the part with which a file begins.

    302 leads to the file in an object store.
    """
    if method != "GET":
        return False
    if status == _PARTIAL:
        return content_range.startswith("bytes 0-")
    return status in _ANSWERED


class UsageTally:
    """Adds up visits, without double clicks."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        self._swept = 0

    def add(self, visits: Iterable[Visit]) -> Uses:
        """Return the views and downloads among visits."""
        uses: Uses = {}
        for visit in visits:
            if self._is_double(visit):
                continue
            place = visit.item, day_of(visit.second // _DAY).isoformat()
            views, downloads = uses.get(place, (0, 0))
            uses[place] = views + (not visit.is_download), downloads + visit.is_download
        return uses

    def _is_double(self, visit: Visit) -> bool:
        self._sweep(visit.second)
        before = self._last.get(visit.key)
        if before is not None or len(self._last) < MAX_REMEMBERED:
            self._last[visit.key] = visit.second
        return before is not None and abs(visit.second - before) < DOUBLE_CLICK

    def _sweep(self, now: int) -> None:
        """Forget requests that are too old for a double click, now and then."""
        if abs(now - self._swept) >= DOUBLE_CLICK:
            self._swept = now
            self._last = {key: at for key, at in self._last.items() if abs(now - at) < DOUBLE_CLICK}
