"""Plots: exactly what is drawn, in characters and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.cli.svg_plot import picture
from ibi.archive.cli.text_plot import (
    ASCII,
    BLOCKS,
    HEIGHT,
    Plot,
    ceiling,
    drawn,
    gathered,
    marks_for,
)

SVG = "{http://www.w3.org/2000/svg}"
MONTHS = Plot(
    title="Accesses by month",
    summary="17 in all.",
    points=[("2026-09", 10), ("2026-10", 0), ("2026-11", 6), ("2026-12", 1)],
)
MANY = [(str(number), number) for number in range(1, 41)]


def lines(text: str) -> list[str]:
    return text.strip("\n").splitlines()


def test_a_plot_in_blocks() -> None:
    assert drawn(MONTHS, 40).splitlines() == lines(
        """
Accesses by month
10 ┤█████
   │█████
   │█████
   │█████       ▆▆▆▆▆
 5 ┤█████       █████
   │█████       █████
   │█████       █████
   │█████       █████ ▆▆▆▆▆
 0 ┼────────────────────────
    2026-09          2026-12
"""
    )


def test_a_plot_in_characters_that_every_terminal_has() -> None:
    assert drawn(MONTHS, 40, ASCII).splitlines() == lines(
        """
Accesses by month
10 +#####
   |#####
   |#####
   |#####       #####
 5 +#####       #####
   |#####       #####
   |#####       #####
   |#####       ##### #####
 0 +------------------------
    2026-09          2026-12
"""
    )


def test_where_there_is_little_room_neighbours_share_a_column() -> None:
    assert drawn(Plot(title="Many", summary="", points=MANY), 20).splitlines() == lines(
        """
Many, 3 to a column
120 ┤            ▅
    │          ▃██
    │        ▂▆███
    │       ▅█████
 60 ┤     ▃███████
    │   ▂▆████████▅
    │  ▅███████████
    │▃█████████████
  0 ┼──────────────
     1           40
