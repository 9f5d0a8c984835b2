"""Simulated worlds hold the invariants, and planted bugs are found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.planted.all_mutations import MUTATIONS
from tests.simulation.planted.mutation import Mutation
from tests.simulation.runner import find
from tests.simulation.scenarios.generator import scenario_of
from tests.simulation.shrinker import minimized, violation_kind
from tests.simulation.world.world import run

ROOT = Path(__file__).parents[2]
QUICK = ("an archive counts a key twice", "a resolver answers not found while an archive is silent")
"""Planted bugs that the first worlds find."""


@pytest.mark.parametrize("seed", range(4))
def test_nothing_happens_that_must_never_be(seed: int) -> None:
    outcome = run(scenario_of(seed, 30))
    assert not outcome.violations, "\n".join(map(str, outcome.lines[-80:]))
    assert outcome.checks > 40


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 200, 10))
def test_nor_does_it_in_longer_worlds(first: int) -> None:
    for seed in range(first, first + 10):
        outcome = run(scenario_of(seed))
        assert not outcome.violations, "\n".join([str(seed), *map(str, outcome.lines[-80:])])


def test_the_same_seed_is_the_same_world_whatever_came_before() -> None:
    first, other, again = (run(scenario_of(seed, 12)) for seed in (5, 6, 5))
    assert list(map(str, again.lines)) == list(map(str, first.lines))
    assert again.digest == first.digest != other.digest


@pytest.mark.long
def test_it_is_the_same_in_a_process_that_hashes_otherwise() -> None:
    line = "from tests.simulation.scenarios.generator import scenario_of; "
    line += "from tests.simulation.world.world import run; "
    line += "print([run(scenario_of(seed)).digest for seed in range(3)])"
    said = [
        subprocess.run(  # noqa: S603  # this very program
            [sys.executable, "-c", line],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] == f"{[run(scenario_of(seed)).digest for seed in range(3)]}\n"


def named(name: str) -> Mutation:
    return next(each for each in MUTATIONS if each.name == name)


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_bug_is_found(name: str) -> None:
    assert find(named(name))[1]


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_every_planted_bug_is_found(mutation: Mutation) -> None:
    seeds, violation = find(mutation)
    assert violation, f"not found in {seeds} seeds"


@pytest.mark.long
def test_a_world_that_fails_is_shrunk_to_what_matters() -> None:
    bug = named(QUICK[0])
    seed, _ = find(bug)
    with bug.planted():
        outcome = run(scenario_of(seed))
        smaller = minimized(outcome)
    assert smaller.violations
    assert violation_kind(smaller) == violation_kind(outcome)
    assert len(smaller.scenario.events) <= 5
    assert {*smaller.scenario.events} < {*outcome.scenario.events}
