"""How benchmarks measure: CPU time, interleaved with the reference, the least of many rounds."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

ROUNDS = 30


def costs(tasks: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the CPU seconds of each task: the least of many rounds, all tasks in each round.

    Other programs on the machine only ever add time, and they add it to whatever runs just then:
    the least of interleaved rounds is what a task itself costs. The garbage collector rests
    meanwhile, as it does in `timeit`: what it costs depends on what else the process holds.
    """
    least = dict.fromkeys(tasks, float("inf"))
    gc.disable()
    try:
        for _ in range(rounds):
            for name, task in tasks.items():
                start = time.process_time()
                task()
                least[name] = min(least[name], time.process_time() - start)
    finally:
        gc.enable()
    return least


def machine() -> str:
    """Say what machine this is."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in _lines(Path("/proc/cpuinfo"))
            if line.startswith("model name")
        ),
        platform.processor() or platform.machine(),
    )
    python = f"Python {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, {python}"


def today() -> str:
    """Return the date of the run."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _lines(path: Path) -> Iterable[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
