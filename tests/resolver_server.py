"""A real resolver for tests: `ibi resolver init` and `serve`, in a temporary folder."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlencode, urlsplit

from archive_double import ArchiveDouble
from archive_server import free_port
from ibi.adapters.instance import token_of
from minting_server import PATIENCE, Answer, Client, environment

API: Final = "/api/v1"
SERVICE: Final = "J8LNKB5R7W/3FUQHC5"
"""The label of the resolver service (004, section 4.1)."""
ENVIRONMENT: Final = ("IBI_DATA", "IBI_RESOLVER", "IBI_ARCHIVE", "IBI_TOKEN")
"""Variables of the caller's shell that no test may depend on."""
ADMINISTRATOR: Final = "admin@example.org"


def resolver_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment that knows of no resolver but that of the test."""
    found = environment(folder, **more)
    return {name: value for name, value in found.items() if name not in ENVIRONMENT or name in more}


class ResolverServer(Client):
    """A resolver in a process of its own, in whose folder everything lies.

    Archives may be on this machine, as those of tests are.
    """

    def __init__(self, folder: Path, *options: str, rate: int = 1_000_000) -> None:
        """Make the resolver; a test asks more in a second than people do."""
        super().__init__(f"http://127.0.0.1:{free_port()}", "")
        self.folder = folder
        self.data = folder / "resolver"
        self._log = folder / "resolver.log"
        self._said = b""
        self.process: subprocess.Popen[bytes] | None = None
        given = ["--address", self.address, "--listen", urlsplit(self.address).netloc]
        given += ["--name", "Resolvedor de prova", "--allow-network", "127.0.0.0/8"]
        made = self.ibi("init", *given, *options)
        assert made.returncode == 0, made.stderr
        self.made = dict(line.split(" ", 1) for line in made.stdout.splitlines())
        self.token = self.made["token"]
        self.set(requests_a_second=rate, searches_a_second=rate)

    def ibi(
        self, *arguments: str, stdin: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on this resolver, as somebody at its machine does."""
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ibi", "resolver", *arguments, "--data", str(self.data)],
            capture_output=True,
            text=True,
            check=False,
            input=stdin,
            env=resolver_environment(self.folder, **more),
        )

    def set(self, **settings: object) -> None:
        """Add to its settings, while it does not run."""
        with (self.data / "resolver.toml").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())

    def start(self, *options: str) -> Self:
        """Start it, and wait until it is ready."""
        command = [sys.executable, "-m", "ibi", "resolver", "serve", "--data", str(self.data)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [*command, *options],
                stdout=subprocess.PIPE,
                stderr=log,
                env=resolver_environment(self.folder),
                bufsize=0,
            )
        said = b""
        while not said.endswith(b"\n"):
            assert self.process.stdout
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
            self.process.kill()
            self.process.wait(PATIENCE)
            self._collect()

    def _collect(self) -> None:
        if self.process and self.process.stdout and not self.process.stdout.closed:
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

    def register(self, service: str, **wanted: object) -> str:
        """Register an archive, and return its key."""
        wanted.setdefault("administrator", ADMINISTRATOR)
        answer = self.api("POST", "archives", {"service_ibi": service, **wanted})
        assert answer.status == 201, answer.body
        return str(answer.json()["registration_key"])

    def announce(
        self, archive: ArchiveDouble, key: str, subject: str = "inclusionRequest"
    ) -> Answer:
        """Say in the name of an archive that it is on, or off (004, Table 5.2)."""
        pairs = {
            "servicesubject": subject,
            "archiveaddress": archive.address,
            "archiveserviceibi": archive.service,
            "archiveip": "127.0.0.1",
            "archiveprotocol": "HTTP",
            "archiveplatformversion": "2014:11.09.02.16.15",
            "archiveadmemailaddress": ADMINISTRATOR,
            "registrationkey": key,
        }
        return self.get(f"/{SERVICE}?{urlencode(pairs, quote_via=quote)}")

    def include(self, archive: ArchiveDouble, **wanted: object) -> str:
        """Register an archive and have it included; return its key."""
        key = self.register(archive.service, **wanted)
        answer = self.announce(archive, key)
        assert b"included" in answer.body, answer.body
        return key

    def archives(self) -> dict[str, dict[str, Any]]:
        """Return what its operator sees of the archives, by service."""
        found = self.api("GET", "archives").json()["archives"]
        return {archive["service_ibi"]: archive for archive in found}
