"""The phases that `make test` runs."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.faults.phase import BOTH, SQLITE, Phase


def short_runs(phases: Iterable[Phase]) -> list[object]:
    """Return each phase with a database, as the parameters of a test."""
    return [
        pytest.param(phase, kind, id=f"{phase.name.strip().replace(' ', '-')}-{kind}")
        for kind in BOTH
        for phase in phases
        # A twin tests the suite, not the database.
        if phase.short and kind in phase.kinds and (kind == SQLITE or not phase.twin)
    ]
