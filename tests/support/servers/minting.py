"""Real minting services for tests: in a process of their own, or in a thread with a set clock."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final, Self

import apsw
import urllib3
import uvicorn

from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.web.tokens import Tokens
from ibi.minting.minter import Minter
from ibi.minting.rules.scopes import SCOPES
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import FOLDER, MachineFolder
from ibi.minting.web.app import minting_app
from ibi.minting.web.metrics import MintingMetrics
from ibi.minting.web.service import MintingService
from tests.support.doubles.minting_machine import FakeClock
from tests.support.processes.fork_server import fork

HOST: Final = "archive.example.org"
IP: Final = "150.163.34.243"
LABELS: Final = "/api/v1/labels"
PROBLEM: Final = "application/problem+json"
SETTINGS: Final = ("IBI_HOST", "IBI_IP", "IBI_LEDGER", "IBI_TOKEN")
"""Variables of the caller's shell that no test may depend on."""

PATIENCE: Final = 60.0


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment in which minters meet in a folder of the test."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**kept, FOLDER: str(folder / "machine"), "XDG_DATA_HOME": str(folder / "data"), **more}


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401  # whatever it is
        """Read the body."""
        assert self.headers["content-type"] in {"application/json", PROBLEM}
        return json.loads(self.body)

    def labels(self) -> list[str]:
        """Return the repository names that were minted."""
        assert self.status == 201, self.body
        return [label["rep"] for label in self.json()["labels"]]


class Client:
    """Somebody with a token."""

    def __init__(self, address: str, token: str) -> None:
        """Ask the service at an address."""
        self.address = address
        self.token = token
        self._http = urllib3.PoolManager(maxsize=4, retries=False)

    def ask(  # noqa: PLR0913  # the parts of a request
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; a body that is not of bytes is sent as JSON."""
        sent = dict(headers or {})
        if chosen := self.token if token is None else token:
            sent.setdefault("Authorization", f"Bearer {chosen}")
        if key is not None:
            sent["Idempotency-Key"] = key
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        answer = self._http.request(
            method,
            self.address + path,
            body=data,
            headers=sent,
            timeout=PATIENCE,
            redirect=False,
        )
        return Answer(answer.status, answer.headers, answer.data)

    def mint(self, body: object = None, *, key: str | None = None) -> Answer:
        """Ask for labels."""
        return self.ask("POST", LABELS, body, key=key)

    def state(self) -> dict[str, Any]:
        """Ask how the minter fares."""
        state: dict[str, Any] = self.ask("GET", "/api/v1/subsystem").json()
        return state

    def close(self) -> None:
        """Hang up."""
        self._http.clear()


class MintingServer(Client):
    """`ibi minter serve` in a process of its own, in whose folder everything lies."""

    def __init__(self, folder: Path, *options: str, host: str = HOST) -> None:
        """Get ready to start it."""
        super().__init__("", "")
        self.folder = folder
        self.ledger = folder / "ledger.sqlite"
        self.options = ["--host", host, "--ledger", str(self.ledger)]
        self.options += ["--listen", "127.0.0.1:0", *options]
        self._log = folder / "log"
        self._said = b""

    def add_token(self, name: str, scope: str = "mint") -> str:
        """Add a token to its ledger; a server that runs notices within seconds."""
        with closing(SqlLedger(Sqlite(self.ledger))) as ledger:
            return Tokens(ledger, SystemClock(), SCOPES).add(name, scope)

    def start(self) -> Self:
        """Start it, and wait until it is ready."""
        with self._log.open("ab") as log:
            command = ["minter", "serve", *self.options]
            self.process = fork(command, environment(self.folder), log.fileno())
        said = b""
        while not said.endswith(b"\n") or b"ready " not in said:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                self.kill()
                raise AssertionError(said + self._log.read_bytes())
            said += chunk
        self._said += said
        facts = dict(line.split(" ", 1) for line in said.decode().splitlines())
        self.token = facts.get("token", self.token)
        self.address = facts["ready"].removeprefix("minter=")
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; return its exit code."""
        self.close()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._collect()
        return code

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.close()
        self.process.kill()
        self.process.wait(PATIENCE)
        self._collect()

    def _collect(self) -> None:
        if not self.process.stdout.closed:
            self._said += self.process.stdout.read()
            self.process.stdout.close()

    def log(self) -> str:
        """Return what it wrote to its log."""
        return self._log.read_text("utf-8")

    def said(self) -> str:
        """Return what it wrote to its standard output, as far as it was read."""
        return self._said.decode()

    def mark(self) -> int:
        """Return the mark of its ledger."""
        return mark(self.ledger)

    def descriptors(self) -> int:
        """Return how many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208  # only a number

    def threads(self) -> int:
        """Return how many threads it has."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))  # noqa: PTH208  # only a number

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Kill it, if it is still there."""
        self.kill()


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


def wait_until(is_reached: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not is_reached():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
