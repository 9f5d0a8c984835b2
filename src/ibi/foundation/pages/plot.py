"""The drawing of a plot: numbers in, path data out. The words around it are HTML.

A view has a `Plot`, made of one or two series by `drawn`. A template shows it by a macro:

    {% import "plot.html" as plots %}
    {% call plots.figure(view.plot, names, summary, keys) %}A caption, a link.{% endcall %}

`names` are the names of the periods below the plot, `summary` says in words what it shows, and
`keys` has for each series its name and its total as text: the first series is drawn as bars, the
second as a curve. `write`, a further argument, writes the numbers of the axis (`formats.number`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

_HEIGHT: Final = 100
"""Units of the height of the drawing."""
_STEP: Final = 20
"""Units of the width of one period; its bar is in the middle of it."""
_BAR: Final = 12
"""Units of the width of a bar."""
_MAX_STEPS: Final = 4
"""Steps of the axis at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot in a box of `width` by 100 units, which the page stretches."""

    width: int
    ticks: tuple[int, ...]
    """The numbers at the axis, the greatest first, 0 last."""
    grid: str
    """Path data of a line for each tick."""
    bars: str
    """Path data of the first series."""
    curve: str = ""
    """Path data of the second series; empty if there is none."""
    area: str = ""
    """Path data of what is below the curve of a single series."""


def drawn(bars: Sequence[int], curve: Sequence[int] = ()) -> Plot:
    """Draw one value of each series for every period; negative values count as 0."""
    ticks = axis(max((*bars, *curve), default=0))
    width = _STEP * max(len(bars), len(curve), 1)
    lines = len(ticks) - 1
    return Plot(
        width=width,
        ticks=ticks,
        grid="".join(f"M0 {_number(_HEIGHT * line / lines)}H{width}" for line in range(len(ticks))),
        bars="".join(_bars(bars, ticks[0])),
        curve="M" + "L".join(_points(curve, ticks[0])) if curve else "",
    )


def drawn_area(values: Sequence[int]) -> Plot:
    """Draw one series as a curve with the area below it; negative values count as 0."""
    plot = drawn((), values)
    points = [*_points(values, plot.ticks[0])]
    if not points:
        return plot
    first, last = _STEP // 2, _STEP * (len(points) - 1) + _STEP // 2
    area = f"M{first} {_HEIGHT}L{'L'.join(points)}L{last} {_HEIGHT}z"
    return replace(plot, area=area)


def axis(largest: int) -> tuple[int, ...]:
    """Return round numbers from one that is not less than `largest` down to 0, in equal steps."""
    step = _round_step(max(largest, 1))
    count = -(-max(largest, 1) // step)
    return tuple(step * number for number in range(count, -1, -1))


def _round_step(largest: int) -> int:
    """Return 1, 2 or 5 times a power of ten: the least step of which four are enough."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * _MAX_STEPS >= largest:
                return factor * power
        power *= 10


def _bars(values: Sequence[int], top: int) -> Iterator[str]:
    for place, value in enumerate(values):
        if value > 0:
            left = place * _STEP + (_STEP - _BAR) // 2
            yield f"M{left} {_HEIGHT}V{_level(value, top)}h{_BAR}V{_HEIGHT}z"


def _points(values: Sequence[int], top: int) -> Iterator[str]:
    return (
        f"{place * _STEP + _STEP // 2} {_level(value, top)}" for place, value in enumerate(values)
    )


def _level(value: int, top: int) -> str:
    """Return how far below the top of the drawing a value is."""
    return _number(_HEIGHT * (top - max(value, 0)) / top)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
