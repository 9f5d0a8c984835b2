"""POWER: what a power loss leaves of a SQLite ledger, at any point of its work.

The disk, `sqlite_disks.PowerLossDisk`, knows which sectors were synced. At random moments, before a
write or a sync, a power loss is computed: the files as they would be found. Their mark must cover
every label that had been given out by then. Now and then the loss takes place: minting goes on from
what is left, on a machine that has started anew and remembers nothing.
"""

from __future__ import annotations

import random
import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from ibi.errors import LedgerUnavailableError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import Minter
from ibi.minting.rules.label_generator import Minted
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from tests.faults.figures import Figures, Violation
from tests.faults.minting.worker import SUBSYSTEM
from tests.faults.sites import NOTHING, ReportProgress, Site, SqliteSite, mark_of
from tests.faults.sqlite_disks import PowerLossDisk

LIMITS: Final = ReservationLimits(stretch=3_000_000)
"""3 ms: most labels come with a durable step of their own."""


class BusySqlite(Sqlite):
    """Checkpoints often, so that power losses fall into checkpoints too."""

    pragma = "PRAGMA wal_autocheckpoint = 30"

    def _open(self) -> apsw.Connection:
        connection = super()._open()
        connection.execute(self.pragma)
        return connection


class CarelessSqlite(BusySqlite):
    """Does not sync."""

    pragma = "PRAGMA synchronous = OFF"


class RestartedClock:
    """The machine's clocks, with a boot id for each start."""

    def __init__(self) -> None:
        self.starts = 1
        system = SystemClock()
        self.wall, self.uptime, self.sleep = system.wall, system.uptime, system.sleep

    def boot(self) -> str:
        """Return the id of this start of the machine."""
        return f"run {self.starts}"


class PowerLossRun:
    """One machine on one disk, and the power losses that are computed for it."""

    def __init__(self, site: SqliteSite, seed: int, sqlite: type[Sqlite]) -> None:
        self.figures = Figures()
        self.losses = self.restarts = self.worst = 0
        self._site = site
        self._seed = seed
        self._sqlite = sqlite
        self._rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
        self._clock = RestartedClock()
        self._disk = PowerLossDisk(f"powered-{secrets.token_hex(4)}", self._watch)
        self._given: list[int] = []
        self._countdown = 1
        self._found: list[tuple[int, dict[str, bytes]]] = []
        self.minter = self._open()

    def _open(self) -> Minter:
        database = self._sqlite(self._site.ledger, vfs=self._disk.name)
        machine = MachineFolder(self._site.machine)
        return Minter(SUBSYSTEM, SqlLedger(database), self._clock, machine, limits=LIMITS)

    def _watch(self) -> None:
        """Compute a power loss every few writes."""
        self._countdown -= 1
        if not self._countdown:
            self._countdown = self._rng.randrange(1, 40)
            self._found.append((len(self._given), self._disk.survivors(self._rng)))

    def work(self) -> None:
        """Mint, sometimes while syncs fail, and sometimes after an orderly end."""
        roll = self._rng.random()
        self._disk.syncs_fail = roll < 0.03
        try:
            self._give(self.minter.mint_many(self._rng.choice([1, 1, 1, 20])))
        except LedgerUnavailableError:
            self.figures.refusals["LedgerUnavailableError"] += 1
        self._disk.syncs_fail = False
        if roll > 0.98:
            self.minter.close()
            self.minter = self._open()

    def _give(self, labels: list[Minted]) -> None:
        for label in labels:
            self.figures.labels += 1
            if self._given and label.nanoseconds <= self._given[-1]:
                raise Violation(f"given twice, or out of order: {label} [seed {self._seed}]")
            self._given.append(label.nanoseconds)

    def judge(self) -> None:
        """Compare the mark after each computed loss with the labels given before it."""
        found, self._found = self._found, []
        for given, files in found:
            latest = self._given[given - 1] if given else NOTHING
            ledger = self._lay_out(files)
            try:
                with closing(sqlite3.connect(ledger)) as connection:
                    verdict = connection.execute("PRAGMA quick_check").fetchone()[0]
                mark = mark_of(ledger)
            except sqlite3.DatabaseError as failure:
                verdict, mark = str(failure), NOTHING
            self.losses += 1
            lost = verdict != "ok" or mark < latest
            self.worst += lost
            if self._sqlite is CarelessSqlite:
                continue
            if lost:
                what = f"{latest} was given, {mark} is the mark, and the check says {verdict}"
                raise Violation(f"after a power loss: {what} [seed {self._seed}]")
            if self._rng.random() < 0.05:
                self._restart(files)
                del self._given[given:]  # what was given after the loss never was
                return  # nor were the losses after it

    def _lay_out(self, files: dict[str, bytes]) -> Path:
        folder = self._site.folder / "survivors"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, data in files.items():
            (folder / Path(path).name).write_bytes(data)
        return folder / Path(self._site.ledger).name

    def _restart(self, files: dict[str, bytes]) -> None:
        """Restart the machine from what the loss left."""
        self.restarts += 1
        self._clock.starts += 1
        self.minter.close()
        shutil.rmtree(self._site.machine)
        for file in self._site.folder.glob("ledger.db*"):
            file.unlink()
        self._disk.images.clear()
        for path, data in files.items():
            Path(path).write_bytes(data)
            self._disk.adopt(path, data)
        self.minter = self._open()
        self._found = []


def lose_power(
    site: Site,
    size: int,
    seed: int,
    report_progress: ReportProgress,
    sqlite: type[Sqlite] = BusySqlite,
) -> Figures:
    """Compute `size` power losses."""
    assert isinstance(site, SqliteSite)
    run = PowerLossRun(site, seed, sqlite)
    figures = run.figures
    while run.losses < size:
        run.work()
        run.judge()
        report_progress(f"{run.losses} of {size} power losses, {figures.labels:,} labels")
        if sqlite is CarelessSqlite and run.worst:
            break
    run.minter.close()
    figures.above_mark = run.worst
    figures.notes = f"{run.losses} losses, {run.restarts} restarts from the remains"
    return figures


def lose_power_careless(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """The twin of POWER: a ledger that does not sync."""
    return lose_power(site, size, seed, report_progress, CarelessSqlite)
