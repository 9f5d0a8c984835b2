"""CLOCK: a wall clock that is set back and forward.

The workers' limits are narrow, 4 s ahead and 1 s behind and stretches of 50 ms, so that within
minutes every case comes up many times: steps that pass unnoticed, that are waited for, and that are
refused. By default (an hour, 5 s) a clock that was 30 minutes ahead, and is put right, would keep
minting waiting for 30 minutes.
"""

from __future__ import annotations

import time
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from ibi.model.clock import SECOND
from tests.faults.figures import Figures
from tests.faults.minting.twins import FORGETFUL
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import WorkerPool
from tests.faults.sites import ReportProgress, Site

LIMITS: Final = ReservationLimits(stretch=50_000_000, ahead=4 * SECOND, behind=SECOND)
MINUTE: Final = 60 * SECOND
TEN_YEARS: Final = 3653 * 86_400 * SECOND
MILLISECOND: Final = 1_000_000
FURTHEST: Final = 1500 * MILLISECOND


def step_clock(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Four workers, some killed meanwhile, whose clock is set back and forward."""
    waits, refused, years = [0.0], 0, max(2, size // 100)
    with WorkerPool(site, seed, limits=LIMITS, granularities=FINE, rest=0.0005) as pool:
        for slot in range(4):
            pool.start(slot)
        pool.collect_until(lambda: pool.figures.labels > 0, "a first label")
        right = known = labels = 0
        for number in range(1, size + 1):
            if number % (size // years) == 0:
                waits.append(_ten_years(pool, right))
                refused += 1
            if pool.rng.random() < 0.15:
                # Far too late or too early; the next step puts it right.
                far = pool.rng.choice([-1, 1]) * pool.rng.randrange(MINUTE, 300 * MINUTE)
                pool.set_clock(right + far, refused=True)
                refused += 1
            else:
                # Forward a little more than back, or the workers would only wait; and never so far
                # from the last label that an operator must confirm it.
                if pool.figures.labels > labels:
                    known, labels = right, pool.figures.labels
                furthest = pool.rng.choice([1, 6, 20, 50, 50, 300, 1500]) * MILLISECOND
                right += pool.rng.randrange(-furthest, furthest * 5 // 4)
                right = min(max(right, known - FURTHEST), known + FURTHEST)
                pool.set_clock(right)
            pool.collect(pool.rng.uniform(0.02, 0.15))
            if pool.rng.random() < 0.2:
                handle = pool.rng.choice(pool.handles)
                pool.kill(handle)
                pool.start(handle.slot)
            report_progress(
                f"{number} of {size} steps, {refused} refused, {pool.figures.labels:,} labels"
            )
        pool.set_clock(right)
        before = pool.figures.labels
        waits.append(pool.collect_until(lambda: pool.figures.labels > before, "a label at the end"))
    pool.figures.notes = (
        f"{size} steps, {refused} of them refused; {years} x ten years ahead and right again, "
        f"then on after {max(waits):.1f} s at most"
    )
    return pool.figures


def _ten_years(pool: WorkerPool, right: int) -> float:
    """Set the clock ten years ahead and right again; return how long the next label took."""
    before = pool.figures.refusals["ClockAheadError"]
    pool.set_clock(right + TEN_YEARS, refused=True)
    pool.collect_until(
        lambda: pool.figures.refusals["ClockAheadError"] >= before + 8, "a refusal of the clock"
    )
    pool.set_clock(right)
    labels = pool.figures.labels
    return pool.collect_until(lambda: pool.figures.labels > labels, "a label by the right clock")


def step_clock_forgetful(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """The twin of CLOCK: without the ledger's mark, a clock set back gives labels again."""
    with WorkerPool(site, seed, twin=FORGETFUL, limits=LIMITS, granularities=("0.001",)) as pool:
        for number in range(1, size + 1):
            start = time.monotonic_ns()
            handle = pool.start()
            pool.collect_until(lambda handle=handle: handle.given > 3, "labels")  # type: ignore[misc]
            pool.collect(0.2)
            pool.kill(handle)
            # The next worker sees the same time again.
            pool.set_clock(site.control.offset - (time.monotonic_ns() - start))
            report_progress(f"{number} steps back, {pool.figures.labels:,} labels")
            if pool.figures.duplicates:
                break
    return pool.figures
