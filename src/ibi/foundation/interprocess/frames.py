"""A request that one process hands on to another, and its answer, as frames.

What was read of a request is handed on as it was read: no second parser sees its bytes, which
could take them for something else than the first.
"""

from __future__ import annotations

import socket
from asyncio import StreamReader
from struct import Struct
from typing import Any, Final

import msgspec
from starlette.types import Scope

_CLOSED_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # where there is such a thing


class FdChannel:
    """Made before processes are forked; each of them may ring, and one of them answers."""

    def __init__(self) -> None:
        """Hang it."""
        self._outside, self._inside = socket.socketpair()
        for end in (self._outside, self._inside):
            end.settimeout(0)

    def ring(self) -> socket.socket:
        """Return a connection to who will answer; OSError if too many wait at the door."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._outside, [b"."], [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return ours

    def fileno(self) -> int:
        """Return what can be read from when somebody rings."""
        return self._inside.fileno()

    def answer(self) -> socket.socket | None:
        """Return the connection to who rang; None if nobody does."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self._inside, 1, 1, _CLOSED_ON_EXEC)
        except BlockingIOError:
            return None
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        """Take it down."""
        self._outside.close()
        self._inside.close()


HERE: Final = b"h"
"""The first byte of all: somebody came to the door."""

# Of who rings:
REQUEST: Final = b"Q"
NUMBERS: Final = b"N"
"""Asks for the metrics of who answers, and is the answer to that."""
# Of who answers:
WANTED: Final = b"W"
"""The body of the request is wanted: nobody need send it before, or at all (RFC 9110, 10.1.1)."""
START: Final = b"S"
# Of both:
BODY: Final = b"B"
END: Final = b"E"

LARGEST: Final = 1 << 20
"""Bytes of a frame; heads are bounded to much less (`bounded_http`), and bodies are divided."""
_HEAD: Final = Struct(">cI")


class Head(msgspec.Struct, frozen=True, array_like=True):
    """What was read of a request before its body."""

    method: str
    http_version: str
    scheme: str
    path: str
    raw_path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    """Who is connected. It is believed: only a process of ours can say it."""
    server: tuple[str, int | None] | None

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """Write down a request."""
        client, server = scope.get("client"), scope.get("server")
        return cls(
            scope["method"],
            scope["http_version"],
            scope["scheme"],
            scope["path"],
            scope["raw_path"],
            scope["query_string"],
            [(bytes(name), bytes(value)) for name, value in scope["headers"]],
            tuple(client) if client else None,
            tuple(server) if server else None,
        )

    def scope(self) -> dict[str, Any]:
        """Return it as an application takes it."""
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": self.method,
            "http_version": self.http_version,
            "scheme": self.scheme,
            "path": self.path,
            "raw_path": self.raw_path,
            "query_string": self.query,
            "root_path": "",
            "headers": self.headers,
            "client": self.client,
            "server": self.server,
            "state": {},
            HANDED_ON: True,
        }


class Start(msgspec.Struct, frozen=True, array_like=True):
    """What an answer begins with."""

    status: int
    headers: list[tuple[bytes, bytes]]


HANDED_ON: Final = "ibi.handed_on"
"""Stands in the scope of a request that came by another process, which has it in its log."""

encode: Final = msgspec.msgpack.Encoder().encode
read_head: Final = msgspec.msgpack.Decoder(Head).decode
read_start: Final = msgspec.msgpack.Decoder(Start).decode


def frame(kind: bytes, content: bytes = b"") -> bytes:
    """Write a frame."""
    return _HEAD.pack(kind, len(content)) + content


def frames(kind: bytes, content: bytes) -> bytes:
    """Write as many frames as a content needs."""
    if len(content) <= LARGEST:
        return frame(kind, content)
    parts = (content[start : start + LARGEST] for start in range(0, len(content), LARGEST))
    return b"".join(frame(kind, part) for part in parts)


async def read_frame(reader: StreamReader) -> tuple[bytes, bytes]:
    """Read a frame; EOFError if the other side is gone, or does not speak like this."""
    kind, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if length > LARGEST:
        raise EOFError
    return kind, await reader.readexactly(length) if length else b""
