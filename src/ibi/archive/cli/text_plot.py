"""Plots as columns of characters, for a terminal or a file, without colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Points: TypeAlias = Sequence[tuple[str, int]]
"""Names of days, weeks or months, each with its number."""

HEIGHT: Final = 8
"""Rows of characters of a plot."""
_WIDEST: Final = 6
"""Characters of the widest column: a few points need not fill a screen."""
_CEILINGS: Final = (1, 1.2, 1.6, 2, 3, 4, 6, 8, 10)
"""Factors of a power of ten at which an axis may end: half of it is a plain number too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Points over time, with a title and a description."""

    title: str
    summary: str
    """A sentence for readers who do not see the plot."""
    points: Points
    merge: Callable[[Iterable[int]], int] = sum
    """Combines several points into one where there is no room for each."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters of a plot."""

    levels: str
    """Characters from an empty to a full cell."""
    tick: str
    line: str
    corner: str
    floor: str


BLOCKS: Final = Marks(" ▁▂▃▄▅▆▇█", "┤", "│", "┼", "─")
ASCII: Final = Marks(" #", "+", "|", "+", "-")


def marks_for(encoding: str) -> Marks:
    """Return the best characters that an encoding has."""
    try:
        f"{BLOCKS.levels}{BLOCKS.tick}{BLOCKS.line}{BLOCKS.corner}".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def ceiling(most: int) -> int:
    """Return the plain even number at which an axis up to `most` ends."""
    if most <= 2:  # noqa: PLR2004  # the least that has a half
        return 2
    power: int = 10 ** (len(str(most)) - 1)
    steps = (round(step * power) for step in _CEILINGS)
    return next(step for step in steps if step >= most and step % 2 == 0)


def gathered(
    points: Points, most: int, merge: Callable[[Iterable[int]], int]
) -> list[tuple[str, int]]:
    """Return at most as many points as fit: neighbours are combined under the first name."""
    size = math.ceil(len(points) / most) if points else 1
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [(group[0][0], merge(value for _, value in group)) for group in groups]


def drawn(plot: Plot, width: int, marks: Marks = BLOCKS) -> str:
    """Draw a plot of `width` characters, with numbers at its axes."""
    margin, room = 1, width
    while room > width - margin - 2 and room > _WIDEST:
        # The number of combined points may be longer, and needs room too.
        room = max(_WIDEST, width - margin - 2)
        points = gathered(plot.points, room, plot.merge)
        top = ceiling(max((value for _, value in points), default=0))
        margin = len(f"{top:,}")
    column = max(1, min(_WIDEST, room // max(1, len(points))))
    rows = [
        f"{_number(row, top):>{margin}} {marks.tick if _number(row, top) else marks.line}"
        + _cells(points, row, top, column, marks.levels)
        for row in range(HEIGHT, 0, -1)
    ]
    floor = f"{0:>{margin}} {marks.corner}{marks.floor * (len(points) * column)}"
    names = _names(plot.points, len(points) * column)
    lines = [titled(plot, len(points)), *rows, floor, f"{'':{margin + 2}}{names}"]
    return "\n".join(line.rstrip() for line in lines)


def titled(plot: Plot, columns: int) -> str:
    """Return the title of a plot of `columns` columns."""
    together = math.ceil(len(plot.points) / max(1, columns))
    return f"{plot.title}, {together} to a column" if together > 1 else plot.title


def _number(row: int, top: int) -> str:
    """Return the number at the axis beside a row, or an empty string."""
    return {HEIGHT: f"{top:,}", HEIGHT // 2: f"{top // 2:,}"}.get(row, "")


def _cells(points: Points, row: int, top: int, column: int, levels: str) -> str:
    """Return one row of all columns, the gaps between them included if there is room."""
    full = len(levels) - 1
    shown = column - 1 if column > 1 else 1
    cells = []
    for _, value in points:
        # A number greater than zero is always visible.
        height = max(1, round(value * HEIGHT * full / top)) if value else 0
        level = min(full, max(0, height - (row - 1) * full))
        cells.append((levels[level] * shown).ljust(column))
    return "".join(cells)


def _names(points: Points, width: int) -> str:
    """Return the names of the first and the last point, at the ends if there is room."""
    if not points:
        return ""
    first, last = points[0][0], points[-1][0]
    if first == last:
        return first
    gap = width - len(first) - len(last)
    return f"{first}{'':{gap}}{last}" if gap > 0 else f"{first} to {last}"
