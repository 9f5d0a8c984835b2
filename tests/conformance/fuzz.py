"""`make fuzz`: the standard's grammars, Tcl over pair lists, then coverage-guided fuzzing.

    python -m tests.conformance.fuzz [--count N] [--lists N] [--seed N] [--runs N]

Every number of the run follows from the seed; a string on which we and the standard differ is
printed and ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.vectors import rows

CHUNK: Final = 1_000


def judge_chunk(task: tuple[str, int]) -> str:
    """Judge a chunk of strings; return the first one on which we and the grammar differ."""
    from tests.conformance.test_grammar import judge  # noqa: PLC0415  # each process loads the engine

    table, seed = task
    try:
        judge(table, seed, CHUNK)
    except AssertionError as difference:
        return f"{table}, seed {seed}: {difference}"
    return ""


def tasks(count: int, seed: int) -> Iterator[tuple[str, int]]:
    tables = ("003 Table 6.1", "003 Table 7.1", "004 Table 6.1", "004 Table 6.4")
    for number in range(-(-count // CHUNK)):
        yield tables[number % len(tables)], seed + number


def judge_lists_chunk(seed: int) -> str:
    """Put a chunk of pair lists before Tcl; return the first one that it reads otherwise."""
    from tests.wire.test_message_properties import judge_lists  # noqa: PLC0415  # as above

    try:
        judge_lists(seed, CHUNK)
    except AssertionError as difference:
        return f"pair lists, seed {seed}: {difference}"
    return ""


def judge_all_lists(count: int, seed: int) -> bool:
    seeds = range(seed, seed - (-count // CHUNK))
    with multiprocessing.Pool() as pool:
        differences = [each for each in pool.imap_unordered(judge_lists_chunk, seeds) if each]
    for difference in differences:
        sys.stdout.write(f"differs: {difference}\n")
    lists = len(seeds) * CHUNK
    sys.stdout.write(f"pair lists: {lists:,} each way by Tcl, {len(differences)} disagreements\n")
    return not differences


def judge_all(count: int, seed: int) -> bool:
    chunks = list(tasks(count, seed))
    start = time.monotonic()
    with multiprocessing.Pool() as pool:
        for done, difference in enumerate(pool.imap_unordered(judge_chunk, chunks), 1):
            if difference:
                sys.stdout.write(f"\ndiffers: {difference}\n")
                return False
            left = (time.monotonic() - start) / done * (len(chunks) - done)
            sys.stderr.write(f"\r{done * CHUNK:,} strings judged, {left:.0f} s left ")
    sys.stderr.write("\n")
    sys.stdout.write(f"grammars: {len(chunks) * CHUNK:,} strings, 0 disagreements\n")
    return True


def fuzz_by_coverage(runs: int) -> None:
    """Never returns: the engine exits by itself, with a code of its own for a crash."""
    import atheris  # noqa: PLC0415  # slow to load, and not there on every Python

    with atheris.instrument_imports(include=["ibi"]):
        from tests.attacks.test_text import READERS, read_or_refuse  # noqa: PLC0415
        from tests.wire import test_message_properties as test_wire  # noqa: PLC0415

    def one(data: bytes) -> None:
        read_or_refuse(data.decode("utf-8", "replace"), READERS)
        test_wire.read_or_refuse(data)

    # It begins with real identifiers, and keeps here whatever leads it into new code.
    with tempfile.TemporaryDirectory() as corpus:
        for name in ("identifiers", "messy", "pairs", "legacy_pairs"):
            for number, row in enumerate(rows(name)):
                Path(corpus, f"{name}-{number}").write_text(row[-1], encoding="utf-8")
        atheris.Setup([sys.argv[0], corpus, f"-runs={runs}", "-max_len=600", "-verbosity=0"], one)
        atheris.Fuzz()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=1_000_000, help="strings to judge")
    arguments.add_argument("--lists", type=int, default=100_000, help="pair lists each way")
    arguments.add_argument("--seed", type=int, default=1, help="of the first chunk of strings")
    arguments.add_argument("--runs", type=int, default=300_000, help="coverage-guided runs")
    arguments.add_argument("--by-coverage", action="store_true", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.by_coverage:
        fuzz_by_coverage(chosen.runs)
    if not judge_all(chosen.count, chosen.seed) or not judge_all_lists(chosen.lists, chosen.seed):
        return 1
    command = [
        sys.executable,
        "-m",
        "tests.conformance.fuzz",
        "--by-coverage",
        "--runs",
        str(chosen.runs),
    ]
    crashed = subprocess.run(command, check=False).returncode  # noqa: S603
    sys.stdout.write(
        f"coverage-guided: {chosen.runs:,} runs, {'CRASH' if crashed else 'no crash'}\n"
    )
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
