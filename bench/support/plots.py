"""Bars beside the tables: who has no time to read numbers sees the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER: Final = Path(__file__).parents[1] / "plots"
BLUE, ORANGE, GREEN = "#0a5cb8", "#c2570c", "#2a7d46"
GREY: Final = "#8a8f98"
COLOURS: Final = (GREY, BLUE, ORANGE, GREEN)


def figure_of(title: str) -> tuple[Figure, Axes]:
    """Return an empty plot, drawn the same by whoever draws it."""
    mpl.rcParams["svg.hashsalt"] = title
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def bars(
    name: str, title: str, unit: str, places: Sequence[str], values: Mapping[str, Sequence[float]]
) -> str:
    """Draw bars side by side at each place, one of each series; return the line that shows them."""
    figure, axes = figure_of(title)
    width = 0.8 / len(values)
    for number, (series, heights) in enumerate(values.items()):
        at = [place - 0.4 + width * (number + 0.5) for place in range(len(places))]
        drawn = axes.bar(at, heights, width, label=series, color=COLOURS[number % len(COLOURS)])
        axes.bar_label(drawn, fmt="{:.3g}", fontsize=8)
    axes.set_xticks(range(len(places)), places)
    axes.set_ylabel(unit)
    axes.grid(visible=False, axis="x")
    axes.legend(frameon=False)
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    return f"![{title}](plots/{name}.svg)"
