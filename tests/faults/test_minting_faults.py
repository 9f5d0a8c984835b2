"""The fault suite with small numbers; `make faults` runs the same in full."""

from __future__ import annotations

from typing import Final

import pytest

from tests.faults.minting.phases import MINTING_PHASES
from tests.faults.phase import Phase
from tests.faults.short_runs import short_runs
from tests.faults.sites import SiteFactory

SEED: Final = 1


@pytest.mark.parametrize(("phase", "kind"), short_runs(MINTING_PHASES))
def test_no_label_is_given_twice(sites: SiteFactory, phase: Phase, kind: str) -> None:
    figures = phase.run(sites, kind, phase.short, SEED, lambda _: None)
    if figures.skipped:
        pytest.skip(figures.skipped)
    assert phase.twin or (figures.duplicates, figures.above_mark) == (0, 0)
    assert figures.labels
