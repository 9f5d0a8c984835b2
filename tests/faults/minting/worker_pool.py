"""Starts minting workers, kills and signals them, and checks every label that a client saw.

Workers are forked from a server process that has imported everything: real processes, with a start
of some milliseconds, each with a minter of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from ibi.minting.rules.label_generator import LabelGenerator
from tests.faults.figures import PATIENCE, Figures, Violation
from tests.faults.fork_server import PRELOADED
from tests.faults.minting import worker
from tests.faults.minting.worker import SUBSYSTEM, Assignment
from tests.faults.sites import Site

Body = Callable[[Assignment, Connection], None]


@dataclass(slots=True)
class WorkerHandle:
    """One worker process, and what a client saw of it."""

    number: int
    slot: int
    process: BaseProcess
    pipe: Connection
    started: float
    rest: bytes = b""
    given: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    ready: int | None = None
    rounds: int = 0
    confirmed: bool = False
    last: dict[str, int] = field(default_factory=dict)
    """The last instant of each process in it: forked children write to the same pipe."""


class WorkerPool:
    """Workers on one ledger; they end with the context."""

    def __init__(self, site: Site, seed: int, **assignment: Any) -> None:  # noqa: ANN401  # fields of Assignment
        """Prepare workers; `assignment` gives fields of Assignment."""
        self.site = site
        self.figures = Figures()
        self.handles: list[WorkerHandle] = []
        self.rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._seed = seed
        self._allows_duplicates = bool(assignment.get("twin"))
        self._assignment = replace(
            Assignment(str(site.ledger), str(site.machine), str(site.control_file), seed),
            **assignment,
        )
        self._seen: dict[int, int] = {}
        self._refused: set[int] = set()
        self._latest = "no worker was refused"
        self._number = 0
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        # The fork server imports by its environment, not by sys.path, which pytest has extended.
        with patch.dict(os.environ, PYTHONPATH=str(Path(__file__).parents[3])):
            forkserver.ensure_running()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for handle in self.handles:
            handle.process.kill()
        while self.handles:
            handle = self.handles.pop()
            handle.process.join(PATIENCE)
            if kind is None:
                self._drain(handle)
                self._judge_mark(handle)
            handle.pipe.close()

    def start(self, slot: int = 0, body: Body = worker.mint) -> WorkerHandle:
        """Start a process."""
        self._number += 1
        reading, writing = self._context.Pipe(duplex=False)
        task = replace(self._assignment, seed=self._seed * 1_000_003 + self._number)
        process = self._context.Process(target=body, args=(task, writing), daemon=True)
        process.start()
        writing.close()
        os.set_blocking(reading.fileno(), False)
        handle = WorkerHandle(self._number, slot, process, reading, time.monotonic())
        self.handles.append(handle)
        return handle

    def kill(self, handle: WorkerHandle, *, counts: bool = True) -> None:
        """Kill a process, and check its labels against the mark of the ledger."""
        handle.process.kill()
        handle.process.join(PATIENCE)
        self._drain(handle)
        handle.pipe.close()
        self.handles.remove(handle)
        self.figures.kills += 1
        if counts:
            self._judge_mark(handle)

    def collect(self, seconds: float) -> None:
        """Read the reports of workers for a time."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            ready = wait([handle.pipe for handle in self.handles], max(0.0, left))
            for handle in [handle for handle in self.handles if handle.pipe in ready]:
                self._listen(handle)
            if left <= 0:
                return

    def collect_until(self, reached: Callable[[], bool], what: str) -> float:
        """Read reports until a condition holds; return the seconds that took."""
        start = time.monotonic()
        while not reached():
            if time.monotonic() - start > PATIENCE:
                raise self._violation(f"{what} did not come within {PATIENCE} s; {self._latest}")
            self.collect(0.005)
        return time.monotonic() - start

    def signal(self, handles: Iterable[WorkerHandle], number: signal.Signals) -> None:
        """Send a signal to processes."""
        for handle in handles:
            if handle.process.pid is not None:
                os.kill(handle.process.pid, number)

    def set_clock(self, offset: int, *, refused: bool = False) -> None:
        """Set the workers' clock; a call that starts and ends by a refused one gives no label."""
        if refused:
            self._refused.add(offset)
        self.site.control.offset = offset

    def _drain(self, handle: WorkerHandle) -> None:
        while self._listen(handle):
            pass

    def _listen(self, handle: WorkerHandle) -> bool:
        """Read a report; False if there is none and never will be."""
        try:
            data = os.read(handle.pipe.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            if handle.process.exitcode not in {None, -signal.SIGKILL, 0}:
                raise self._violation(f"worker {handle.number} failed by itself")
            if handle.process.is_alive():
                time.sleep(0.001)  # it is ending
            return False
        *lines, handle.rest = (handle.rest + data).split(b"\n")
        for line in lines:
            self._hear(handle, line.decode("ascii").split())
        return True

    def _hear(self, handle: WorkerHandle, words: list[str]) -> None:
        match words:
            case ["given", pid, highest, before, after, *instants]:
                self._judge(handle, pid, int(highest), list(map(int, instants)))
                if before == after and int(before) in self._refused and instants:
                    raise self._violation(f"given at a clock {before} ns off: {instants[0]}")
            case ["refused", _, reason, *message]:
                handle.refusals[reason] += 1
                self.figures.refusals[reason] += 1
                self._latest = f"worker {handle.number} said last: {' '.join(message)}"
            case ["ready", _, nanoseconds]:
                handle.ready = int(nanoseconds)
                self.figures.ready.append(handle.ready / 1e9)
            case ["round", _]:
                handle.rounds += 1
            case ["confirmed", _]:
                handle.confirmed = True
            case _:
                raise self._violation(f"worker {handle.number} said {words}")

    def _judge(self, handle: WorkerHandle, pid: str, highest: int, instants: list[int]) -> None:
        """Check that no label is given twice, out of order, or in the future."""
        if not instants:
            return
        handle.given += len(instants)
        self.figures.labels += len(instants)
        self.figures.by_slot[handle.slot] += len(instants)
        for instant in instants:
            other = self._seen.get(instant)
            if other is None:
                self._seen[instant] = handle.number
            if other is not None or instant <= handle.last.get(pid, 0):
                self.figures.duplicates += 1
                where = f"{self._label(instant)}: workers {other} and {handle.number} (pid {pid})"
                self.figures.examples.append(where)
                if not self._allows_duplicates:
                    raise self._violation(f"given twice, or out of order: {where}")
            if instant > highest:
                raise self._violation(f"from the future: {self._label(instant)}, pid {pid}")
            handle.last[pid] = instant

    def _judge_mark(self, handle: WorkerHandle) -> None:
        if handle.last and not self._allows_duplicates:
            mark = self.site.mark()
            latest = max(handle.last.values())
            if latest > mark:
                label = self._label(latest)
                raise self._violation(f"{label} of worker {handle.number} is above the mark {mark}")

    @staticmethod
    def _label(instant: int) -> str:
        return f"{LabelGenerator(SUBSYSTEM).label(instant).rep} ({instant} ns)"

    def _violation(self, what: str) -> Violation:
        return Violation(f"{what} [{self.site.kind}, seed {self._seed}]")
