"""`python -m tests.simulation`: run thousands of simulated federations, one per seed.

    python -m tests.simulation [--seeds N] [--first S] [--processes N]
    python -m tests.simulation --seed S [--trace] [--shrink] [--planted WORD]
    python -m tests.simulation --mutations

Each world has archives, resolvers, minters, readers and faults; the same seed gives the same world.
A violation is shrunk and printed with its trace, and the exit code is 1. `--mutations` plants one
bug after the other and checks that each is found; `--planted` plants the bug whose name contains
WORD in one world.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from tests.simulation.planted.all_mutations import MUTATIONS
from tests.simulation.runner import failing_seeds, find_mutations
from tests.simulation.scenarios.generator import scenario_of
from tests.simulation.shrinker import minimized
from tests.simulation.world.world import Outcome, run

SEEDS: Final = 2000
_LAST: Final = 60
"""Number of trace lines that are printed for a failure."""
_INTERRUPTED: Final = 130


def formatted_trace(outcome: Outcome, *, whole: bool = False) -> str:
    """Return the trace as text; only its last lines unless `whole`."""
    lines = outcome.lines if whole else outcome.lines[-_LAST:]
    left_out = len(outcome.lines) - len(lines)
    head = [f"... {left_out} lines before"] if left_out else []
    return "\n".join([*head, *map(str, lines)])


def _report_shrunk(what: str) -> None:
    sys.stderr.write(f"  shrunk to {what}\n")


def run_one(seed: int, *, trace: bool, shrink: bool) -> int:
    """Run one world and print its verdict."""
    outcome = run(scenario_of(seed))
    if shrink and outcome.violations:
        outcome = minimized(outcome, _report_shrunk)
        sys.stdout.write("\n".join(map(str, outcome.scenario.events)) + "\n\n")
    if trace or outcome.violations:
        sys.stdout.write(formatted_trace(outcome, whole=trace or shrink) + "\n")
    verdict = outcome.violations[0] if outcome.violations else "nothing that must never be"
    sys.stdout.write(f"seed {seed}: {verdict} ({outcome.checks} checks, {outcome.digest})\n")
    return 1 if outcome.violations else 0


def _planted(word: str) -> AbstractContextManager[None]:
    if not word:
        return nullcontext()
    meant = [each for each in MUTATIONS if word in each.name]
    if len(meant) == 1:
        return meant[0].planted()
    sys.stderr.write(f"{len(meant)} planted bugs have {word!r} in their names. There are:\n")
    sys.exit("\n".join(f"  {each.name}" for each in meant or MUTATIONS))


def _report_failure(seed: int, violation: str) -> None:
    sys.stdout.write(f"seed {seed}: {violation}\n")
    sys.stdout.flush()


def run_many(first: int, count: int, processes: int) -> int:
    """Run many worlds; shrink and print the first that fails."""
    begun = time.monotonic()
    failed, checks, messages, seconds = failing_seeds(first, count, processes, _report_failure)
    took = time.monotonic() - begun
    sys.stdout.write(
        f"{count} seeds from {first} on: {len(failed)} failed; {checks:,} checks, {messages:,} "
        f"messages, {seconds / 86_400:.1f} days of their time in {took:.0f} s\n"
    )
    if failed:
        return run_one(min(failed)[0], trace=False, shrink=True)
    return 0


def run_mutations(first: int, processes: int) -> int:
    """Plant every bug and check that it is found."""
    missed = 0
    for mutation, seeds, violation in find_mutations(first, processes):
        missed += not violation
        verdict = f"{seeds:3} seeds: {violation}" if violation else f"NOT FOUND in {seeds} seeds"
        sys.stdout.write(f"{mutation.name:<60} {verdict}\n")
        sys.stdout.flush()
    return 1 if missed else 0


def main() -> int:
    """Parse the arguments and run."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--seeds", type=int, default=SEEDS, help="how many worlds")
    arguments.add_argument("--first", type=int, default=1, help="the first seed")
    arguments.add_argument("--seed", type=int, help="one world alone")
    arguments.add_argument("--trace", action="store_true", help="show all that happens in it")
    arguments.add_argument("--shrink", action="store_true", help="leave out what does not matter")
    arguments.add_argument("--mutations", action="store_true", help="plant bugs, and find them")
    arguments.add_argument("--planted", default="", help="a word of the bug to plant in it")
    arguments.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    chosen = arguments.parse_args()
    if chosen.seed is None and (chosen.trace or chosen.shrink or chosen.planted):
        arguments.error("--trace, --shrink and --planted are about one world: name its --seed")
    try:
        return _run(chosen)
    except KeyboardInterrupt:
        sys.stderr.write("  interrupted: what is said above is all that was found\n")
        return _INTERRUPTED


def _run(chosen: argparse.Namespace) -> int:
    if chosen.mutations:
        return run_mutations(chosen.first, chosen.processes)
    if chosen.seed is not None:
        with _planted(chosen.planted):
            return run_one(chosen.seed, trace=chosen.trace, shrink=chosen.shrink)
    return run_many(chosen.first, chosen.seeds, chosen.processes)


if __name__ == "__main__":
    sys.exit(main())
