"""Figures over time as plots and as a table: stored periods in, values of a page out. Pure.

A program says by `Column` what it shows of a period, and which columns share a plot. A template
shows the view by the macros of "figures.html".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from ibi.foundation.pages.plot import Plot, drawn, drawn_area
from ibi.model.figures import DAY, HOUR, Period, Resolution, Tally, quantile, total

Unit: TypeAlias = Literal["number", "size", "milliseconds", "percent"]
Span: TypeAlias = Literal["day", "month", "year"]
"""The last 24 hours, 30 days or 12 months."""

SPANS: Final[tuple[Span, ...]] = ("year", "month", "day")
_MONTHS: Final = 12
_STEPS: Final = {"day": 24, "month": 30}
_RESOLUTION: Final[dict[Span, Resolution]] = {"day": HOUR, "month": DAY, "year": DAY}
_MANY: Final = 400 * 86_400
"""Seconds that are more than twelve months."""


@dataclass(frozen=True, slots=True)
class Column:
    """What is shown of a period."""

    name: str
    """A Sentence, which pages translate."""
    unit: Unit
    read: Callable[[Tally], int]
    """Returns the value of a period of any length."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column with its values."""

    name: str
    unit: Unit
    values: tuple[int, ...]
    whole: int
    """The value of the whole span."""


@dataclass(frozen=True, slots=True)
class FiguresPlot:
    """A plot of one or two columns."""

    columns: tuple[ShownColumn, ...]
    plot: Plot


@dataclass(frozen=True, slots=True)
class FiguresView:
    """The figures of a span."""

    span: Span
    steps: tuple[int, ...]
    """When each step begins, in seconds of POSIX time, the oldest first."""
    plots: tuple[FiguresPlot, ...]
    known: tuple[bool, ...]
    """Whether anything is known of each step: nothing is if the service did not run."""

    @property
    def columns(self) -> tuple[ShownColumn, ...]:
        """All columns, in the order of the plots."""
        return tuple(column for plot in self.plots for column in plot.columns)

    @property
    def months(self) -> tuple[str, ...]:
        """The months of the steps, as 2026-11."""
        return tuple(f"{datetime.fromtimestamp(each, UTC):%Y-%m}" for each in self.steps)

    @property
    def days(self) -> tuple[int, ...]:
        """The days of the months at which the steps begin."""
        return tuple(datetime.fromtimestamp(each, UTC).day for each in self.steps)


def span_of(text: str) -> Span:
    """Return the span that a request names; twelve months for any other text."""
    return next((span for span in SPANS if span == text), "year")


def wanted(span: Span, now: int) -> tuple[Resolution, int, int]:
    """Return the resolution and the first and last second of the periods that a span needs."""
    resolution = _RESOLUTION[span]
    seconds = _MANY if span == "year" else _STEPS[span] * resolution.seconds
    return resolution, now - seconds, now


def figures_view(
    plots: Iterable[Sequence[Column]], periods: Sequence[Period], span: Span, now: int
) -> FiguresView:
    """Return the view of stored periods; a plot has two columns at most.

    A single column of durations or of shares is drawn as an area.
    """
    steps = _months(now) if span == "year" else _regular(span, now)
    tallies = _by_step(periods, steps)
    whole = total(tallies)
    shown = tuple(_plot(columns, tallies, whole) for columns in plots)
    return FiguresView(span, steps, shown, tuple(map(bool, tallies)))


def _plot(columns: Sequence[Column], tallies: Sequence[Tally], whole: Tally) -> FiguresPlot:
    shown = tuple(
        ShownColumn(column.name, column.unit, tuple(map(column.read, tallies)), column.read(whole))
        for column in columns
    )
    if len(shown) == 1 and shown[0].unit in {"milliseconds", "percent"}:
        return FiguresPlot(shown, drawn_area(shown[0].values))
    return FiguresPlot(shown, drawn(*(column.values for column in shown)))


def _by_step(periods: Sequence[Period], steps: Sequence[int]) -> list[Tally]:
    """Return the tally of each step; periods before the first one are left out."""
    parts: list[list[Tally]] = [[] for _ in steps]
    for period in periods:
        place = sum(start <= period.start for start in steps) - 1
        if place >= 0:
            parts[place].append(period.tally)
    return [total(each) for each in parts]


def _regular(span: Span, now: int) -> tuple[int, ...]:
    seconds, count = _RESOLUTION[span].seconds, _STEPS[span]
    last = now - now % seconds
    return tuple(last - seconds * back for back in range(count - 1, -1, -1))


def _months(now: int) -> tuple[int, ...]:
    today = datetime.fromtimestamp(now, UTC)
    last = today.year * _MONTHS + today.month - 1
    return tuple(
        int(datetime(number // _MONTHS, number % _MONTHS + 1, 1, tzinfo=UTC).timestamp())
        for number in range(last - _MONTHS + 1, last + 1)
    )


def count(name: str) -> Callable[[Tally], int]:
    """Return the reading of a count."""
    return lambda tally: tally.counts.get(name, 0)


def level(name: str) -> Callable[[Tally], int]:
    """Return the reading of the last value of a level."""
    return lambda tally: tally.levels[name].last if name in tally.levels else 0


def highest(name: str) -> Callable[[Tally], int]:
    """Return the reading of the highest value of a level."""
    return lambda tally: tally.levels[name].most if name in tally.levels else 0


def share(part: str, whole: str) -> Callable[[Tally], int]:
    """Return the reading of the percentage that one count is of another."""
    return lambda tally: round(100 * tally.counts.get(part, 0) / max(tally.counts.get(whole, 0), 1))


def slowest(name: str, bounds: Sequence[float]) -> Callable[[Tally], int]:
    """Return the reading of the milliseconds that 99 of 100 durations took at most."""

    def read(tally: Tally) -> int:
        seconds = quantile(tally.durations.get(name, {}), 0.99, bounds)
        return 0 if seconds is None else max(1, round(1000 * seconds))

    return read
