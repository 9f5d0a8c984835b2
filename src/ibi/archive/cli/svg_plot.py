"""Plots as SVG documents without script, font or other file.

They have a light and a dark style, and a description in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from ibi.archive.cli.text_plot import Plot, ceiling, gathered, titled
from ibi.errors import printable

_WIDTH: Final = 720
"""Pixels of the width."""
_HEIGHT: Final = 320
"""Pixels of the height."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 16, 48, 36
"""Pixels of the margins."""
_MOST: Final = 300
"""Columns at most: thinner ones could not be distinguished."""
_WIDEST: Final = 48.0
"""Pixels of the widest column."""
_NAMES: Final = 5
"""Names at the axis of time."""
_STYLE: Final = """\
    .ground { fill: #ffffff } .grid { stroke: #d0d7de } .bar { fill: #0a5cb8 }
    text { fill: #1f2328; font: 13px system-ui, sans-serif } .title { font-size: 16px }
    .amount { text-anchor: end } .name { text-anchor: middle }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117 } .grid { stroke: #3d444d } .bar { fill: #6cb6ff }
      text { fill: #e6edf3 }
    }"""


def picture(plot: Plot) -> str:
    """Draw a plot as an SVG document."""
    points = gathered(plot.points, _MOST, plot.merge)
    top = ceiling(max((value for _, value in points), default=0))
    title = _text(titled(plot, len(points)))
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'role="img" aria-labelledby="title desc">'
        ),
        f'  <title id="title">{title}</title>',
        f'  <desc id="desc">{_text(plot.summary)}</desc>',
        f"  <style>\n{_STYLE}\n  </style>",
        f'  <rect class="ground" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'  <text class="title" x="{_LEFT}" y="28">{title}</text>',
        *_grid(top),
        *_bars(points, top),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _grid(top: int) -> Iterator[str]:
    """Yield a line and its number at zero, half and the top of the axis."""
    for amount in (0, top // 2, top):
        y = _number(_height(top - amount, top) + _TOP)
        yield f'  <path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>'
        yield f'  <text class="amount" x="{_LEFT - 8}" y="{y}" dy="4">{amount:,}</text>'


def _bars(points: list[tuple[str, int]], top: int) -> Iterator[str]:
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(points))
    width = min(_WIDEST, step * 0.8)
    floor = _HEIGHT - _BOTTOM
    # Names at equal distances, without one that would overlap the next.
    every = max(1, -(-len(points) // _NAMES))
    for place, (name, value) in enumerate(points):
        middle = _LEFT + step * (place + 0.5)
        height = _height(value, top)
        yield (
            f'  <rect class="bar" x="{_number(middle - width / 2)}" y="{_number(floor - height)}" '
            f'width="{_number(width)}" height="{_number(height)}">'
            f"<title>{_text(name)}: {value:,}</title></rect>"
        )
        if place % every == 0:
            yield (
                f'  <text class="name" x="{_number(middle)}" y="{floor + 22}">{_text(name)}</text>'
            )


def _height(value: int, top: int) -> float:
    return (_HEIGHT - _TOP - _BOTTOM) * value / top


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(printable(text))