"""
    )
    largest = drawn(Plot(title="Many", summary="", points=MANY, merge=max), 20)
    assert largest.splitlines()[1] == "40 ┤           ▂▆█"


def test_a_plot_of_one_point_and_of_none() -> None:
    one = drawn(Plot(title="One", summary="", points=[("2026-11-15", 1)]), 80)
    assert one.splitlines()[5:] == [
        "1 ┤█████",
        *["  │█████"] * 3,
        "0 ┼──────",
        "   2026-11-15",
    ]
    none = drawn(Plot(title="None", summary="", points=[]), 80)
    assert none.splitlines()[0] == "None"
    assert none.split("\n")[-2:] == ["0 ┼", ""]


def test_names_that_do_not_fit_are_written_in_a_row() -> None:
    two = drawn(Plot(title="", summary="", points=[("2026-11-14", 1), ("2026-11-15", 2)]), 80)
    assert two.splitlines()[-1] == "   2026-11-14 to 2026-11-15"


counts = st.lists(st.integers(0, 10**12), max_size=400)


@given(counts, st.integers(30, 200), st.sampled_from([BLOCKS, ASCII]), st.sampled_from([sum, max]))
def test_every_plot_fits_and_shows_whatever_is_more_than_nothing(
    values: list[int], width: int, marks: object, merge: object
) -> None:
    points = [(str(number), value) for number, value in enumerate(values)]
    plot = Plot(title="T", summary="", points=points, merge=merge)  # type: ignore[arg-type]
    shown = drawn(plot, width, marks).split("\n")  # type: ignore[arg-type]
    assert len(shown) == HEIGHT + 3
    assert all(len(line) <= width for line in shown)
    assert all(line == line.rstrip() for line in shown)
    lowest = shown[HEIGHT].partition("│" if marks is BLOCKS else "|")[2]
    assert bool(lowest.strip()) == any(values)


@given(st.integers(0, 10**15))
def test_an_axis_ends_with_a_plain_even_number_that_is_not_far(most: int) -> None:
    top = ceiling(most)
    assert top >= most
    assert top % 2 == 0
    assert top <= max(2, 1.7 * most)
    assert len(str(top).rstrip("0")) <= 2


@given(st.lists(st.integers(0, 9)), st.integers(1, 50))
def test_what_is_gathered_is_all_there_was(values: list[int], most: int) -> None:
    points = [(str(number), value) for number, value in enumerate(values)]
    found = gathered(points, most, sum)
    assert len(found) <= most
    assert sum(value for _, value in found) == sum(values)
    assert [name for name, _ in found[:1]] == [name for name, _ in points[:1]]


@pytest.mark.parametrize(
    ("encoding", "marks"),
    [("utf-8", BLOCKS), ("ascii", ASCII), ("iso-8859-1", ASCII), ("cp437", ASCII), ("?", ASCII)],
)
def test_marks_are_those_that_the_terminal_has(encoding: str, marks: object) -> None:
    assert marks_for(encoding) is marks


# --- as a picture ---------------------------------------------------------------------------------


def test_a_picture() -> None:
    plot = Plot(title="A <b> & c", summary="3 in all.", points=[("2026-11-15", 3)])
    assert picture(plot) == (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 320" role="img" '
        'aria-labelledby="title desc">\n'
        '  <title id="title">A &lt;b&gt; &amp; c</title>\n'
        '  <desc id="desc">3 in all.</desc>\n'
        "  <style>\n"
        "    .ground { fill: #ffffff } .grid { stroke: #d0d7de } .bar { fill: #0a5cb8 }\n"
        "    text { fill: #1f2328; font: 13px system-ui, sans-serif } "
        ".title { font-size: 16px }\n"
        "    .amount { text-anchor: end } .name { text-anchor: middle }\n"
        "    @media (prefers-color-scheme: dark) {\n"
        "      .ground { fill: #0d1117 } .grid { stroke: #3d444d } .bar { fill: #6cb6ff }\n"
        "      text { fill: #e6edf3 }\n"
        "    }\n"
        "  </style>\n"
        '  <rect class="ground" width="720" height="320"/>\n'
        '  <text class="title" x="96" y="28">A &lt;b&gt; &amp; c</text>\n'
        '  <path class="grid" d="M96 284H704"/>\n'
        '  <text class="amount" x="88" y="284" dy="4">0</text>\n'
        '  <path class="grid" d="M96 166H704"/>\n'
        '  <text class="amount" x="88" y="166" dy="4">2</text>\n'
        '  <path class="grid" d="M96 48H704"/>\n'
        '  <text class="amount" x="88" y="48" dy="4">4</text>\n'
        '  <rect class="bar" x="376" y="107" width="48" height="177">'
        "<title>2026-11-15: 3</title></rect>\n"
        '  <text class="name" x="400" y="306">2026-11-15</text>\n'
        "</svg>\n"
    )


@given(counts, st.text(max_size=20))
def test_every_picture_is_xml_that_needs_nothing_else(values: list[int], title: str) -> None:
    points = [(str(number), value) for number, value in enumerate(values)]
    text = picture(Plot(title=title, summary=title, points=points))
    root = ET.fromstring(text)  # noqa: S314  # our own
    assert root.attrib["role"] == "img"
    assert len(root.findall(f"{SVG}rect[@class='bar']")) == len(gathered(points, 300, sum))
    assert len(root.findall(f"{SVG}text[@class='name']")) <= 5
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        *("svg", "title", "desc", "style", "rect", "path", "text"),
    }
    assert "href" not in text
    assert "url(" not in text


def test_columns_that_would_be_too_thin_are_gathered() -> None:
    text = picture(Plot(title="Many", summary="", points=[(str(n), 1) for n in range(601)]))
    assert '<title id="title">Many, 3 to a column</title>' in text
    assert text.count('class="bar"') == 201
