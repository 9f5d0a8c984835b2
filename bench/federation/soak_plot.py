"""A plot of a soak: memory, open files, requests and refusals over the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.support.plots import FOLDER, ORANGE

if TYPE_CHECKING:
    from bench.federation.soak import Log

PLOT: Final = FOLDER / "soak.svg"


def draw(log: Log, sample: float) -> None:
    """Draw it."""
    mpl.rcParams["svg.hashsalt"] = "soak"
    figure = Figure(figsize=(8, 8), layout="constrained")
    memory, files, rates, refused = figure.subplots(4, 1, sharex=True)
    for axes, by_name in ((memory, log.memory), (files, log.files)):
        for name, values in by_name.items():
            minutes = [sample * (place + 1) / 60 for place in range(len(values))]
            axes.plot(minutes, values, label=name)
        axes.set_ylim(bottom=0)
    minutes = [sample * (place + 1) / 60 for place in range(len(log.rates))]
    rates.plot(minutes, log.rates)
    rates.set_ylim(bottom=0)
    refused.plot(minutes, [100 * share for share in log.refused])
    for axes in (memory, files, rates, refused):
        for at, _ in log.faults:
            axes.axvline(at / 60, color=ORANGE, alpha=0.25, linewidth=0.8)
        axes.grid(visible=True, alpha=0.3)
    memory.set_title("A soak: every line across is a fault")
    memory.set_ylabel("memory, MB")
    memory.legend(frameon=False, ncols=4)
    files.set_ylabel("open files")
    rates.set_ylabel("requests/s")
    refused.set_ylabel("503, %")
    refused.set_xlabel("minutes")
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})
