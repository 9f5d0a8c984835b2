"""A real archive for tests: `ibi archive init` and `ibi archive serve`, in a temporary folder."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final
from urllib.parse import quote, urlsplit

from tests.support.clients.http import Answer
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.program import ProgramServer
from tests.support.values.citable import citable
from tests.support.waiting import PATIENCE

HOST: Final = "archive.example.org"
IP: Final = "150.163.34.243"


class ArchiveServer(ProgramServer):
    """An archive in a process of its own, in whose folder everything lies.

    Labels are minted under `archive.example.org`; the archive is read at the port where it listens.
    """

    part = "archive"

    def __init__(
        self, folder: Path, *options: str, host: str = HOST, ip: str = IP, rate: int = 1_000_000
    ) -> None:
        """Make the archive; a test asks more in a second than people do."""
        super().__init__(folder, "log")
        given = ["--address", self.address, "--listen", self.place]
        given += ["--host", host, "--name", "Arquivo de prova", *(["--ip", ip] if ip else ())]
        given += ["--administrator", "admin@example.org"]
        self.made = self._make(*given, *options)
        self.service = self.made["service"]
        self.token = self.made["token"]
        # The text of a file is extracted by a process of its own, which few tests are about.
        self.set(requests_a_second=rate, full_text=False)

    def ibi(self, command: str, *arguments: str, **more: str) -> CompletedProcess[str]:
        """Run a command on this archive, as somebody at its machine does.

        A deposit is made citable: what its test leaves out is added.
        """
        given = ["archive", *citable([command, *arguments]), "--data", str(self.data)]
        return run(given, own_environment(self.folder, **more))

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


def neighbour(folder: Path, number: int) -> ArchiveServer:
    """Make one of several archives that may ask each other, in a folder of its own."""
    own = folder / str(number)
    own.mkdir()
    archive = ArchiveServer(own, host=f"a{number}.example.org", ip=f"150.163.34.{number}")
    archive.set(allowed_networks=["127.0.0.0/8"])
    return archive


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
