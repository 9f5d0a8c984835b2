"""The fault suite of the archive with small numbers; `make faults` runs the same in full."""

from __future__ import annotations

from typing import Final

import pytest

from tests.faults.archive.phases import ARCHIVE_PHASES
from tests.faults.phase import Phase
from tests.faults.short_runs import short_runs
from tests.faults.sites import SiteFactory

SEED: Final = 1


@pytest.mark.parametrize(("phase", "kind"), short_runs(ARCHIVE_PHASES))
def test_it_is_there_whole_or_not_at_all(sites: SiteFactory, phase: Phase, kind: str) -> None:
    figures = phase.run(sites, kind, phase.short, SEED, lambda _: None)
    if figures.skipped:
        pytest.skip(figures.skipped)
    assert bool(figures.found) == phase.twin
    assert figures.labels
