"""A real server on a real socket that delivers the files of one folder, for tests."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Final, Self

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ibi.archive.rules.file_path import check_path
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.archive.web.file_delivery import Content, deliver
from ibi.errors import FileNameError
from ibi.foundation.system.safe_open import open_beneath
from ibi.foundation.web.bounded_http import BoundedHttp
from tests.support.servers.minting import PATIENCE, wait_until

PREFIX: Final = b"/doc/"


def opened_beneath(root: Path, path: str) -> int:
    """Open a file as the archive does."""
    return open_beneath(root, check_path(path).split("/"))


def decoded(raw_path: bytes) -> str:
    """Decode the path of a URL, once; what is not UTF-8 is ISO 8859-1."""
    pieces = raw_path.removeprefix(PREFIX).split(b"%")
    raw = pieces[0]
    for piece in pieces[1:]:
        try:
            raw += bytes([int(piece[:2], 16)]) + piece[2:]
        except ValueError:
            raw += b"%" + piece
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")


def file_app(
    root: Path,
    opened: Callable[[Path, str], int] = opened_beneath,
    more: Callable[[Request, Content], Content] = lambda _, content: content,
) -> Starlette:
    """Deliver what lies in a folder; `more` may say more of a file."""

    async def answer(request: Request) -> Response:
        path = decoded(request.scope["raw_path"])
        try:
            fd = opened(root, path)
        except (FileNameError, OSError, ValueError):
            raise HTTPException(HTTPStatus.NOT_FOUND) from None
        name = path.rpartition("/")[2]
        content = Content(file=LocalFile(fd), name=name)
        return await deliver(request, more(request, content))

    return Starlette(routes=[Route("/{path:path}", answer)])


@contextmanager
def served(
    app: Starlette, protocol: type[HttpToolsProtocol] = BoundedHttp, loop: str = "uvloop"
) -> Iterator[tuple[str, int]]:
    """Serve while the block runs; yield the address."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        config = uvicorn.Config(
            app, http=protocol, loop=loop, log_config=None, server_header=False, lifespan="off"
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


@dataclass(frozen=True)
class Answer:
    """One response as it came over the wire."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def __getitem__(self, name: str) -> str:
        """Return the value of a header, which must be there once."""
        [value] = [value for key, value in self.headers if key == name.lower()]
        return value

    def __contains__(self, name: str) -> bool:
        """Tell whether a header is there."""
        return any(key == name.lower() for key, _ in self.headers)


class Connection:
    """A socket to the server; what it says is read byte by byte, not as a lenient client would."""

    def __init__(self, address: tuple[str, int]) -> None:
        """Connect."""
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self._buffer = bytearray()

    def send(self, path: str | bytes, *headers: str, method: str = "GET") -> None:
        """Send a request."""
        target = path if isinstance(path, bytes) else path.encode("ascii")
        lines = [method.encode() + b" " + target + b" HTTP/1.1", b"Host: archive.example.org"]
        lines += [header.encode("latin-1") for header in headers]
        self.socket.sendall(b"\r\n".join(lines) + b"\r\n\r\n")

    def receive(self, *, bodiless: bool = False) -> Answer:
        """Read one response; a HEAD has no body."""
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = [(name.lower(), value) for name, _, value in (x.partition(": ") for x in lines)]
        status = int(first.split(" ")[1])
        length = int(dict(headers).get("content-length", "0"))
        body = b"" if bodiless or status == HTTPStatus.NOT_MODIFIED else self._take(length)
        return Answer(status, headers, body)

    def ask(self, path: str | bytes, *headers: str, method: str = "GET") -> Answer:
        """Send a request, read its response."""
        self.send(path, *headers, method=method)
        return self.receive(bodiless=method == "HEAD")

    def rest(self) -> bytes:
        """Read until the server hangs up."""
        with suppress(ConnectionError, EOFError):
            while True:
                self._fill()
        return bytes(self._buffer)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._fill()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return bytes(taken)

    def _fill(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError(bytes(self._buffer[:200]))
        self._buffer += data

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def __enter__(self) -> Self:
        """Use it in a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up at its end."""
        self.close()
