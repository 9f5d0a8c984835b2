"""Numbers over time as columns of characters, for a terminal or a file; no colour is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Points: TypeAlias = Sequence[tuple[str, int]]
"""Numbers, each with the name of its day, week or month."""

HEIGHT: Final = 8
_WIDEST: Final = 6
"""Characters of a column: a few points need not fill a screen."""
_CEILINGS: Final = (1, 1.2, 1.6, 2, 3, 4, 6, 8, 10)
"""What an axis may end with, times a power of ten: half of it is a plain number too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """What is plotted, and what is said of it."""

    title: str
    summary: str
    """In a sentence, for those who do not see it."""
    points: Points
    merge: Callable[[Iterable[int]], int] = sum
    """What stands for several points where there is no room for each."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters of a plot."""

    levels: str
    """From nothing to a full cell."""
    tick: str
    line: str
    corner: str
    floor: str


BLOCKS: Final = Marks(" ▁▂▃▄▅▆▇█", "┤", "│", "┼", "─")
ASCII: Final = Marks(" #", "+", "|", "+", "-")


def marks_for(encoding: str) -> Marks:
    """Return the characters that a text in an encoding can have."""
    try:
        f"{BLOCKS.levels}{BLOCKS.tick}{BLOCKS.line}{BLOCKS.corner}".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def ceiling(most: int) -> int:
    """Return a plain even number at which an axis ends that has to reach `most`."""
    if most <= 2:  # noqa: PLR2004  # the least that has a half
        return 2
    power: int = 10 ** (len(str(most)) - 1)
    steps = (round(step * power) for step in _CEILINGS)
    return next(step for step in steps if step >= most and step % 2 == 0)


def gathered(
    points: Points, most: int, merge: Callable[[Iterable[int]], int]
) -> list[tuple[str, int]]:
    """Return no more points than there is room for: neighbours together, by the first's name."""
    size = math.ceil(len(points) / most) if points else 1
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [(group[0][0], merge(value for _, value in group)) for group in groups]


def drawn(plot: Plot, width: int, marks: Marks = BLOCKS) -> str:
    """Draw a plot in so many characters, with numbers at its axes."""
    margin, room = 1, width
    while room > width - margin - 2 and room > _WIDEST:
        # What stands for several points may be a longer number, for which there must be room too.
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
    """Return the title of a plot that has so many columns."""
    together = math.ceil(len(plot.points) / max(1, columns))
    return f"{plot.title}, {together} to a column" if together > 1 else plot.title


def _number(row: int, top: int) -> str:
    """Return what stands at the axis beside a row."""
    return {HEIGHT: f"{top:,}", HEIGHT // 2: f"{top // 2:,}"}.get(row, "")


def _cells(points: Points, row: int, top: int, column: int, levels: str) -> str:
    """Return one row of all columns, the gaps between them included if there is room."""
    full = len(levels) - 1
    shown = column - 1 if column > 1 else 1
    cells = []
    for _, value in points:
        # Whatever is more than nothing can be seen.
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
