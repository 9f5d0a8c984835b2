"""FORK: parent and children with one minter, which the parent had warmed up.

os.fork copies the stretch that the parent holds. The minter notices the fork, and a child reserves
its own; the twin does not notice.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Final

from ibi.minting.minter import Minter
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.stretch_allocator import StretchAllocator
from tests.faults.figures import Figures
from tests.faults.fork_server import exit_with_parent
from tests.faults.minting.worker import Assignment, Worker
from tests.faults.minting.worker_pool import Body, WorkerPool
from tests.faults.sites import ReportProgress, Site

CHILDREN: Final = 3
CALLS: Final = 6
LIMITS: Final = ReservationLimits(stretch=300_000_000)
"""Shorter than by default: four minters on a ledger wait for each other's stretches."""
_ENOUGH: Final = 100_000_000
"""Nanoseconds that must be left of the stretch at the fork."""


def run_family(assignment: Assignment, pipe: Connection) -> None:
    """Mint, fork, and mint with the same minter in all processes; repeatedly."""
    exit_with_parent()
    worker = Worker(assignment, pipe)
    minter = worker.open()
    while True:
        _warm_up(worker, minter)
        children = []
        for _ in range(CHILDREN):
            child = os.fork()
            if not child:
                _run_child(worker, minter)
            children.append(child)
        _work(worker, minter)
        for child in children:
            if os.waitpid(child, 0)[1]:
                raise RuntimeError("a child failed")
        worker.report.send("round")


def run_unnoticed_family(assignment: Assignment, pipe: Connection) -> None:
    """The same with a minter that does not notice the fork."""
    setattr(StretchAllocator, "forget", lambda _: None)  # noqa: B010  # the type checker knows better
    run_family(replace(assignment, twin=""), pipe)


def _warm_up(worker: Worker, minter: Minter) -> None:
    """Mint until a stretch is reserved, which children inherit."""
    mark = 0
    while mark < time.time_ns() + _ENOUGH:
        worker.serve(minter)
        mark = minter.health().mark or 0


def _run_child(worker: Worker, minter: Minter) -> None:
    try:
        _work(worker, minter)
    except BrokenPipeError:
        os._exit(0)  # the suite has closed the pipe
    except BaseException:  # noqa: BLE001  # whatever it is, a child must not become a parent
        traceback.print_exc(file=sys.stderr)
        os._exit(1)
    os._exit(0)


def _work(worker: Worker, minter: Minter) -> None:
    for _ in range(CALLS):
        worker.serve(minter)


def fork(
    site: Site, size: int, seed: int, report_progress: ReportProgress, body: Body = run_family
) -> Figures:
    """Fork a family of four processes, repeatedly."""
    careless = body is run_unnoticed_family
    twin = {"twin": "careless"} if careless else {}
    with WorkerPool(site, seed, granularities=("auto", "0.001"), limits=LIMITS, **twin) as pool:
        handle = pool.start(body=body)
        while handle.rounds < size:
            rounds = handle.rounds
            pool.collect_until(lambda rounds=rounds: handle.rounds > rounds, "a family's end")  # type: ignore[misc]
            report_progress(f"{handle.rounds} of {size} families, {pool.figures.labels:,} labels")
            if careless and pool.figures.duplicates:
                break
    pool.figures.notes = f"{CHILDREN * handle.rounds} children"
    return pool.figures


def fork_careless(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin of FORK."""
    return fork(site, size, seed, report_progress, run_unnoticed_family)
