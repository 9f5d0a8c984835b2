"""SNAPSHOT: the whole machine is put back to an earlier moment while its clock is right.

A real one needs a hypervisor. Here the minter's memory, the ledger and the machine's folder are put
back by hand, and the uptime goes on from where it was: all that a restored guest has. What cannot
be noticed: a guest whose wall clock lags like its uptime until it is set.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import Minter
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from ibi.model.clock import SECOND
from tests.faults.figures import Figures, Violation
from tests.faults.minting.ledger_restores import KEEP, PUT
from tests.faults.minting.worker import SUBSYSTEM
from tests.faults.sites import PostgresSite, ReportProgress, Site, SqliteSite

MILLISECOND: Final = 1_000_000
LIMITS: Final = ReservationLimits(stretch=200 * MILLISECOND)
"""Shorter than by default: after a restored snapshot minting waits for a stretch."""


class LaggingClock:
    """The machine's clocks, with an uptime that a restored machine takes up again."""

    def __init__(self) -> None:
        self.lag = 0
        self._system = system = SystemClock()
        self.wall, self.boot, self.sleep = system.wall, system.boot, system.sleep

    def uptime(self) -> int:
        """Return how long this guest has run."""
        return self._system.uptime() - self.lag


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a machine at one moment."""

    uptime: int
    memory: dict[str, Any]
    files: dict[Path, bytes]
    restore_ledger: Callable[[], None]


class Guest:
    """A virtual machine with one minter."""

    def __init__(self, site: Site, rng: random.Random, figures: Figures) -> None:
        self._site = site
        self._rng = rng
        self._figures = figures
        self._seen: set[int] = set()
        self._clock = LaggingClock()
        postgres = isinstance(site, PostgresSite)
        self._ledger = SqlLedger(Postgres(site.ledger) if postgres else Sqlite(site.ledger))
        machine = MachineFolder(site.machine)
        self.minter = Minter(
            SUBSYSTEM, self._ledger, self._clock, machine, granularity="0.001", limits=LIMITS
        )
        self._memory = self.minter._allocator.__dict__  # noqa: SLF001  # what a snapshot holds

    def live(self, nanoseconds: int) -> None:
        """Mint for some nanoseconds, or one call for 0."""
        end = time.time_ns() + nanoseconds
        while not nanoseconds or time.time_ns() < end:
            for label in self.minter.mint_many(self._rng.choice([1, 1, 1, 7])):
                self._figures.labels += 1
                if label.nanoseconds in self._seen:
                    self._figures.duplicates += 1
                    self._figures.examples.append(str(label))
                self._seen.add(label.nanoseconds)
            if not nanoseconds:
                return

    def snapshot(self) -> Snapshot:
        """Take a snapshot."""
        self._ledger.pause()  # so that the files are whole, as they are on a disk that stands still
        files = {path: path.read_bytes() for path in self._site.machine.iterdir()}
        if isinstance(self._site, SqliteSite):
            files |= {path: path.read_bytes() for path in self._site.files if path.exists()}
        self._ledger.resume()
        return Snapshot(self._clock.uptime(), self._memory.copy(), files, self._kept())

    def _kept(self) -> Callable[[], None]:
        # Sometimes the server is another machine, which is not put back with this one.
        site = self._site
        if isinstance(site, SqliteSite) or self._rng.random() < 0.5:
            return lambda: None
        assert isinstance(site, PostgresSite)
        site.script(KEEP.format(name="old"))
        return lambda: site.script(PUT.format(name="old"))

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the machine, with a clock that continues."""
        self._ledger.pause()
        for path, data in snapshot.files.items():
            # In place: an open descriptor of a restored process sees the restored file.
            with path.open("r+b") as file:
                file.write(data)
                file.truncate()
        snapshot.restore_ledger()
        self._memory.clear()
        self._memory.update(snapshot.memory)
        self._clock.lag += self._clock.uptime() - snapshot.uptime
        self._ledger.resume()


def snapshot(
    site: Site, size: int, seed: int, report_progress: ReportProgress, *, careless: bool = False
) -> Figures:
    """Restore a machine to a state 20 ms to 1.5 s ago, repeatedly."""
    rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
    figures = Figures()
    guest = Guest(site, rng, figures)
    with guest.minter, ExitStack() as stack:
        if careless:
            stack.enter_context(patch("ibi.minting.stretch_allocator.is_steady", return_value=True))
            stack.enter_context(patch("ibi.minting.rules.reservation.is_steady", return_value=True))
            stack.enter_context(patch("ibi.minting.minter.JITTER", 1 << 62))
        guest.live(50 * MILLISECOND)
        for number in range(1, size + 1):
            guest.live(rng.randrange(30) * MILLISECOND)
            earlier = guest.snapshot()
            guest.live(rng.choice([20, 100, 300, 1500]) * rng.randrange(SECOND) // 1000)
            time.sleep(0.02)
            guest.restore(earlier)
            guest.live(rng.randrange(30) * MILLISECOND)
            report_progress(f"{number} of {size} restored, {figures.labels:,} labels")
            if figures.duplicates and careless:
                break
            if figures.duplicates:
                raise Violation(f"given twice: {figures.examples[0]} [{site.kind}, seed {seed}]")
    figures.notes = f"put back {number} times"
    return figures


def snapshot_careless(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin of SNAPSHOT: a minter that does not compare the wall clock with the uptime."""
    return snapshot(site, size, seed, report_progress, careless=True)
