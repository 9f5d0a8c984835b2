"""Counts by day, week, month or year, in UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias, get_args

from ibi.archive.ports.statistics import MonthCounts

Period: TypeAlias = Literal["day", "week", "month"]
Counts: TypeAlias = Sequence[tuple[str, int]]
"""Counts by the name of their period: 2026-11-15, 2026-W46 or 2026-11."""

PERIODS: Final[tuple[Period, ...]] = get_args(Period)
_MOST_DAYS: Final = 92
_MOST_WEEKS: Final = 92
"""The most periods of one plot: more would not fit a terminal."""
_EPOCH: Final = date(1970, 1, 1)


def day_of(number: int) -> date:
    """Return a day by its number, counted from 1970-01-01."""
    return _EPOCH + timedelta(days=number)


def period_of(day: date, by: Period) -> str:
    """Return the name of the period of a day; weeks are those of ISO 8601."""
    match by:
        case "day":
            return day.isoformat()
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year:04}-W{week:02}"
        case "month":
            return day.isoformat()[:7]


def summed(days: Iterable[tuple[date, int]], by: Period) -> list[tuple[str, int]]:
    """Add up daily counts by period, in chronological order."""
    counts: dict[str, int] = {}
    for day, count in sorted(days):
        period = period_of(day, by)
        counts[period] = counts.get(period, 0) + count
    return list(counts.items())


def first_day(period: str) -> date:
    """Return the first day of a period; raise ValueError for an invalid name."""
    if "W" in period:
        return date.fromisoformat(f"{period}-1")
    return date.fromisoformat(period if period.count("-") > 1 else f"{period}-01")


def filled(counts: Counts, by: Period) -> list[tuple[str, int]]:
    """Return the counts with a zero for each period in between that has none."""
    if not counts:
        return []
    known = dict(counts)
    names = _names(first_day(counts[0][0]), first_day(counts[-1][0]), by)
    return [(name, known.get(name, 0)) for name in names]


def _names(first: date, last: date, by: Period) -> Iterator[str]:
    day = first
    while day < last:
        yield period_of(day, by)
        day = _next(day, by)
    yield period_of(last, by)


def _next(day: date, by: Period) -> date:
    match by:
        case "day":
            return day + timedelta(days=1)
        case "week":
            return day + timedelta(days=7)
        case "month":
            return (day.replace(day=1) + timedelta(days=31)).replace(day=1)


def last_months(today: date, count: int) -> list[str]:
    """Return the names of the last months, the present one last."""
    number = 12 * today.year + today.month - 1
    months = (divmod(each, 12) for each in range(number - count + 1, number + 1))
    return [f"{year:04}-{month + 1:02}" for year, month in months]


def fitting(first: date, last: date) -> Period:
    """Return the period that makes a readable plot of these days."""
    days = (last - first).days
    if days < _MOST_DAYS:
        return "day"
    return "week" if days < 7 * _MOST_WEEKS else "month"


def running(counts: Counts) -> list[tuple[str, int]]:
    """Return the running total after each period."""
    total = 0
    sums = []
    for name, count in counts:
        total += count
        sums.append((name, total))
    return sums


@dataclass(frozen=True, slots=True)
class PeriodCounts:
    """What came in a month or a year, and what the archive had at its end."""

    period: str
    """As 2026-11 or 2026."""
    items: int
    files: int
    size: int
    accesses: int
    all_items: int
    all_files: int
    all_size: int
    """Items, files and bytes that had come by the end of it."""
    views: int = 0
    downloads: int = 0


def monthly(counts: Sequence[MonthCounts], today: str) -> list[PeriodCounts]:
    """Return every month from the first with counts to that of a day (as 2026-11-15)."""
    known = {each.month: each for each in counts}
    last = max((*known, today[:7]))
    items = files = size = 0
    months = []
    for month in _months(min((*known, today[:7])), last):
        one = known.get(month, MonthCounts(month, 0, 0, 0, 0))
        items, files, size = items + one.items, files + one.files, size + one.size
        came = (one.items, one.files, one.size, one.accesses)
        months.append(PeriodCounts(month, *came, items, files, size, one.views, one.downloads))
    return months


def yearly(months: Iterable[PeriodCounts]) -> list[PeriodCounts]:
    """Add months up to years."""
    years: dict[str, list[PeriodCounts]] = {}
    for month in months:
        years.setdefault(month.period[:4], []).append(month)
    return [
        PeriodCounts(
            year,
            sum(each.items for each in several),
            sum(each.files for each in several),
            sum(each.size for each in several),
            sum(each.accesses for each in several),
            several[-1].all_items,
            several[-1].all_files,
            several[-1].all_size,
            sum(each.views for each in several),
            sum(each.downloads for each in several),
        )
        for year, several in years.items()
    ]


def _months(first: str, last: str) -> Iterator[str]:
    year, month = int(first[:4]), int(first[5:7])
    while (name := f"{year:04}-{month:02}") <= last:
        yield name
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)  # noqa: PLR2004
