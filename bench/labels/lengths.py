"""How long labels are under traffic of different density: the distribution, and a plot of it."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from ibi.identifier.ibip import mount_suffix as ibip_suffix
from ibi.identifier.instant import instant_of
from ibi.identifier.repository_name import mount_suffix
from ibi.minting.rules.distributor import create_date
from ibi.minting.rules.granularity import (
    GRANULARITIES,
    Granularity,
    granularity_text,
)
from ibi.model.clock import SECOND

RATES: Final = (0.01, 1.0, 100.0, 10_000.0)
LABELS: Final = 20_000
SEED: Final = 16066
START: Final = 1_794_744_000 * SECOND
PLOT: Final = Path(__file__).parents[2] / "docs" / "explanation" / "label-lengths.svg"


def under_poisson_traffic() -> list[str]:
    """Print the distribution for each rate, and plot it."""
    shares = {rate: _distribution(rate) for rate in RATES}
    _plot({rate: share for rate, (share, _, _) in shares.items()})
    head = " | ".join(f"{rate:,g}/s" for rate in RATES)
    lines = [f"| written to | {head} |", f"| --- |{' --- |' * len(RATES)}"]
    for r in GRANULARITIES:
        cells = [shares[rate][0].get(r, 0) for rate in RATES]
        if any(cells):
            shown = " | ".join(f"{cell:.1%}" if cell else "" for cell in cells)
            lines.append(f"| {_named(r)} | {shown} |")
    for index, name in ((1, "characters of a suffix, mean"), (2, "of an IBIp's suffix, mean")):
        shown = " | ".join(f"{shares[rate][index]:.1f}" for rate in RATES)
        lines.append(f"| {name} | {shown} |")
    lines += [
        "",
        (
            f"{LABELS:,} labels each, granularity `auto`, Poisson arrivals, seed {SEED}, exact: "
            "the distributor itself on a clock of its own. Plotted in "
            "docs/explanation/label-lengths.svg."
        ),
    ]
    return lines


def _distribution(rate: float) -> tuple[dict[int, float], float, float]:
    """Return the share of each precision, and the mean lengths of both suffixes."""
    chance = random.Random(SEED)  # noqa: S311  # traffic, no secret
    gaps = (chance.expovariate(rate) * SECOND for _ in range(LABELS))
    arrivals = [START + int(moment) for moment in accumulate(gaps)]
    granularity, last, free = Granularity(), None, START
    count: Counter[int] = Counter()
    length = opaque_length = 0
    for number, arrival in enumerate(arrivals):
        # Served when those before have been; others may have come meanwhile.
        served = max(arrival, free)
        crowd = bisect_right(arrivals, served) - number
        granularity = granularity.adapted(served, last, crowd)
        free, last = create_date(served, last, granularity.nanoseconds)
        count[next(r for r in GRANULARITIES if last % r == 0)] += 1
        instant = instant_of(last)
        length += len(mount_suffix(instant))
        opaque_length += len(ibip_suffix(instant))
    shares = {r: number / LABELS for r, number in count.items()}
    return shares, length / LABELS, opaque_length / LABELS


def _named(r: int) -> str:
    return {60 * SECOND: "the minute", SECOND: "the second"}.get(r, f"{granularity_text(r)} s")


def _plot(shares: dict[float, dict[int, float]]) -> None:
    mpl.rcParams["svg.hashsalt"] = str(SEED)
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.add_subplot()
    used = [r for r in GRANULARITIES if any(r in share for share in shares.values())]
    colours = mpl.colormaps["viridis"]
    for row, rate in enumerate(reversed(RATES)):
        left = 0.0
        for index, r in enumerate(used):
            share = shares[rate].get(r, 0.0)
            colour = colours(index / max(1, len(used) - 1))
            label = _named(r) if row == 0 else None
            axes.barh(row, share, left=left, color=colour, label=label, edgecolor="white")
            left += share
    axes.set_yticks(range(len(RATES)), [f"{rate:,g} a second" for rate in reversed(RATES)])
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of labels")
    axes.set_title("How precisely a label is written, by traffic (granularity auto)")
    axes.legend(title="written to", bbox_to_anchor=(1.01, 1), loc="upper left", frameon=False)
    figure.savefig(PLOT, metadata={"Date": None})


if __name__ == "__main__":
    print("\n".join(under_poisson_traffic()))
