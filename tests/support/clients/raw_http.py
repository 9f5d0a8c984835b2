"""HTTP over a plain socket: responses are read byte by byte, as no lenient client would."""

from __future__ import annotations

import math
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self

from tests.support.waiting import PATIENCE

_KEEP_ALIVE: Final = 5.0
"""Seconds without a request after which a service closes a connection."""


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
        self._address = address
        self._buffer = bytearray()
        self._asked = math.inf
        """When `ask` last sent a request."""
        self._is_answered = False
        """Whether a byte came since then."""

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
        """Send a request, read its response.

        A thread may rest longer on a busy machine than a service keeps an idle connection. Then the
        request is repeated on a new one, as browsers do, unless a byte of an answer came.
        """
        before, self._asked, self._is_answered = self._asked, time.monotonic(), False
        try:
            self.send(path, *headers, method=method)
            return self.receive(bodiless=method == "HEAD")
        except (EOFError, ConnectionError):
            was_idle = time.monotonic() - before >= _KEEP_ALIVE
            if self._is_answered or not was_idle or method not in {"GET", "HEAD"}:
                raise
        self.close()
        self.socket = socket.create_connection(self._address, timeout=PATIENCE)
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
        self._is_answered = True
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
