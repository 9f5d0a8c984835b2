"""A real archive for tests: `ibi archive init` and `ibi archive serve`, in a temporary folder."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

from ibi.adapters.instance import token_of
from minting_server import PATIENCE, Answer, Client, environment

HOST: Final = "archive.example.org"
IP: Final = "150.163.34.243"
API: Final = "/api/v1"
ENVIRONMENT: Final = ("IBI_DATA", "IBI_ARCHIVE", "IBI_TOKEN")
"""Variables of the caller's shell that no test may depend on."""


def free_port() -> int:
    """Return a port that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def archive_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment that knows of no archive but that of the test."""
    found = environment(folder, **more)
    return {name: value for name, value in found.items() if name not in ENVIRONMENT or name in more}


class ArchiveServer(Client):
    """An archive in a process of its own, in whose folder everything lies.

    Labels are minted under `archive.example.org`; the archive is read at the port where it listens.
    """

    def __init__(
        self, folder: Path, *options: str, host: str = HOST, ip: str = IP, rate: int = 1_000_000
    ) -> None:
        """Make the archive; a test asks more in a second than people do."""
        super().__init__(f"http://127.0.0.1:{free_port()}", "")
        self.folder = folder
        self.data = folder / "archive"
        self._log = folder / "log"
        self._said = b""
        self.process: subprocess.Popen[bytes] | None = None
        given = ["--address", self.address, "--listen", urlsplit(self.address).netloc]
        given += ["--host", host, "--name", "Arquivo de prova", *(["--ip", ip] if ip else ())]
        given += ["--administrator", "admin@example.org"]
        made = self.ibi("init", *given, *options)
        assert made.returncode == 0, made.stderr
        self.made = dict(line.split(" ", 1) for line in made.stdout.splitlines())
        self.service = self.made["service"]
        self.token = self.made["token"]
        self.set(requests_a_second=rate)

    def ibi(self, command: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command on this archive, as somebody at its machine does."""
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ibi", "archive", command, "--data", str(self.data), *arguments],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env=archive_environment(self.folder, **more),
        )

    def set(self, **settings: object) -> None:
        """Add to its settings, while it does not run."""
        with (self.data / "archive.toml").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())

    def start(self, *options: str) -> Self:
        """Start it, and wait until it is ready."""
        command = [sys.executable, "-m", "ibi", "archive", "serve", "--data", str(self.data)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [*command, *options],
                stdout=subprocess.PIPE,
                stderr=log,
                env=archive_environment(self.folder),
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

    def open_deposit(self, **wanted: Any) -> str:  # noqa: ANN401  # a description
        """Begin a deposit, and return its id."""
        wanted.setdefault("metadata", {"titles": ["A title"]})
        answer = self.api("POST", "deposits", wanted)
        assert answer.status == 201, answer.body
        return str(answer.json()["id"])

    def send(self, id_: str, path: str, content: bytes, **headers: str) -> Answer:
        """Send a file of a deposit."""
        return self.api("PUT", f"deposits/{id_}/files/{quote(path)}", content, **headers)

    def complete(self, id_: str) -> dict[str, Any]:
        """Complete a deposit."""
        answer = self.api("POST", f"deposits/{id_}/completion")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def deposit(
        self,
        files: Mapping[str, bytes] | None = None,
        **wanted: Any,  # noqa: ANN401  # a description
    ) -> dict[str, Any]:
        """Deposit an item; return what the API says of it."""
        id_ = self.open_deposit(**wanted)
        for path, content in (files or {}).items():
            sent = self.send(id_, path, content)
            assert sent.status == 201, sent.body
        return self.complete(id_)

    def item(self, label: str) -> dict[str, Any]:
        """Return what the API says of an item."""
        answer = self.api("GET", f"items/{label}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def snapshot(self) -> tuple[object, ...]:
        """Return what the archive has, to see that nothing changed."""
        asked = ("items?limit=1000", "history?limit=1000", "reservations", "tokens", "resolvers")
        return (*(self.api("GET", each).json() for each in asked), files_in(self.data / "col"))


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files in a folder, by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def raw(address: str, request: bytes) -> bytes:
    """Send bytes to a server, and return all that it answers until it hangs up."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer


def raw_get(address: str, target: bytes, *headers: bytes) -> bytes:
    """Ask for a target byte for byte, which a lenient client would change; return the answer."""
    lines = [b"GET " + target + b" HTTP/1.1", b"Host: x", b"Connection: close", *headers]
    return raw(address, b"\r\n".join(lines) + b"\r\n\r\n")


def plain(address: str, target: str) -> tuple[int, list[tuple[str, str]], bytes]:
    """Ask as the simplest client does; return status, headers as they came, and body."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()
    finally:
        connection.close()
