"""`python -m tests.simulation`: thousands of worlds, each by its seed.

    python -m tests.simulation [--seeds N] [--first S] [--processes N]
    python -m tests.simulation --seed S [--trace] [--shrink] [--planted WORD]
    python -m tests.simulation --mutations

Each world has archives, resolvers, minters, readers and everything that can go wrong; the same
seed is the same world. A violation is printed, shrunk, with its trace, and ends with exit code 1.
`--mutations` plants a bug in each rule, one after the other, and sees that it is found; `--planted`
plants the one whose name has a word, in one world.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from tests.simulation.planted.all_mutations import MUTATIONS
from tests.simulation.runner import failing_seeds, found_mutations
from tests.simulation.scenarios.generator import scenario_of
from tests.simulation.shrinker import shrunk
from tests.simulation.world.world import Outcome, run

SEEDS: Final = 2000
_LAST: Final = 60
"""Lines of a trace that are shown of a failure."""
_INTERRUPTED: Final = 130


def shown(outcome: Outcome, *, whole: bool = False) -> str:
    """Write what happened, the end of it at the least."""
    lines = outcome.lines if whole else outcome.lines[-_LAST:]
    left_out = len(outcome.lines) - len(lines)
    head = [f"... {left_out} lines before"] if left_out else []
    return "\n".join([*head, *map(str, lines)])


def _tell(what: str) -> None:
    sys.stderr.write(f"  shrunk to {what}\n")


def one(seed: int, *, trace: bool, shrink: bool) -> int:
    """Run one world, and show what happened."""
    outcome = run(scenario_of(seed))
    if shrink and outcome.violations:
        outcome = shrunk(outcome, _tell)
        sys.stdout.write("\n".join(map(str, outcome.scenario.events)) + "\n\n")
    if trace or outcome.violations:
        sys.stdout.write(shown(outcome, whole=trace or shrink) + "\n")
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


def _tell_failure(seed: int, violation: str) -> None:
    sys.stdout.write(f"seed {seed}: {violation}\n")
    sys.stdout.flush()


def many(first: int, count: int, processes: int) -> int:
    """Run many worlds."""
    begun = time.monotonic()
    failed, checks, messages, seconds = failing_seeds(first, count, processes, _tell_failure)
    took = time.monotonic() - begun
    sys.stdout.write(
        f"{count} seeds from {first} on: {len(failed)} failed; {checks:,} checks, {messages:,} "
        f"messages, {seconds / 86_400:.1f} days of their time in {took:.0f} s\n"
    )
    if failed:
        return one(min(failed)[0], trace=False, shrink=True)
    return 0


def mutations(first: int, processes: int) -> int:
    """Plant every bug, and see that it is found."""
    missed = 0
    for mutation, seeds, violation in found_mutations(first, processes):
        missed += not violation
        verdict = f"{seeds:3} seeds: {violation}" if violation else f"NOT FOUND in {seeds} seeds"
        sys.stdout.write(f"{mutation.name:<60} {verdict}\n")
        sys.stdout.flush()
    return 1 if missed else 0


def main() -> int:
    """Do what the arguments ask for."""
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
        return _done(chosen)
    except KeyboardInterrupt:
        sys.stderr.write("  interrupted: what is said above is all that was found\n")
        return _INTERRUPTED


def _done(chosen: argparse.Namespace) -> int:
    if chosen.mutations:
        return mutations(chosen.first, chosen.processes)
    if chosen.seed is not None:
        with _planted(chosen.planted):
            return one(chosen.seed, trace=chosen.trace, shrink=chosen.shrink)
    return many(chosen.first, chosen.seeds, chosen.processes)


if __name__ == "__main__":
    sys.exit(main())
