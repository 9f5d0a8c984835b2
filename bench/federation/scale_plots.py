"""Plots of what a click costs in federations of many sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure

from bench.support.plots import BLUE, GREEN, ORANGE, figure_of

if TYPE_CHECKING:
    from bench.federation.scale import Cost

FOLDER: Final = Path(__file__).parents[2] / "docs" / "explanation"


def messages(grown: Mapping[int, Cost], plain: Mapping[int, Cost]) -> None:
    """Draw messages a click by the number of archives."""
    figure, axes = figure_of("What a click costs, by the number of archives")
    archives = list(grown)
    axes.loglog(archives, [each.asked for each in plain.values()], "o-", color=ORANGE,
                label="questions, everybody asked")  # fmt: skip
    axes.loglog(archives, [each.asked for each in grown.values()], "o-", color=BLUE,
                label="questions, the likely first")  # fmt: skip
    axes.loglog(archives, [each.unknown for each in grown.values()], "o--", color=GREEN,
                label="questions for labels that nobody has")  # fmt: skip
    axes.set_xlabel("archives")
    axes.set_ylabel("questions a click")
    axes.legend(frameon=False)
    _save(figure, "scale-messages.svg")


def upkeep(grown: Mapping[int, Cost]) -> None:
    """Draw what digests take by the number of archives."""
    figure, axes = figure_of("What digests take, by the number of archives")
    archives = list(grown)
    axes.loglog(archives, [each.upkeep for each in grown.values()], "o-", color=BLUE,
                label="octets a second, to keep them")  # fmt: skip
    axes.loglog(archives, [each.first / 1e3 for each in grown.values()], "o-", color=ORANGE,
                label="kB, to read all of them once")  # fmt: skip
    axes.set_xlabel("archives, of 10,000 items on the average")
    axes.legend(frameon=False)
    _save(figure, "scale-upkeep.svg")


def publishing(shared: Mapping[float, Cost]) -> None:
    """Draw questions a click by the share of archives that publish a digest."""
    figure, axes = figure_of("100,000 archives: questions a click, by how many publish a digest")
    axes.bar([f"{share:.0%}" for share in shared], [each.asked for each in shared.values()],
             color=BLUE)  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("archives that publish a digest")
    axes.set_ylabel("questions a click")
    _save(figure, "scale-publishing.svg")


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / name, metadata={"Date": None})
