"""Real minting services for tests: in a process of their own, or in a thread with a set clock."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Final, Self

import apsw
import uvicorn

from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.web.tokens import Tokens
from ibi.minting.minter import Minter
from ibi.minting.rules.scopes import SCOPES
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from ibi.minting.web.app import minting_app
from ibi.minting.web.metrics import MintingMetrics
from ibi.minting.web.service import MintingService
from tests.support.clients.http import Client
from tests.support.doubles.minting_machine import FakeClock
from tests.support.processes.environment import environment
from tests.support.servers.process import ServerProcess
from tests.support.waiting import wait_until

HOST: Final = "archive.example.org"
IP: Final = "150.163.34.243"


class MintingServer(ServerProcess):
    """`ibi minter serve` in a process of its own, in whose folder everything lies."""

    def __init__(self, folder: Path, *options: str, host: str = HOST) -> None:
        """Get ready to start it."""
        super().__init__("", folder / "log")
        self.folder = folder
        self.ledger = folder / "ledger.sqlite"
        self.options = ["--host", host, "--ledger", str(self.ledger)]
        self.options += ["--listen", "127.0.0.1:0", *options]

    def add_token(self, name: str, scope: str = "mint") -> str:
        """Add a token to its ledger; a server that runs notices within seconds."""
        with closing(SqlLedger(Sqlite(self.ledger))) as ledger:
            return Tokens(ledger, SystemClock(), SCOPES).add(name, scope)

    def start(self) -> Self:
        """Start it, and wait until it is ready."""
        facts = self._launch(["minter", "serve", *self.options], environment(self.folder))
        self.token = facts.get("token", self.token)
        self.address = facts["ready"].removeprefix("minter=")
        return self

    def mark(self) -> int:
        """Return the mark of its ledger."""
        return mark(self.ledger)

    def descriptors(self) -> int:
        """Return how many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208  # only a number

    def threads(self) -> int:
        """Return how many threads it has."""
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208  # only a number


def mark(ledger: Path) -> int:
    """Return the greatest mark of a ledger; 0 if it has none."""
    connection = apsw.Connection(str(ledger), apsw.SQLITE_OPEN_READWRITE)
    try:
        [(found,)] = connection.execute("SELECT coalesce(max(mark), 0) FROM ibi_prefix")
    finally:
        connection.close()
    return int(found)


class StoppedClock(FakeClock):
    """A clock that goes on only when the test says so: whoever sleeps does until then."""

    def sleep(self, nanoseconds: int) -> None:
        """Look at the clock again a moment later."""
        del nanoseconds
        time.sleep(0.001)


class InProcessMintingServer(Client):
    """The service in a thread of this process, with a clock that the test holds."""

    def __init__(self, service: MintingService, clock: StoppedClock, address: str) -> None:
        """Add a token for everything."""
        super().__init__(address, service.tokens.add("first", "administer"))
        self.service = service
        self.clock = clock

    def add_token(self, name: str) -> str:
        """Add a token for minting."""
        return self.service.tokens.add(name, "mint")


@contextmanager
def in_process_minting_server(
    folder: Path, granularity: str, seats: int
) -> Iterator[InProcessMintingServer]:
    """Serve while the block runs."""
    clock = StoppedClock()
    metrics = MintingMetrics()
    minter = Minter(
        Subsystem(HOST),
        SqlLedger(Sqlite(folder / "ledger.sqlite")),
        clock,
        MachineFolder(folder / "machine"),
        granularity=granularity,
    )
    service = MintingService(minter, clock, metrics, seats)
    app = minting_app(service, clock, metrics, "0")
    with socket.create_server(("127.0.0.1", 0)) as listener, minter:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(app, log_config=None))
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        client = InProcessMintingServer(service, clock, address)
        try:
            wait_until(lambda: server.started)
            yield client
        finally:
            client.close()
            server.should_exit = True
            while thread.is_alive():
                # Whoever is still at the desk waits for this clock.
                clock.true += 60 * 10**9
                thread.join(0.05)
