"""DISK: a ledger that cannot be written for a while.

Minting stops with LedgerUnavailableError, gives out nothing that is not covered by the mark, and
goes on by itself, in the same process, when the disk or the server does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from tests.faults.figures import Figures, Violation
from tests.faults.full_disk import fill_up, main_on_small_disk, run_on_small_disk
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import WorkerPool
from tests.faults.sites import PostgresSite, ReportProgress, Site, SqliteSite
from tests.faults.sqlite_disks import DISK_FULL, SYNC_FAILS, WORKING, WRITE_FAILS

LIMITS: Final = ReservationLimits(stretch=200_000_000)
STRETCH: Final = 0.3
"""Seconds after which every stretch is used up."""

_MEGABYTES: Final = 2
"""Size of the disk that is filled."""


def fail_disk(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Let a simulated disk fail: EIO at sync, EIO at write, and ENOSPC."""
    with _two(site, seed, failing_disk=True) as pool:
        for number in range(1, size + 1):
            site.control.fault = pool.rng.choice([SYNC_FAILS, WRITE_FAILS, DISK_FULL])
            _check_stands_still(pool)
            site.control.fault = WORKING
            _check_goes_on(pool)
            report_progress(f"{number} of {size} failures, {pool.figures.labels:,} labels")
    pool.figures.notes = f"{size} failures: EIO at sync, EIO at write, ENOSPC"
    return pool.figures


def stop_server(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """A PostgreSQL server that is stopped, stopped at once, or killed, and comes back."""
    assert isinstance(site, PostgresSite)
    server = site.server
    with _two(site, seed) as pool:
        for number in range(1, size + 1):
            how = pool.rng.choice(["stop", "immediate", "kill"])
            try:
                if how == "kill":
                    server.kill()
                else:
                    server.stop(immediate=how == "immediate")
                _check_stands_still(pool)
            finally:
                server.start()  # other tests need it too
            _check_goes_on(pool)
            report_progress(
                f"{number} of {size} stops of the server, {pool.figures.labels:,} labels"
            )
    pool.figures.notes = f"{size} stops of the server: orderly, immediate, kill"
    return pool.figures


def _two(site: Site, seed: int, *, failing_disk: bool = False) -> WorkerPool:
    """Return a pool of two workers that have given labels."""
    pool = WorkerPool(
        site, seed, limits=LIMITS, granularities=FINE, rest=0.002, failing_disk=failing_disk
    )
    try:
        handles = [pool.start(slot) for slot in range(2)]
        pool.collect_until(lambda: all(handle.given for handle in handles), "a label from both")
    except BaseException as failure:
        pool.__exit__(type(failure))
        raise
    return pool


def _check_stands_still(pool: WorkerPool) -> None:
    """Check that both workers are refused, and give nothing after their stretches."""
    before = {handle.number: handle.refusals["LedgerUnavailableError"] for handle in pool.handles}
    pool.collect_until(
        lambda: all(
            handle.refusals["LedgerUnavailableError"] > before[handle.number]
            for handle in pool.handles
        ),
        "a refusal of the ledger",
    )
    pool.collect(STRETCH)
    labels = pool.figures.labels
    pool.collect(0.1)
    if pool.figures.labels > labels:
        raise Violation(f"{pool.figures.labels - labels} labels without a ledger")


def _check_goes_on(pool: WorkerPool) -> None:
    before = {handle.number: handle.given for handle in pool.handles}
    pool.collect_until(
        lambda: all(handle.given > before[handle.number] for handle in pool.handles),
        "a label from each on the mended ledger",
    )


def fill_disk(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Fill a real file system."""
    figures = run_on_small_disk("tests.faults.minting.disk_failures", site, size, seed)
    if not figures.skipped:
        report_progress(f"{size} of {size} times full, {figures.labels:,} labels")
        figures.notes = f"{size} times full: a real tmpfs of {_MEGABYTES} MB"
    return figures


def _fill(folder: Path, size: int, seed: int) -> Figures:
    """Fill and empty the disk, while two workers mint on it."""
    ballast = folder / "ballast"
    with _two(SqliteSite(folder), seed) as pool:
        for _ in range(size):
            before = pool.figures.refusals["LedgerUnavailableError"]

            def refused(before: int = before) -> bool:
                # Repeatedly: a checkpoint of a ledger that cannot grow frees a little room.
                fill_up(ballast)
                return pool.figures.refusals["LedgerUnavailableError"] > before + 5

            pool.collect_until(refused, "a refusal of the full disk")
            ballast.unlink()
            _check_goes_on(pool)
    return pool.figures


if __name__ == "__main__":
    sys.exit(main_on_small_disk(_MEGABYTES, _fill))
