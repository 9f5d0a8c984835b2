"""RESTORE: an old copy of the ledger is put back.

What is noticed: the entry was written less often than this minter saw, or than the machine's
folder remembers. Then nothing is given out until the newest ledger is back or an operator confirms;
what a running minter has left of its stretch, a second by default, it still gives out: no other
minter can have that.

What cannot be noticed:
- An old copy when the machine's folder is lost too, or on another machine. Then labels start after
  now, and with a right clock that is after all that were ever given.
- Bytes copied over the files of a database that is in use, which SQLite forbids. SQLite goes on
  with what it has in memory, so the minter goes on after its own last label; what it commits is
  lost at the end of the process, and the next one is refused by the machine's folder.
- An old copy that other minters wrote more often than we saw. They have begun after now, and we go
  on after them.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from tests.faults.figures import Figures, Violation
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import WorkerHandle, WorkerPool
from tests.faults.sites import PostgresSite, ReportProgress, Site, SqliteSite, copy_files

LIMITS: Final = ReservationLimits(stretch=100_000_000)
STRETCH: Final = 0.15
"""Seconds after which every stretch is used up."""

IN_A_ROW: Final = 30
"""Successive refusals that show that the stretch is used up, on a slow machine too."""

NOTICED: Final = ("LedgerRestoredError", "LedgerUnavailableError")

Case = Callable[[WorkerPool], None]


def restore(
    site: Site, size: int, seed: int, report_progress: ReportProgress, cases: tuple[Case, ...] = ()
) -> Figures:
    """Restore old copies in every way, repeatedly; all labels of all cases are compared."""
    cases = cases or (SQLITE if isinstance(site, SqliteSite) else POSTGRES)
    with WorkerPool(site, seed, limits=LIMITS, granularities=FINE, rest=0.002) as pool:
        for number in range(1, size + 1):
            for case in cases:
                case(pool)
                for handle in list(pool.handles):
                    pool.kill(handle)
            done = number * len(cases)
            report_progress(
                f"{done} of {size * len(cases)} restored, {pool.figures.labels:,} labels"
            )
    names = ", ".join(case.__name__.strip("_").replace("_", " ") for case in cases)
    pool.figures.notes = f"{size} times each: {names}"
    return pool.figures


def _busy(pool: WorkerPool) -> WorkerHandle:
    """Start a minter, and wait until it has a stretch."""
    handle = pool.start()
    pool.collect_until(lambda: handle.given > 3, "labels")
    pool.collect(pool.rng.uniform(0.05, STRETCH))
    return handle


def _check_refused(pool: WorkerPool, handle: WorkerHandle) -> None:
    """Check that minting is refused once the stretch is used up."""
    given, before = -1, 0

    def is_refused() -> bool:
        nonlocal given, before
        refused = handle.refusals["LedgerRestoredError"]
        if handle.given > given:
            given, before = handle.given, refused
        return refused - before >= IN_A_ROW

    pool.collect_until(is_refused, "an end of labels, because the ledger was restored,")


def _confirm(pool: WorkerPool, handle: WorkerHandle) -> None:
    pool.site.control.confirms = True
    pool.collect_until(lambda: handle.confirmed, "a confirmation")
    _check_goes_on(pool, handle)


def _check_goes_on(pool: WorkerPool, handle: WorkerHandle) -> None:
    given = handle.given
    pool.collect_until(
        lambda: handle.given > given + 3, "a label on the ledger that is right again"
    )


def _here(pool: WorkerPool) -> SqliteSite:
    assert isinstance(pool.site, SqliteSite)
    return pool.site


def _copy(pool: WorkerPool, name: str) -> Path:
    folder = _here(pool).folder / name
    shutil.rmtree(folder, ignore_errors=True)
    copy_files(_here(pool).files, folder)
    return folder


def _put(pool: WorkerPool, folder: Path) -> None:
    """Replace the files of a ledger that is not in use."""
    for path in (*_here(pool).files, Path(f"{pool.site.ledger}-shm")):
        path.unlink(missing_ok=True)
    for path in folder.iterdir():
        shutil.copyfile(path, _here(pool).folder / path.name)


def _in_place(pool: WorkerPool) -> None:
    """By the backup API of SQLite, while a minter runs."""
    handle = _busy(pool)
    old = _copy(pool, "old")
    pool.collect(STRETCH)
    with (
        closing(sqlite3.connect(old / Path(pool.site.ledger).name)) as source,
        closing(sqlite3.connect(pool.site.ledger, timeout=30)) as target,
    ):
        source.backup(target)
    _check_refused(pool, handle)
    _confirm(pool, handle)


def _renamed(pool: WorkerPool) -> None:
    """By rename, while a minter runs; then the newest is put back the same way."""
    handle = _busy(pool)
    old = _copy(pool, "old")
    pool.collect(STRETCH)
    aside = _here(pool).folder / "aside"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for path in _here(pool).files:
        if path.exists():
            path.rename(aside / path.name)
    for path in old.iterdir():
        path.rename(_here(pool).folder / path.name)
    _check_refused(pool, handle)
    for path in (*_here(pool).files, Path(f"{pool.site.ledger}-shm")):
        path.unlink(missing_ok=True)
    for path in aside.iterdir():
        path.rename(_here(pool).folder / path.name)
    _check_goes_on(pool, handle)


def _overwritten(pool: WorkerPool) -> None:
    """By copying bytes over the open files: see what cannot be noticed, above."""
    handle = _busy(pool)
    old = _copy(pool, "old")
    pool.collect(STRETCH)
    for path in _here(pool).files:
        if (old / path.name).exists():
            path.write_bytes((old / path.name).read_bytes())
    pool.collect(2 * STRETCH)
    pool.kill(handle, counts=False)
    handle = pool.start()
    _check_refused(pool, handle)
    _confirm(pool, handle)


def _between_runs(pool: WorkerPool) -> None:
    """Between two runs of a minter."""
    pool.kill(_busy(pool))
    old = _copy(pool, "old")
    pool.kill(_busy(pool))
    _put(pool, old)
    handle = pool.start()
    _check_refused(pool, handle)
    _confirm(pool, handle)


def _with_the_memory_lost(pool: WorkerPool) -> None:
    """The machine folder is lost too: it cannot be noticed, and only the clock helps."""
    pool.kill(_busy(pool))
    old = _copy(pool, "old")
    pool.kill(_busy(pool))
    _put(pool, old)
    shutil.rmtree(pool.site.machine)
    handle = _busy(pool)
    if any(handle.refusals[reason] for reason in NOTICED):
        raise Violation("there was nothing to notice it by")


SQLITE: Final[tuple[Case, ...]] = (
    _in_place,
    _renamed,
    _overwritten,
    _between_runs,
    _with_the_memory_lost,
)

KEEP: Final = """
LOCK TABLE ibi_prefix IN EXCLUSIVE MODE;
DROP TABLE IF EXISTS {name}_prefix, {name}_sighting;
CREATE TABLE {name}_prefix AS SELECT * FROM ibi_prefix;
CREATE TABLE {name}_sighting AS SELECT * FROM ibi_sighting;
"""
PUT: Final = """
LOCK TABLE ibi_prefix IN EXCLUSIVE MODE;
DELETE FROM ibi_prefix; INSERT INTO ibi_prefix SELECT * FROM {name}_prefix;
DELETE FROM ibi_sighting; INSERT INTO ibi_sighting SELECT * FROM {name}_sighting;
"""


def _there(pool: WorkerPool) -> PostgresSite:
    assert isinstance(pool.site, PostgresSite)
    return pool.site


def _rows(pool: WorkerPool) -> None:
    """The old rows are written back while a minter runs, as a restored dump does; then the new."""
    handle = _busy(pool)
    _there(pool).script(KEEP.format(name="old"))
    pool.collect(STRETCH)
    _there(pool).script(KEEP.format(name="newest") + PUT.format(name="old"))
    _check_refused(pool, handle)
    _there(pool).script(PUT.format(name="newest"))
    _check_goes_on(pool, handle)


def _whole_database(pool: WorkerPool) -> None:
    """An old copy of the database takes its place while a minter runs."""
    handle = _busy(pool)
    _there(pool).copy_database()
    pool.collect_until(
        lambda: handle.refusals["LedgerUnavailableError"] > 0, "the break for the copy"
    )
    _check_goes_on(pool, handle)
    pool.collect(STRETCH)
    _there(pool).swap_in_copy()
    _check_refused(pool, handle)
    _confirm(pool, handle)


def _rows_between_runs(pool: WorkerPool) -> None:
    pool.kill(_busy(pool))
    _there(pool).script(KEEP.format(name="old"))
    pool.kill(_busy(pool))
    _there(pool).script(PUT.format(name="old"))
    handle = pool.start()
    _check_refused(pool, handle)
    _confirm(pool, handle)


def _rows_with_the_memory_lost(pool: WorkerPool) -> None:
    pool.kill(_busy(pool))
    _there(pool).script(KEEP.format(name="old"))
    pool.kill(_busy(pool))
    _there(pool).script(PUT.format(name="old"))
    shutil.rmtree(pool.site.machine)
    handle = _busy(pool)
    if any(handle.refusals[reason] for reason in NOTICED):
        raise Violation("there was nothing to notice it by")


POSTGRES: Final[tuple[Case, ...]] = (
    _rows,
    _rows_between_runs,
    _rows_with_the_memory_lost,
)


def restore_database(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The same with a whole database, which takes the server longer."""
    return restore(site, size, seed, report_progress, (_whole_database,))
