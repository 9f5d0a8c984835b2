"""KILL and STOP: processes that are killed or stopped at any point of their work.

Eight workers share one ledger, so their steps interleave. A lone minter reserves a stretch ahead,
which a kill leaves behind: the next one starts after it.
"""

from __future__ import annotations

import signal
import time
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from tests.faults.figures import Figures
from tests.faults.minting.twins import UNDURABLE
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import WorkerHandle, WorkerPool
from tests.faults.sites import ReportProgress, Site

EIGHT: Final = 8
LIFE: Final = (0.005, 0.3)
STRETCH: Final = 1.0
"""Seconds that a lone minter reserves by default."""


def kill_eight(
    site: Site,
    size: int,
    seed: int,
    report_progress: ReportProgress,
    limits: ReservationLimits | None = None,
) -> Figures:
    """Eight workers on one ledger, each killed after 5 to 300 ms and followed by another.

    A quarter of them is killed at any time, some before they have opened the ledger; the others
    that long after their first label, as most would be killed while waiting for it. All
    granularities are fine: else eight workers would mostly wait for each other.
    """
    fine = (*FINE, "0.000000001")
    with WorkerPool(site, seed, limits=limits or ReservationLimits(), granularities=fine) as pool:
        ends: dict[int, float] = {}

        def start(slot: int) -> None:
            handle = pool.start(slot)
            if handle.number % 4 == 0:
                ends[handle.number] = handle.started + pool.rng.uniform(*LIFE)

        for slot in range(EIGHT):
            start(slot)
        while pool.figures.kills < size:
            pool.collect(0.005)
            now = time.monotonic()
            for handle in list(pool.handles):
                if handle.number not in ends and handle.given:
                    ends[handle.number] = now + pool.rng.uniform(*LIFE)
                if ends.get(handle.number, now + 1) <= now:
                    pool.kill(handle)
                    start(handle.slot)
            report_progress(f"{pool.figures.kills} of {size} kills, {pool.figures.labels:,} labels")
        pool.collect_until(
            lambda: len(pool.figures.by_slot) == EIGHT, "a label in each of 8 places"
        )
    pool.figures.notes = f"the least of the eight got {min(pool.figures.by_slot.values())} labels"
    return pool.figures


def kill_eight_short_stretches(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """The same with stretches of 20 ms, so that more kills fall between two reservations."""
    return kill_eight(site, size, seed, report_progress, ReservationLimits(stretch=20_000_000))


def kill_one(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """A lone worker in the middle of its stretch, killed again and again."""
    with WorkerPool(site, seed, rest=0.0002) as pool:
        while pool.figures.kills < size:
            _start_and_kill(pool, pool.rng.uniform(*LIFE))
            report_progress(f"{pool.figures.kills} of {size} kills, {pool.figures.labels:,} labels")
    return pool.figures


def kill_undurable(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin of KILL: a ledger that reports a step as durable, and keeps it in memory."""
    with WorkerPool(site, seed, twin=UNDURABLE, granularities=("0.001",), rest=0.0002) as pool:
        while pool.figures.kills < size and not pool.figures.duplicates:
            # It is killed soon after a whole second, whose short label the next would give again.
            _start_and_kill(pool, 1.1 - time.time() % 1)
            report_progress(f"{pool.figures.kills} of {size} kills, {pool.figures.labels:,} labels")
    return pool.figures


def _start_and_kill(pool: WorkerPool, seconds: float) -> None:
    handle = pool.start()
    pool.collect_until(lambda: handle.ready is not None, "a first label")
    pool.collect(seconds)
    pool.kill(handle)


def stop(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Workers that are stopped, overtaken by others, and go on.

    Mostly one runs alone: it has a stretch of its own when it is stopped, and continues in the
    middle of the stretch of another, or when its own is long over.
    """
    with WorkerPool(site, seed, rest=0.0005) as pool:
        handles = [pool.start(slot) for slot in range(EIGHT)]
        pool.collect_until(
            lambda: all(handle.given for handle in handles), "a label from each of eight"
        )
        running, stops, long = list(handles), 0, 0
        since: dict[int, float] = {}
        while stops < size:
            chosen = pool.rng.sample(handles, pool.rng.choice([1, 1, 1, 2, 3, EIGHT]))
            halted: list[WorkerHandle] = [handle for handle in running if handle not in chosen]
            woken = [handle for handle in chosen if handle not in running]
            now = time.monotonic()
            # In this order: for a moment the old and the new workers both run.
            pool.signal(woken, signal.SIGCONT)
            pool.collect(pool.rng.choice([0.0, 0.05]))
            pool.signal(halted, signal.SIGSTOP)
            long += sum(now - since.pop(handle.number) > STRETCH for handle in woken)
            since |= {handle.number: now for handle in halted}
            running, stops = chosen, stops + len(halted)
            pool.collect(pool.rng.choice([0.05, 0.4, 1.3]) * pool.rng.uniform(0.5, 1.5))
            report_progress(
                f"{stops} of {size} stops, {long} over a second, {pool.figures.labels:,} labels"
            )
        pool.signal(handles, signal.SIGCONT)
        pool.collect(0.2)
    pool.figures.notes = f"{stops} stops, {long} of them longer than a stretch"
    return pool.figures
