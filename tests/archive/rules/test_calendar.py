"""Days, weeks and months, as numbers are told over time."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.rules.calendar import (
    PERIODS,
    Period,
    day_of,
    filled,
    first_day,
    fitting,
    last_months,
    period_of,
    running,
    summed,
)

days = st.dates(date(1990, 1, 1), date(2200, 12, 31))
periods = st.sampled_from(PERIODS)


@pytest.mark.parametrize(
    ("day", "week", "month"),
    [
        ("2026-11-15", "2026-W46", "2026-11"),
        ("2026-01-01", "2026-W01", "2026-01"),
        ("2027-01-01", "2026-W53", "2027-01"),
        ("2024-12-30", "2025-W01", "2024-12"),
        ("2024-02-29", "2024-W09", "2024-02"),
    ],
)
def test_a_day_is_in_its_week_and_month(day: str, week: str, month: str) -> None:
    given_day = date.fromisoformat(day)
    assert [period_of(given_day, by) for by in PERIODS] == [day, week, month]


def test_days_are_counted_from_1970() -> None:
    assert day_of(0) == date(1970, 1, 1)
    assert day_of(20_772) == date(2026, 11, 15)
    assert day_of(-1) == date(1969, 12, 31)


@given(days, periods)
def test_the_first_day_of_a_period_is_in_it_and_the_day_before_is_not(
    day: date, by: Period
) -> None:
    period = period_of(day, by)
    first = first_day(period)
    assert first <= day
    assert period_of(first, by) == period
    assert period_of(first - timedelta(days=1), by) < period


@given(st.dictionaries(days, st.integers(1, 9), max_size=20), periods)
def test_nothing_is_lost_when_days_are_added_up(counts: dict[date, int], by: Period) -> None:
    found = summed(counts.items(), by)
    assert sum(count for _, count in found) == sum(counts.values())
    names = [name for name, _ in found]
    assert names == sorted(set(names))
    assert set(names) == {period_of(day, by) for day in counts}


near = st.integers(0, 800).map(lambda number: date(2023, 6, 1) + timedelta(days=number))


@given(st.dictionaries(near, st.integers(1, 9), max_size=20), periods)
def test_gaps_are_filled_with_nothing(counts: dict[date, int], by: Period) -> None:
    told = summed(counts.items(), by)
    found = filled(told, by)
    assert [each for each in found if each[1]] == told
    ends = [name for name, _ in (*found[:1], *found[-1:])]
    assert ends == [name for name, _ in (*told[:1], *told[-1:])]
    if counts:
        every = [min(counts) + timedelta(days=n) for n in range((max(counts) - min(counts)).days)]
        names = dict.fromkeys(period_of(day, by) for day in (*every, max(counts)))
        assert [name for name, _ in found] == list(names)


def test_what_is_counted_by_fits_a_plot() -> None:
    first = date(2026, 1, 1)
    for days_later, by in ((0, "day"), (91, "day"), (92, "week"), (643, "week"), (644, "month")):
        assert fitting(first, first + timedelta(days=days_later)) == by


def test_a_running_total() -> None:
    assert running([("a", 3), ("b", 0), ("c", 2)]) == [("a", 3), ("b", 3), ("c", 5)]
    assert running([]) == []


def test_the_last_months_cross_the_year() -> None:
    assert last_months(date(2026, 2, 28), 4) == ["2025-11", "2025-12", "2026-01", "2026-02"]
