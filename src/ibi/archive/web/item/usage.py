"""Views and downloads of an item over months, with their plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ibi.archive.ports.statistics import DayUsage
from ibi.foundation.pages.plot import Plot, drawn


class MonthUsage(NamedTuple):
    """Views and downloads in a month."""

    month: str
    """As 2026-11."""
    views: int
    downloads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemUsage:
    """Views and downloads of an item in some months."""

    months: tuple[MonthUsage, ...]
    plot: Plot

    @property
    def views(self) -> int:
        """The number of views in all months."""
        return sum(month.views for month in self.months)

    @property
    def downloads(self) -> int:
        """The number of downloads in all months."""
        return sum(month.downloads for month in self.months)


def item_usage(months: Sequence[str], days: Iterable[DayUsage]) -> ItemUsage:
    """Add up daily numbers by month; days of other months are left out."""
    sums = {month: [0, 0] for month in months}
    for day in days:
        if (month := sums.get(day.day[:7])) is not None:
            month[0] += day.views
            month[1] += day.downloads
    found = tuple(MonthUsage(name, *numbers) for name, numbers in sums.items())
    plot = drawn([each.views for each in found], [each.downloads for each in found])
    return ItemUsage(months=found, plot=plot)
