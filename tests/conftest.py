"""Shared by all tests."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ibi.minting.storage.machine_folder import FOLDER
from tests.support.extent import FULL
from tests.support.processes.fork_server import extend_transactions
from tests.support.servers.object_store import ObjectServer
from tests.support.servers.postgres import PLACE, PostgresServer

# No example fails because the machine is slow, and none is remembered from another run. `make test`
# tries the same examples every time; `make long` tries new ones, and its command names their seed.
settings.register_profile(
    "tests",
    deadline=None,
    database=None,
    derandomize=not FULL,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


# Tests sync what they write thousands of times, and none of them cuts the power of this machine:
# in memory they wait for no disk, where there is room for what a run leaves behind.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # noqa: S108  # pytest makes a folder of our own there
IN_MEMORY = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
if IN_MEMORY:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

extend_transactions()

# Whoever runs the tests in the background may ignore SIGINT, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests over HTTP, and leave the faults of PostgreSQL to `make long`.

    `make workers` runs the tests over HTTP again; `make faults` runs all faults anyway.
    """
    for item in items:
        if item.path.stem.endswith("_http"):
            item.add_marker(pytest.mark.http)
        if "faults" in item.path.parts and "postgres" in item.name:
            item.add_marker(pytest.mark.long)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say under a failure how the same examples are tried again."""
    seed = config.getoption("--hypothesis-seed")
    if exitstatus and seed is not None:
        terminalreporter.write_line(f"Examples of property tests were drawn by seed {seed}.")


@pytest.fixture(scope="session", autouse=True)
def machine_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test meets the minters of the machine that it runs on, nor is remembered by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(tmp_path_factory.mktemp("machine")))
        yield


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    """One object store for all tests; each has a place of its own in it."""
    with (
        ObjectServer(str(MEMORY) if IN_MEMORY else None) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests; each makes a database of its own."""
    with PostgresServer(str(MEMORY) if IN_MEMORY else PLACE) as server:
        yield server
