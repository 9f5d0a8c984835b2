"""A real archive or resolver for tests: a process of its own, in whose folder everything lies."""

from __future__ import annotations

import json
import os
import re
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final, Self
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from ibi.cli import ibi
from ibi.foundation.system.instance_lock import token_of
from tests.support.processes.fork_server import ForkedProcess, fork
from tests.support.servers.minting import PATIENCE, PROBLEM, Answer, Client, environment
from tests.support.servers.port_reservation import reserved_port

API: Final = "/api/v1"
ENVIRONMENT: Final = ("IBI_DATA", "IBI_RESOLVER", "IBI_ARCHIVE", "IBI_TOKEN")
"""Variables of the caller's shell that no test may depend on."""
WORKERS: Final = os.environ.get("IBI_TEST_WORKERS", "")
"""How many workers each service has, of tests that leave it open (`make workers`)."""


def own_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment that knows of no instance but that of the test."""
    found = environment(folder, **more)
    return {name: value for name, value in found.items() if name not in ENVIRONMENT or name in more}


class ProgramServer(Client):
    """An instance; what is below `part` of the command line makes and serves it."""

    part: ClassVar[str]

    def __init__(self, folder: Path, name: str) -> None:
        """Have nothing yet, but an address and a folder."""
        super().__init__(f"http://127.0.0.1:{reserved_port()}", "")
        self.folder = folder
        self.data = folder / self.part
        self._log = folder / name
        self._said = b""
        self.process: ForkedProcess | None = None
        self.wanted_workers = WORKERS
        self.most_files = 0
        """That its process may open until it asks for more; with 0, as many as ours."""

    def _make(self, *options: str) -> dict[str, str]:
        """Make it, and return what `init` told.

        In this process: the libraries that make tables take long to load.
        """
        given = [self.part, "init", "--data", str(self.data), *options]
        with pytest.MonkeyPatch.context() as patch:
            for name in ENVIRONMENT:
                patch.delenv(name, raising=False)
            for name, value in own_environment(self.folder).items():
                patch.setenv(name, value)
            made = CliRunner().invoke(ibi, given, catch_exceptions=False)
        assert made.exit_code == 0, made.output
        return dict(line.split(" ", 1) for line in made.stdout.splitlines())

    @property
    def place(self) -> str:
        """Where it listens."""
        return urlsplit(self.address).netloc

    def set(self, **settings: object) -> None:
        """Put settings in the place of those that it has, while it does not run."""
        file = self.data / f"{self.part}.toml"
        lines = [
            line
            for line in file.read_text("utf-8").splitlines(keepends=True)
            if line.partition(" = ")[0] not in settings
        ]
        lines += [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        file.write_text("".join(lines), "utf-8")

    def start(self, *options: str) -> Self:
        """Start it, and wait until it is ready."""
        if self.wanted_workers and "--workers" not in options:
            options = (*options, "--workers", self.wanted_workers)
        command = [self.part, "serve", "--data", str(self.data), *options]
        with self._log.open("ab") as log:
            known = own_environment(self.folder)
            self.process = fork(command, known, log.fileno(), self.most_files)
        said = b""
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                self.kill()
                raise AssertionError(said + self._log.read_bytes())
            said += chunk
        self._said += said
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; return its exit code."""
        assert self.process
        self.close()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._collect()
        return code

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.close()
        if self.process:
            workers = self.workers()
            self.process.kill()
            for pid in workers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
            self._collect()

    def workers(self) -> list[int]:
        """Return the processes that its supervisor has started, if it has one."""
        assert self.process
        pid = self.process.pid
        with suppress(FileNotFoundError, ProcessLookupError):
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
            return [int(each) for each in text.split()]
        return []

    def _collect(self) -> None:
        if self.process and not self.process.stdout.closed:
            self._said += self.process.stdout.read()
            self.process.stdout.close()

    def restart(self) -> Self:
        """Stop it and start it again."""
        assert self.stop() == 0
        return self.start()

    def log(self) -> str:
        """Return what it wrote to its log."""
        return self._log.read_text("utf-8")

    def said(self) -> str:
        """Return what it wrote to its standard output, as far as it was read."""
        return self._said.decode()

    @property
    def local_token(self) -> str:
        """The token of those who may read its folder."""
        return token_of(self.data)

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Kill it, if it is still there."""
        self.kill()

    def get(self, path: str, **headers: str) -> Answer:
        """Read something without a token, as readers do."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("GET", path, token="", headers=named)

    def metric(self, name: str) -> float:
        """Return one of the numbers that it tells Prometheus, of all its processes together."""
        lines = self.get("/metrics").body.decode().splitlines()
        found = [line for line in lines if re.match(rf"{name}(?:\{{worker=[^}}]*\}})? ", line)]
        assert found, name
        return sum(float(line.split()[1]) for line in found)

    def api(
        self, method: str, path: str, body: object = None, token: str | None = None, **headers: str
    ) -> Answer:
        """Use the API."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask(method, f"{API}/{path}", body, token=token, headers=named)

    def add_token(self, name: str, scope: str) -> str:
        """Make a token."""
        answer = self.api("POST", "tokens", {"name": name, "scope": scope})
        assert answer.status == 201, answer.body
        return str(answer.json()["secret"])


def refused(answer: Answer, status: int, name: str = "", words: str = "") -> None:
    """Check that an answer is a problem document that says what is wrong."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == PROBLEM
    assert answer.headers["cache-control"] == "no-store"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    if name:
        assert problem["type"] == f"urn:ibi:problem:{name}"
    assert words in problem.get("detail", "")
    assert len(answer.body) < 2000
