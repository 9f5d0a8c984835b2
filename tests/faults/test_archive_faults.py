"""The fault suite of the archive with small numbers; `make faults` runs the same in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from faults.phases import ARCHIVE_PHASES, BOTH, SQLITE, Phase
from faults.sites import Grounds, grounds
from postgres_server import PostgresServer

SEED: Final = 1


@pytest.fixture(scope="module")
def ground(postgres: PostgresServer) -> Iterator[Grounds]:
    with grounds(postgres) as lent:
        yield lent


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        pytest.param(phase, kind, id=f"{phase.name.strip().replace(' ', '-')}-{kind}")
        for kind in BOTH
        for phase in ARCHIVE_PHASES
        # A twin tests the suite, not the database.
        if phase.short and kind in phase.kinds and (kind == SQLITE or not phase.twin)
    ],
)
def test_it_is_there_whole_or_not_at_all(ground: Grounds, phase: Phase, kind: str) -> None:
    figures = phase.run(ground, kind, phase.short, SEED, lambda _: None)
    if figures.skipped:
        pytest.skip(figures.skipped)
    assert bool(figures.found) == phase.twin
    assert figures.labels
