"""A reader that never rests: one request after the other, on connections that are kept.

As RFC 9110, 9.2.2 and 9.3 allow, it asks again by another connection if one was closed before a
byte of the answer came. Whatever else goes wrong is a failure.
"""

from __future__ import annotations

import socket
from collections import Counter
from threading import Event, Thread
from typing import Self
from urllib.parse import urlsplit

from tests.support.waiting import PATIENCE

_MOST_AGAIN = 50


class CutOffError(Exception):
    """An answer ended before its end."""


class SteadyReader(Thread):
    """Asks for paths in turn, and checks each answer."""

    def __init__(self, address: str, expected: dict[str, bytes], *, cuts: bool = False) -> None:
        """Expect bodies by their paths; that an answer is cut off may be, or is a failure."""
        super().__init__()
        parts = urlsplit(address)
        self._place = (parts.hostname, parts.port)
        self._expected = expected
        self._cuts = cuts
        self._over = Event()
        self._connection: socket.socket | None = None
        self.answered: Counter[str] = Counter()
        self.again = 0
        self.failures: list[str] = []

    def run(self) -> None:
        """Read until it is stopped."""
        while not self._over.is_set():
            for path, body in self._expected.items():
                try:
                    self._read(path, body)
                except (OSError, CutOffError, AssertionError) as failure:
                    self._hang_up()
                    if not (self._cuts and isinstance(failure, CutOffError)):
                        self.failures.append(f"{path}: {failure!r}")
        self._hang_up()

    def _read(self, path: str, expected: bytes) -> None:
        for _ in range(_MOST_AGAIN):
            answer = self._ask(path)
            if answer:
                head, _, body = answer.partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200 "), head
                assert body == expected, body
                self.answered[path] += 1
                return
            self.again += 1
        raise CutOffError

    def _ask(self, path: str) -> bytes:
        """Return the whole answer; nothing if the connection was closed before it began."""
        answer = b""
        try:
            if self._connection is None:
                self._connection = socket.create_connection(self._place, PATIENCE)
            self._connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            while not _is_whole(answer):
                chunk = self._connection.recv(65_536)
                if not chunk:
                    break
                answer += chunk
        except (ConnectionResetError, BrokenPipeError):
            pass
        if not _is_whole(answer):
            self._hang_up()
            if answer:
                raise CutOffError
        elif b"\r\nconnection: close\r\n" in answer.lower():
            self._hang_up()
        return answer

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        """Begin, and have read something."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._over.set()
        self.join(PATIENCE)


def _is_whole(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return bool(found) and len(body) >= int(line.partition(b":")[2])
    return False
