"""The values of the page with the statistics of an archive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ibi.archive.rules.calendar import PeriodCounts, yearly
from ibi.foundation.pages.plot import Plot, drawn

_MONTHS: Final = 12
"""Months of the plots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsView:
    """The page with the statistics."""

    year: str
    """The year whose months are shown; empty for the last twelve months."""
    months: tuple[PeriodCounts, ...]
    """The months that are shown, the oldest first."""
    years: tuple[PeriodCounts, ...]
    """All years in which anything came or was read, the newest first."""
    total: PeriodCounts
    """What the archive has, and all accesses, views and downloads; or those of the year."""
    is_whole: bool
    """Whether all items are counted; not while an upgraded archive counts them."""
    deposits: Plot
    usage: Plot
    """Views and downloads."""
    accesses: Plot
    storage: Plot


def statistics_view(
    months: Sequence[PeriodCounts], year: str, *, is_whole: bool = True
) -> StatisticsView:
    """Return the page with the months of a year, or with the last ones; without any, if unknown."""
    if year:
        shown = tuple(each for each in months if each.period.startswith(year))
    else:
        shown = tuple(months[-_MONTHS:])
    years = yearly(months)
    summed = [each for each in years if year in {"", each.period}] or years
    last = summed[-1]
    total = PeriodCounts(
        "",
        last.all_items,
        last.all_files,
        last.all_size,
        sum(each.accesses for each in summed),
        last.all_items,
        last.all_files,
        last.all_size,
        sum(each.views for each in summed),
        sum(each.downloads for each in summed),
    )
    return StatisticsView(
        year=year,
        months=shown,
        years=tuple(each for each in reversed(years) if _has_counts(each)),
        total=total,
        is_whole=is_whole,
        deposits=drawn([each.items for each in shown]),
        usage=drawn([each.views for each in shown], [each.downloads for each in shown]),
        accesses=drawn([each.accesses for each in shown]),
        storage=drawn([each.all_size for each in shown]),
    )


def _has_counts(period: PeriodCounts) -> bool:
    return any((period.items, period.accesses, period.views, period.downloads))
