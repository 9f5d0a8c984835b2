"""`make faults`: faults that must never lead to a label given twice, or to half a deposit.

    python -m tests.faults [--seed N] [--only WORD] [--database sqlite|postgres]

Minting takes some 17 minutes, the archive longer. Every choice follows from the seed, but not the
timing of the processes; a violation is printed with the label, the workers and the seed, and ends
the run with exit code 1.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import time
from collections.abc import Iterable
from typing import Final

from tests.faults.archive.phases import ARCHIVE_PHASES
from tests.faults.figures import Figures, Violation
from tests.faults.minting.phases import MINTING_PHASES
from tests.faults.phase import BOTH, Phase
from tests.faults.sites import site_factory
from tests.support.servers.postgres import PostgresServer

INTERVAL: Final = 10.0
"""Seconds between two lines of progress, if stderr is no terminal."""


class Progress:
    """Prints the progress of a phase in one line."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = self._said = time.monotonic()

    def report_progress(self, what: str) -> None:
        """Print a line if the last one is old enough."""
        now = time.monotonic()
        watched = sys.stderr.isatty()
        if now - self._said > (0.2 if watched else INTERVAL):
            self._said = now
            line = f"{self._title}: {what}, {now - self._start:.0f} s"
            sys.stderr.write(f"\r{line:<110}" if watched else f"{line}\n")
            sys.stderr.flush()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start


def quantile(sorted_values: list[float], share: float) -> float:
    """Return the quantile of sorted values for a share."""
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def row(phase: Phase, kind: str, figures: Figures, seconds: float) -> list[str]:
    """Return one row of the table."""
    ready = sorted(figures.ready)
    times = (
        f"{quantile(ready, 0.5):.2f} {quantile(ready, 0.99):.2f} {ready[-1]:.2f}" if ready else ""
    )
    share = f"{sum(value < 2 for value in ready) / len(ready):.1%}" if ready else ""
    verdict = figures.skipped and "skipped"
    if phase.twin:
        found = f"{figures.duplicates} twice" if figures.duplicates else "mark below labels"
        verdict = f"found: {figures.found or found}"
    kills = f"{figures.kills} kills" if figures.kills else ""
    refusals = ", ".join(
        f"{count} {name.removesuffix('Error')}" for name, count in figures.refusals.most_common()
    )
    facts = "; ".join(filter(None, [kills, figures.notes, figures.skipped, refusals]))
    duplicates = verdict or str(figures.duplicates)
    return [
        phase.name,
        kind,
        f"{figures.labels:,}",
        duplicates,
        times,
        share,
        f"{seconds:.0f}",
        facts,
    ]


HEAD: Final = ["phase", "ledger", "labels", "twice", "ready s: 50% 99% max", "< 2 s", "s", "what"]


def table(rows: Iterable[list[str]]) -> str:
    """Return the table as text, in columns."""
    lines = [HEAD, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def main() -> int:
    """Run all phases on both databases."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    arguments.add_argument("--only", default="", help="phases whose name has this word")
    arguments.add_argument("--database", choices=BOTH, help="one of the two databases")
    arguments.add_argument("--short", action="store_true", help="as many as in `make test`")
    chosen = arguments.parse_args()
    # On SIGTERM, end the workers and the server first, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stdout.write(f"seed {chosen.seed}\n")
    phases = [
        phase
        for phase in (*MINTING_PHASES, *ARCHIVE_PHASES)
        if chosen.only.lower() in phase.name.lower()
    ]
    rows: list[list[str]] = []
    with PostgresServer() as server, site_factory(server) as sites:
        for kind in [chosen.database] if chosen.database else BOTH:
            for phase in (phase for phase in phases if kind in phase.kinds):
                progress = Progress(f"{phase.name.strip()}, {kind}")
                size = (phase.short or 1) if chosen.short else phase.full
                try:
                    figures = phase.run(sites, kind, size, chosen.seed, progress.report_progress)
                except (Violation, KeyboardInterrupt) as end:
                    what = str(end) or "ended from outside"
                    sys.stdout.write(f"\n{table(rows)}\n\n{phase.name}, {kind}: {what}\n")
                    return 1
                rows.append(row(phase, kind, figures, progress.seconds))
                sys.stderr.write("\r" + " " * 110 + "\r" if sys.stderr.isatty() else "")
                sys.stdout.write("  ".join(rows[-1]) + "\n")
                sys.stdout.flush()
    sys.stdout.write(f"\n{table(rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
