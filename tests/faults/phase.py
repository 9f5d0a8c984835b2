"""A phase of the fault suite: its name, its function, and how often it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from tests.faults.figures import Figures, Violation
from tests.faults.sites import ReportProgress, Site, SiteFactory

PhaseFunction = Callable[[Site, int, int, ReportProgress], Figures]

SQLITE, POSTGRES = "sqlite", "postgres"
BOTH: Final = (SQLITE, POSTGRES)


@dataclass(frozen=True, slots=True)
class Phase:
    """One kind of fault; a twin lacks one safeguard, and its violation must be found."""

    name: str
    function: PhaseFunction
    full: int
    short: int
    """Size in `make test`; 0 leaves the phase out."""
    kinds: tuple[str, ...] = BOTH
    twin: bool = False

    def run(
        self, sites: SiteFactory, kind: str, size: int, seed: int, report_progress: ReportProgress
    ) -> Figures:
        """Run the phase on a new site."""
        with closing(sites.site(kind)) as site:
            figures = self.function(site, size, seed, report_progress)
        caught = figures.duplicates + figures.above_mark or figures.found
        if self.twin and not caught and not figures.skipped:
            raise Violation(
                f"{self.name} on {kind} found nothing: the suite is blind (seed {seed})"
            )
        return figures
