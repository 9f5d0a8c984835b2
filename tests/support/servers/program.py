"""A real archive or resolver for tests: a process of its own, in whose folder everything lies."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import ClassVar, Final, Self
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from ibi.cli import ibi
from ibi.foundation.system.instance_lock import token_of
from tests.support.clients.browser import PASSWORD, Browser
from tests.support.clients.http import PROBLEM, Answer
from tests.support.processes.environment import ENVIRONMENT, own_environment
from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.process import ServerProcess

API: Final = "/api/v1"
WORKERS: Final = os.environ.get("IBI_TEST_WORKERS", "")
"""How many workers each service has, of tests that leave it open (`make workers`)."""


class ProgramServer(ServerProcess):
    """An instance; what is below `part` of the command line makes and serves it."""

    part: ClassVar[str]

    def __init__(self, folder: Path, name: str) -> None:
        """Have nothing yet, but an address and a folder."""
        super().__init__(f"http://127.0.0.1:{reserved_port()}", folder / name)
        self.folder = folder
        self.data = folder / self.part
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
        self._launch(command, own_environment(self.folder), self.most_files)
        return self

    def restart(self) -> Self:
        """Stop it and start it again."""
        assert self.stop() == 0
        return self.start()

    @property
    def local_token(self) -> str:
        """The token of those who may read its folder."""
        return token_of(self.data)

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

    def signed_in(self, role: str, name: str = "", full_name: str = "") -> Browser:
        """Make an account with a role by an invitation; return a browser that is signed in."""
        made = self.api("POST", "invitations", {"role": role})
        assert made.status == 201, made.body
        browser = Browser(self.address)
        browser.name = name or role
        path = urlsplit(made.json()["link"]).path
        form = browser.get(path)
        assert form.status == 200, form.body
        typed = {"name": browser.name, "full_name": full_name or f"The {role}"}
        passwords = {"password": PASSWORD, "repeated": PASSWORD}
        answer = browser.submit(form, path, {**typed, **passwords})
        assert answer.status == 303, answer.body
        return browser

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
