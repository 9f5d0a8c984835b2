"""Counts by day, week or month, in UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias, get_args

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
