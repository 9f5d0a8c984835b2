"""Plots: numbers in, path data out, and the words around them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from jinja2 import DictLoader, Environment, PackageLoader
from jinja2.loaders import ChoiceLoader

from ibi.foundation.pages.formats import Formats
from ibi.foundation.pages.plot import axis, drawn


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0, (1, 0)),
        (1, (1, 0)),
        (3, (3, 2, 1, 0)),
        (5, (6, 4, 2, 0)),
        (1102, (1500, 1000, 500, 0)),
        (
            61_400_000_000_000,
            (80_000_000_000_000, 60_000_000_000_000, 40_000_000_000_000, 20_000_000_000_000, 0),
        ),
        (10**30, (10**30, 5 * 10**29, 0)),
    ],
)
def test_an_axis_has_round_numbers_in_equal_steps(largest: int, ticks: tuple[int, ...]) -> None:
    assert axis(largest) == ticks


@pytest.mark.parametrize("largest", [*range(1, 500), 12_345, 99_999, 10**12 + 1])
def test_an_axis_reaches_the_largest_value_within_four_steps(largest: int) -> None:
    ticks = axis(largest)
    assert ticks[0] >= largest > ticks[0] - ticks[-2]
    assert 2 <= len(ticks) <= 5


def test_a_bar_ends_at_its_value_and_a_curve_passes_the_middle_of_its_period() -> None:
    plot = drawn([0, 2, 4], [4, 1, 0])
    assert plot.width == 60
    assert plot.ticks == (4, 3, 2, 1, 0)
    assert plot.bars == "M24 100V50h12V100zM44 100V0h12V100z"
    assert plot.curve == "M10 0L30 75L50 100"
    assert plot.grid == "M0 0H60M0 25H60M0 50H60M0 75H60M0 100H60"


def test_a_plot_of_nothing_is_an_empty_box() -> None:
    plot = drawn([])
    assert (plot.width, plot.ticks, plot.bars, plot.curve) == (20, (1, 0), "", "")
    assert drawn([-3]).bars == ""


def test_the_figure_has_its_words_in_html_and_none_in_the_drawing() -> None:
    page = (
        '{% import "plot.html" as plots %}'
        "{% call plots.figure(plot, names, 'Two <views>', keys) %}"
        "<a href='#t'>Table</a>{% endcall %}"
    )
    environment = Environment(
        autoescape=True,
        loader=ChoiceLoader([DictLoader({"page": page}), PackageLoader("ibi.foundation.pages")]),
    )
    environment.globals["formats"] = Formats("en")
    shown = environment.get_template("page").render(
        plot=drawn([1000, 2000], [1, 2]),
        names=["Jan", "Feb"],
        keys=[("Views", "3,000"), ("Downloads", "3")],
    )
    figure = ET.fromstring(shown)  # noqa: S314  # ours
    svg = figure.find(".//svg")
    assert svg is not None
    assert "".join(svg.itertext()).strip() == ""
    assert svg.get("aria-label") == "Two <views>"
    assert re.findall(r"<span>([\d,]+)</span>", shown) == ["2,000", "1,500", "1,000", "500", "0"]
    assert [each.get("class") for each in figure.findall("p/span")] == [None, "line"]
    assert figure.findtext("figcaption/a") == "Table"
