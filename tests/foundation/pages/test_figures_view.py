"""Figures as plots and tables: every stored count is in one step, and steps without data say so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.foundation.pages.figures_view import (
    SPANS,
    Column,
    Span,
    count,
    figures_view,
    highest,
    level,
    share,
    slowest,
    span_of,
    wanted,
)
from ibi.model.figures import Level, Period, Tally

NOW = 1_795_089_600
"""2026-11-19, 12:00."""
NUMBER = Column("x", "number", count("x"))


@pytest.mark.parametrize(("span", "steps"), [("year", 12), ("month", 30), ("day", 24)])
def test_a_span_has_its_steps_up_to_now(span: Span, steps: int) -> None:
    view = figures_view([[NUMBER]], [], span, NOW)
    assert len(view.steps) == len(view.known) == steps
    assert not any(view.known)
    assert view.steps[-1] <= NOW
    assert view.columns[0].values == (0,) * steps


def test_months_are_those_of_the_calendar() -> None:
    view = figures_view([[NUMBER]], [], "year", NOW)
    assert (view.months[0], view.months[-1]) == ("2025-12", "2026-11")
    assert all(datetime.fromtimestamp(each, UTC).day == 1 for each in view.steps)


@given(st.sampled_from(SPANS), st.lists(st.tuples(st.integers(0, 29), st.integers(1, 9))))
def test_every_count_of_the_span_is_in_one_step(span: Span, counts: list[tuple[int, int]]) -> None:
    resolution, first, last = wanted(span, NOW)
    assert first < last == NOW
    periods = [
        Period(resolution.start((NOW - back * resolution.seconds) * 10**9), Tally({"x": number}))
        for back, number in counts
    ]
    view = figures_view([[NUMBER]], periods, span, NOW)
    [column] = view.columns
    expected = sum(each.tally.counts["x"] for each in periods if each.start >= view.steps[0])
    assert sum(column.values) == column.whole == expected


def test_columns_read_counts_levels_shares_and_durations() -> None:
    tally = Tally(
        {"hits": 3, "all": 4},
        {"t": {"0.1": 98, "1.0": 2}},
        {"l": Level.of(2).then(Level.of(9)).then(Level.of(5))},
    )
    assert count("hits")(tally) == 3
    assert (level("l")(tally), highest("l")(tally)) == (5, 9)
    assert share("hits", "all")(tally) == 75
    assert share("hits", "all")(Tally()) == level("l")(Tally()) == highest("l")(Tally()) == 0
    assert slowest("t", (0.1, 1.0))(tally) == 550
    assert slowest("t", (0.1, 1.0))(Tally()) == 0


def test_a_single_share_or_duration_is_an_area() -> None:
    period = Period(NOW - 3600, Tally({"hits": 1, "all": 2}))
    column = Column("x", "percent", share("hits", "all"))
    [plot] = figures_view([[column]], [period], "day", NOW).plots
    assert plot.plot.area
    assert not plot.plot.bars


def test_unknown_spans_are_twelve_months() -> None:
    assert [span_of(text) for text in ("", "decade", "day")] == ["year", "year", "day"]
