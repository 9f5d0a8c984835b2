"""Work of tests in several fresh processes at once.

Each process is forked from one that has imported the programs and opened nothing. A fork of the
test process itself would share its SQLite locks and database connections.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any

from tests.support.processes.fork_server import PRELOADED


def fresh_processes() -> ForkServerContext:
    """Return the context of such processes, for barriers and the like between them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED, "hypothesis", "pytest"])
    return context


def run_at_once(*works: tuple[Callable[..., None], Any]) -> None:
    """Run each function with its arguments in a process of its own; all have to succeed."""
    context = fresh_processes()
    processes: list[BaseProcess] = [
        context.Process(target=function, args=arguments) for function, arguments in works
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(works)
