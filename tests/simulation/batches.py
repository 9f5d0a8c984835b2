"""Many worlds at once, as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from simulation.author import scenario_of
from simulation.mutation import Mutation
from simulation.mutations import MUTATIONS
from simulation.world import run

_INTERVAL: Final = 10.0
"""Seconds between two lines of progress."""
Result = tuple[int, str, int, int, float]


def _run(seed: int) -> Result:
    outcome = run(scenario_of(seed))
    violation = outcome.violations[0] if outcome.violations else ""
    return seed, violation, outcome.checks, outcome.messages, outcome.seconds


def failing_seeds(
    first: int, count: int, processes: int, say: Callable[[str], None] | None = None
) -> tuple[list[tuple[int, str]], int, int, float]:
    """Run worlds; return what failed, how many checks and messages, and their time."""
    say = say or _Progress(count).say
    failed: list[tuple[int, str]] = []
    checks = messages = done = 0
    seconds = 0.0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for seed, violation, checked, sent, lived in pool.imap_unordered(
            _run, range(first, first + count), chunksize=4
        ):
            done += 1
            checks, messages, seconds = checks + checked, messages + sent, seconds + lived
            if violation:
                failed.append((seed, violation))
            say(f"{done} worlds, {checks:,} checks, {len(failed)} failed")
    return failed, checks, messages, seconds


def found(mutation: Mutation, first: int = 1) -> tuple[int, str]:
    """Plant a bug; return after how many seeds it was found, and by what."""
    with mutation.planted():
        for number in range(mutation.within):
            _, violation, *_ = _run(first + number)
            if violation:
                return number + 1, violation
    return mutation.within, ""


def _found(task: tuple[int, int]) -> tuple[int, int, str]:
    number, first = task
    return number, *found(MUTATIONS[number], first)


def found_mutations(first: int, processes: int) -> Iterator[tuple[Mutation, int, str]]:
    """Plant every bug; yield each, after how many seeds it was found, and by what."""
    tasks = [(number, first) for number in range(len(MUTATIONS))]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for number, seeds, violation in pool.imap_unordered(_found, tasks):
            yield MUTATIONS[number], seeds, violation


class _Progress:
    """Says how far it is, now and then."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._said = time.monotonic()

    def say(self, what: str) -> None:
        now = time.monotonic()
        if now - self._said > _INTERVAL:
            self._said = now
            sys.stderr.write(f"  {what}, of {self._count}\n")
            sys.stderr.flush()
