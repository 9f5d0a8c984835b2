"""Runs many worlds in several processes."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.pool import Pool
from typing import Final

from tests.simulation.planted.all_mutations import MUTATIONS
from tests.simulation.planted.mutation import Mutation
from tests.simulation.scenarios.generator import scenario_of
from tests.simulation.world.world import run

_INTERVAL: Final = 10.0
"""Seconds between two lines of progress."""
Result = tuple[int, str, int, int, float]


@contextmanager
def _workers(count: int) -> Iterator[Pool]:
    """Start worker processes that ignore SIGINT: the parent process handles it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the children inherit it
    try:
        pool = multiprocessing.get_context("spawn").Pool(count)
    finally:
        signal.signal(signal.SIGINT, before)
    with pool:
        yield pool


def _run(seed: int) -> Result:
    try:
        outcome = run(scenario_of(seed))
    except Exception as failure:  # noqa: BLE001  # any failure is reported with its seed
        return seed, f"the simulation itself failed: {failure!r}", 0, 0, 0.0
    violation = outcome.violations[0] if outcome.violations else ""
    return seed, violation, outcome.checks, outcome.messages, outcome.seconds


def failing_seeds(
    first: int, count: int, processes: int, tell: Callable[[int, str], None]
) -> tuple[list[tuple[int, str]], int, int, float]:
    """Run worlds; return the failures, the numbers of checks and messages, and the virtual time.

    `tell` is called at once for each world that fails.
    """
    progress = _Progress(count)
    failed: list[tuple[int, str]] = []
    checks = messages = done = 0
    seconds = 0.0
    with _workers(processes) as pool:
        for seed, violation, checked, sent, lived in pool.imap_unordered(
            _run, range(first, first + count), chunksize=4
        ):
            done += 1
            checks, messages, seconds = checks + checked, messages + sent, seconds + lived
            if violation:
                failed.append((seed, violation))
                tell(seed, violation)
            progress.report(f"{done} worlds, {checks:,} checks, {len(failed)} failed")
    return failed, checks, messages, seconds


def find(mutation: Mutation, first: int = 1) -> tuple[int, str]:
    """Plant a bug; return the number of seeds until it was found, and the violation.

    An exception of the simulation itself is raised, and so is a violation of the same world without
    the bug: neither shows that a judge found the bug.
    """
    for seed in range(first, first + mutation.within):
        with mutation.planted():
            violations = run(scenario_of(seed)).violations
        if violations:
            sound = run(scenario_of(seed)).violations
            if sound:
                msg = f"seed {seed} fails without a planted bug: {sound[0]}"
                raise AssertionError(msg)
            return seed - first + 1, violations[0]
    return mutation.within, ""


def _find(task: tuple[int, int]) -> tuple[int, int, str]:
    number, first = task
    return number, *find(MUTATIONS[number], first)


def find_mutations(first: int, processes: int) -> Iterator[tuple[Mutation, int, str]]:
    """Plant every bug; yield it, the number of seeds until it was found, and the violation."""
    tasks = [(number, first) for number in range(len(MUTATIONS))]
    with _workers(processes) as pool:
        for number, seeds, violation in pool.imap_unordered(_find, tasks):
            yield MUTATIONS[number], seeds, violation


class _Progress:
    """Prints a line of progress at intervals."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._said = time.monotonic()

    def report(self, what: str) -> None:
        now = time.monotonic()
        if now - self._said > _INTERVAL:
            self._said = now
            sys.stderr.write(f"  {what}, of {self._count}\n")
            sys.stderr.flush()
