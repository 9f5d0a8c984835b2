"""Minting: labels a second, in process, against `uuid.uuid4()` of the standard library."""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from bench.support.goals import at_least
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import Minter
from ibi.minting.rules.distributor import create_date
from ibi.minting.rules.label_generator import LabelGenerator
from ibi.minting.storage.machine_folder import FOLDER
from ibi.minting.wiring import open_minter

CALLS = 200_000
ROUNDS = 11
BATCH = 1000
GRANULARITY = "0.0000001"

_ONE = 0.5
_MANY = 2.0


def in_process() -> list[str]:
    """Mint one at a time and in batches, durable, both forms, on a SQLite ledger."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = str(Path(folder, "machine"))
        with open_minter(
            host="mtc-m19.sid.inpe.br",
            ip="150.163.34.243",
            ledger=Path(folder, "ledger"),
            granularity=GRANULARITY,
        ) as minter:
            return [*_rates(minter), "", *_parts(minter)]


def _rates(minter: Minter) -> list[str]:
    tasks: dict[str, Callable[[], None]] = {
        "`uuid.uuid4()`": lambda: _repeat(uuid.uuid4),
        "`minter.mint()`": lambda: _repeat(minter.mint),
        f"`minter.mint_many({BATCH})`": lambda: _batches(minter),
    }
    seconds = {name: _median(times) for name, times in _times(tasks).items()}
    reference = seconds["`uuid.uuid4()`"]
    limits = dict(zip(tasks, (1.0, _ONE, _MANY), strict=True))
    lines = ["| | labels a second | of `uuid4()` |", "| --- | --- | --- |"]
    for name, needed in seconds.items():
        ratio = reference / needed
        lines.append(f"| {name} | {CALLS / needed:,.0f} | {ratio:.2f} |")
    lines += [
        "",
        *(
            at_least(f"{name}, labels a second, of `uuid4()`", reference / needed, limits[name])
            for name, needed in list(seconds.items())[1:]
        ),
        "",
        (
            f"Wall time, median of {ROUNDS} interleaved rounds of {CALLS:,} labels, both forms, "
            f"granularity {GRANULARITY} s, SQLite with synchronous=FULL; the ledger was written "
            f"about once a second, {minter.health().ledger_latency / 1e6:.1f} ms the last time."
        ),
    ]
    return lines


def _parts(minter: Minter) -> list[str]:
    """Say what limits it: the parts of one `mint()`, measured alone."""
    generator, clock, lock = LabelGenerator(minter.subsystem), SystemClock(), Lock()
    step = int(float(GRANULARITY) * 1e9)
    start = time.time_ns() // step * step
    instants = iter(range(start, start + 100 * CALLS * step, step))

    def read() -> None:
        clock.wall()
        clock.uptime()

    def locked() -> None:
        with lock:
            pass

    tasks: dict[str, Callable[[], None]] = {
        "Algorithm 4": lambda: _repeat(lambda: create_date(start + 12_345_678, start, step)),
        "text of both labels": lambda: _repeat(lambda: generator.label(next(instants))),
        "two clocks": lambda: _repeat(read),
        "lock": lambda: _repeat(locked),
        "a call that does nothing": lambda: _repeat(lambda: None),
    }
    seconds = {name: _median(times) for name, times in _times(tasks).items()}
    lines = ["| part of `mint()` | ns |", "| --- | --- |"]
    lines += [f"| {name} | {taken / CALLS * 1e9:,.0f} |" for name, taken in seconds.items()]
    lines += [
        "",
        (
            "What limits one at a time is the Python of one call, not the ledger. A batch shares "
            "the call, the clocks and most of the text; what is left is one string for each form "
            "and one tuple."
        ),
    ]
    return lines


def _times(tasks: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in tasks}
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, task in tasks.items():
                begin = time.perf_counter()
                task()
                times[name].append(time.perf_counter() - begin)
    finally:
        gc.enable()
    return times


def _repeat(task: Callable[[], object]) -> None:
    for _ in range(CALLS):
        task()


def _batches(minter: Minter) -> None:
    for _ in range(CALLS // BATCH):
        minter.mint_many(BATCH)


def _median(times: list[float]) -> float:
    return statistics.median(times)
