"""A minting process of the fault suite, which reports the labels that it gives through a pipe.

A line of the report is what a client saw. It is one unbuffered write no longer than PIPE_BUF, so a
kill loses it or leaves it whole. Everything else in the worker is lost with it.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from ibi.errors import MintingError
from ibi.foundation.sql.database import Database
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import Minter
from ibi.minting.rules.label_generator import Minted
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import FOLDER, MachineFolder
from tests.faults.fork_server import exit_with_parent
from tests.faults.minting import twins
from tests.faults.sqlite_disks import FailingDisk

SUBSYSTEM: Final = Subsystem(host="faults.example.org", ip="150.163.34.243")
GRANULARITIES: Final = ("auto", "auto", "0.1", "0.01", "0.001", "0.000001", "0.000000001")
FINE: Final = ("auto", "0.001", "0.000001")
BATCHES: Final = (2, 7, 30, 170)

_LONGEST: Final = 180
"""Maximal labels in a line, at 20 bytes each: PIPE_BUF is 4096."""

_PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Assignment:
    """The task of a worker."""

    ledger: str
    """A path, or the URL of a PostgreSQL database."""
    machine: str
    control: str
    seed: int
    granularities: tuple[str, ...] = GRANULARITIES
    limits: ReservationLimits = field(default_factory=ReservationLimits)
    rest: float = 0.0
    """Seconds between two calls, so that a lone minter does not give out millions."""
    twin: str = ""
    """Name of the twin, or "" for the real minter."""
    failing_disk: bool = False


class Control:
    """A shared page of memory by which the suite sets the clock and breaks the disk."""

    _LAYOUT: Final = struct.Struct("<qBB")

    def __init__(self, path: str | Path) -> None:
        with Path(path).open("ab+") as file:
            file.truncate(self._LAYOUT.size)
            self._page = mmap.mmap(file.fileno(), self._LAYOUT.size)

    @property
    def offset(self) -> int:
        """How far the workers' wall clock is from the right time, in nanoseconds."""
        return int.from_bytes(self._page[:8], "little", signed=True)

    @offset.setter
    def offset(self, nanoseconds: int) -> None:
        self._page[:8] = nanoseconds.to_bytes(8, "little", signed=True)

    @property
    def fault(self) -> int:
        """The fault of the disk, one of `sqlite_disks.FAULTS`."""
        return self._page[8]

    @fault.setter
    def fault(self, number: int) -> None:
        self._page[8] = number

    @property
    def confirms(self) -> bool:
        """Whether an operator confirms the ledger and the clock; the worker resets it."""
        return bool(self._page[9])

    @confirms.setter
    def confirms(self, value: bool) -> None:
        self._page[9] = value


class SteppedClock:
    """The machine's clocks, with a wall clock that the suite sets."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self.highest = 0
        """The latest time returned since this was set to 0; no label may be after it."""
        system = SystemClock()
        self.uptime, self.boot, self.sleep = system.uptime, system.boot, system.sleep

    def wall(self) -> int:
        """Return the wall clock of the machine."""
        now = time.time_ns() + self._control.offset
        self.highest = max(self.highest, now)
        return now


class Report:
    """The pipe to the suite."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def send(self, kind: str, *facts: object) -> None:
        """Write one line; BrokenPipeError ends the worker when the pipe is closed."""
        line = " ".join([kind, str(os.getpid()), *map(str, facts)])
        os.write(self._pipe.fileno(), f"{line}\n".encode("ascii"))

    def give(self, labels: list[Minted], highest: int, before: int, after: int) -> None:
        """Report labels, and the clock by which they were given."""
        instants = [label.nanoseconds for label in labels]
        for start in range(0, len(instants), _LONGEST):
            self.send("given", highest, before, after, *instants[start : start + _LONGEST])


class Worker:
    """One minter and its random calls."""

    def __init__(self, assignment: Assignment, pipe: Connection) -> None:
        self._assignment = assignment
        self.report = Report(pipe)
        self.control = Control(assignment.control)
        self._clock = SteppedClock(self.control)
        self._random = random.Random(assignment.seed)  # noqa: S311  # reproducible, not secret
        os.environ[FOLDER] = assignment.machine

    def open(self) -> Minter:
        """Return a minter; retry until the ledger can be opened."""
        while True:
            try:
                return self._opened()
            except MintingError as error:
                self.refuse(error)

    def _opened(self) -> Minter:
        task = self._assignment
        database: Database
        if "://" in task.ledger:
            database = Postgres(task.ledger)
        elif task.failing_disk:
            database = Sqlite(task.ledger, vfs=FailingDisk.named(self.control).name)
        else:
            database = Sqlite(task.ledger)
        ledger, machine = twins.LEDGERS.get(task.twin, SqlLedger), MachineFolder()
        return Minter(
            SUBSYSTEM,
            ledger(database),
            self._clock,
            twins.MACHINES[task.twin](machine) if task.twin in twins.MACHINES else machine,
            granularity=self._random.choice(task.granularities),
            limits=task.limits,
        )

    def serve(self, minter: Minter, *, plain: bool = False) -> bool:
        """Make one call and report its result; False if it gave no label."""
        self._clock.highest = 0
        before = self.control.offset
        try:
            labels = [minter.mint(_PATIENCE)] if plain else self._call(minter)
        except MintingError as error:
            self.refuse(error)
            return False
        self.report.give(labels, self._clock.highest, before, self.control.offset)
        return bool(labels)

    def _call(self, minter: Minter) -> list[Minted]:
        roll = self._random.random()
        if roll < 0.75:
            return [minter.mint(_PATIENCE)]
        if roll < 0.85:
            return minter.mint_many(self._random.choice(BATCHES), _PATIENCE)
        if roll < 0.95:
            return minter.attempt(self._random.choice(BATCHES)) or []
        minter.set_granularity(self._random.choice(self._assignment.granularities))
        return []

    def refuse(self, error: MintingError) -> None:
        """Report a refusal, and pause."""
        self.report.send(
            "refused", type(error).__name__, str(error).encode("ascii", "replace").decode()
        )
        time.sleep(0.005)

    def rest(self) -> None:
        """Sleep for a random time, if the task asks for it."""
        if self._assignment.rest:
            time.sleep(self._random.random() * 2 * self._assignment.rest)


def mint(assignment: Assignment, pipe: Connection) -> None:
    """Mint until killed: the body of a worker process."""
    exit_with_parent()
    worker = Worker(assignment, pipe)
    start = time.monotonic_ns()
    minter = worker.open()
    while not worker.serve(minter, plain=True):
        if worker.control.confirms:
            _confirm(worker, minter)
    worker.report.send("ready", time.monotonic_ns() - start)
    while True:
        worker.serve(minter)
        worker.rest()
        if worker.control.confirms:
            _confirm(worker, minter)


def _confirm(worker: Worker, minter: Minter) -> None:
    worker.control.confirms = False
    minter.confirm()
    worker.report.send("confirmed")
