"""Figures over time: sums that no way of adding changes, and rows that stay few."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.model.clock import SECOND
from ibi.model.figures import (
    BEYOND,
    DAY,
    HOUR,
    MAX_NAMES,
    MINUTE,
    RESOLUTIONS,
    Level,
    Tally,
    increase,
    merged,
    quantile,
    surplus,
    total,
)

NAMES = st.sampled_from(["deposits", "labels", "status.404"])
COUNTS = st.integers(0, 10**9)
BOUNDS = (0.001, 0.01, 0.1, 1.0)
DURATIONS = st.dictionaries(st.sampled_from([*map(str, BOUNDS), BEYOND]), st.integers(1, 10**6))
TALLIES = st.builds(
    Tally,
    st.dictionaries(NAMES, COUNTS),
    st.dictionaries(NAMES, DURATIONS),
    st.dictionaries(NAMES, st.integers(-(10**12), 10**12).map(Level.of)),
)
INSTANTS = st.integers(0, 2**61)


@given(TALLIES, TALLIES, TALLIES)
def test_it_does_not_matter_which_parts_are_added_first(a: Tally, b: Tally, c: Tally) -> None:
    assert merged(merged(a, b), c) == merged(a, merged(b, c)) == total([a, b, c])
    assert merged(a, Tally()) == merged(Tally(), a) == a


@given(st.lists(TALLIES, max_size=8), st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_the_order_of_processes(parts: list[Tally], random: object) -> None:
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # of hypothesis
    one, other = total(parts), total(shuffled)
    assert (one.counts, one.durations) == (other.counts, other.durations)
    for name, level in one.levels.items():
        found = other.levels[name]
        assert (level.count, level.total, level.least, level.most) == (
            found.count,
            found.total,
            found.least,
            found.most,
        )


@given(st.lists(st.tuples(INSTANTS, TALLIES), max_size=12))
def test_each_resolution_has_the_same_sums(events: list[tuple[int, Tally]]) -> None:
    expected = total(tally for _, tally in events)
    for resolution in RESOLUTIONS:
        rows: dict[int, Tally] = {}
        for wall, tally in events:
            start = resolution.start(wall)
            rows[start] = merged(rows.get(start, Tally()), tally)
        found = total(rows.values())
        assert (found.counts, found.durations) == (expected.counts, expected.durations)


@given(INSTANTS)
def test_periods_nest(wall: int) -> None:
    minute, hour, day = (each.start(wall) for each in (MINUTE, HOUR, DAY))
    assert day <= hour <= minute <= wall // SECOND < minute + 60 <= hour + 3600 <= day + 86_400
    assert (minute % 60, hour % 3600, day % 86_400) == (0, 0, 0)
    assert DAY.start(hour * SECOND) == day


@given(st.sets(st.integers(-(10**10), 10**10)), st.integers(0, 10**10), st.integers(0, 20))
def test_surplus_leaves_the_nearest(starts: set[int], now: int, kept: int) -> None:
    gone = surplus(starts, now, kept)
    left = starts - {*gone}
    assert len(left) == min(kept, len(starts))
    assert gone == sorted({*gone})
    assert {*gone} <= starts
    if gone and left:
        assert max(abs(each - now) for each in left) <= min(abs(each - now) for each in gone)


@given(st.lists(st.integers(-5000, 5000), min_size=1, max_size=60), st.integers(1, 12))
def test_rows_are_bounded_whatever_the_clock_does(steps: list[int], kept: int) -> None:
    """However the clock jumps: never more rows, and the present one is always among them."""
    rows: set[int] = set()
    for now in itertools.accumulate(steps):
        present = MINUTE.start(now * SECOND)
        rows.add(present)
        rows -= {*surplus(rows, present, kept)}
        assert len(rows) <= kept
        assert present in rows


def test_a_clock_that_goes_wrong_for_a_while_costs_no_more_than_that_while() -> None:
    rows = {minute * 60 for minute in range(1000, 1100)}
    known = set(rows)
    for minute in (9_000_000, 9_000_001, 2):  # twice far in the future, once in the past
        rows.add(minute * 60)
        rows -= {*surplus(rows, minute * 60, 100)}
    assert len(known & rows) >= 97
    for minute in range(1100, 1103):
        rows.add(minute * 60)
        rows -= {*surplus(rows, minute * 60, 100)}
    assert rows <= known | {1100 * 60, 1101 * 60, 1102 * 60}  # the wrong ones are gone


@given(st.dictionaries(NAMES, COUNTS), st.dictionaries(NAMES, COUNTS))
def test_a_counter_grows_or_begins_again(before: dict[str, int], now: dict[str, int]) -> None:
    for name, grown in increase(before, now).items():
        assert 0 < grown <= now[name]
        assert grown == now[name] - before.get(name, 0) or now[name] < before[name]
    assert not increase(now, now)


@given(DURATIONS, st.floats(0, 1), st.floats(0, 1))
def test_quantiles_grow_with_the_share(durations: dict[str, int], one: float, other: float) -> None:
    low, high = (quantile(durations, share, BOUNDS) for share in sorted((one, other)))
    if not durations:
        assert low is high is None
        return
    assert low is not None
    assert high is not None
    assert 0 <= low <= high <= max(BOUNDS)


@pytest.mark.parametrize(
    ("durations", "share", "expected"),
    [
        ({"0.01": 100}, 0.5, 0.0055),
        ({"0.001": 50, "1.0": 50}, 0.99, 0.982),
        ({"0.001": 99, BEYOND: 1}, 0.99, 0.001),
        ({"0.001": 98, BEYOND: 2}, 0.99, 1.0),
        ({"0.001": 0}, 0.5, None),
    ],
)
def test_quantiles(durations: dict[str, int], share: float, expected: float | None) -> None:
    assert quantile(durations, share, BOUNDS) == (
        None if expected is None else pytest.approx(expected)
    )


def test_names_are_bounded() -> None:
    many = Tally({str(number): 1 for number in range(2 * MAX_NAMES)})
    found = merged(Tally({"first": 1}), many)
    assert len(found.counts) == MAX_NAMES
    assert found.counts["first"] == 1
