"""DISK: a ledger that cannot be written for a while.

Minting stops with LedgerUnavailableError, gives out nothing that is not covered by the mark, and
goes on by itself, in the same process, when the disk or the server does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from tests.faults.figures import PATIENCE, Figures, Violation
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import WorkerPool
from tests.faults.sites import PostgresSite, ReportProgress, Site, SqliteSite
from tests.faults.sqlite_disks import DISK_FULL, SYNC_FAILS, WORKING, WRITE_FAILS

LIMITS: Final = ReservationLimits(stretch=200_000_000)
STRETCH: Final = 0.3
"""Seconds after which every stretch is used up."""

_TMPFS: Final = "size=2m"


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
    """Fill a real file system, in a mount namespace, so that nothing is left behind."""
    assert isinstance(site, SqliteSite)
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    inside = [
        sys.executable,
        "-m",
        "tests.faults.minting.disk_failures",
        str(site.folder),
        str(size),
        str(seed),
    ]
    done = subprocess.run(  # noqa: S603
        ["unshare", "--mount", *rights, "--", *inside],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE * (size + 1),
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    if done.returncode == NO_MOUNT or "unshare:" in done.stderr:
        return Figures(skipped=f"no file system can be mounted here: {done.stderr.strip()}")
    if done.returncode:
        raise Violation(done.stderr)
    found = json.loads(done.stdout)
    report_progress(f"{size} of {size} times full, {found['labels']:,} labels")
    figures = Figures(labels=found["labels"], notes=f"{size} times full: a real tmpfs of 2 MB")
    figures.refusals.update(found["refusals"])
    return figures


NO_MOUNT: Final = 77


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


def fill_up(ballast: Path, room: int = 0) -> None:
    """Let a file grow until the disk is full, except for `room` bytes."""
    with ballast.open("ab", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            file.truncate(max(0, file.tell() - room))


def main() -> int:
    """Run inside the mount namespace."""
    folder, size, seed = sys.argv[1:]
    disk = Path(folder) / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", _TMPFS, "ibi-faults", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, check=False).returncode:  # noqa: S603
        return NO_MOUNT
    figures = _fill(disk, int(size), int(seed))
    json.dump({"labels": figures.labels, "refusals": figures.refusals}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
