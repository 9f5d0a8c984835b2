"""Frames of a request that one process forwards to another, and of its answer.

The parsed request is forwarded, not its bytes: a second parser could interpret them differently
from the first.
"""

from __future__ import annotations

import socket
from asyncio import StreamReader
from struct import Struct
from typing import Any, Final

import msgspec
from starlette.types import Scope

_CLOSED_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # where the system has it


class FdChannel:
    """Passes connections between forked processes: each may connect, and one of them accepts.

    It must be created before the processes are forked.
    """

    def __init__(self) -> None:
        self._outside, self._inside = socket.socketpair()
        for end in (self._outside, self._inside):
            end.settimeout(0)

    def connect(self) -> socket.socket:
        """Return a connection to the accepting process; OSError if too many are waiting."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._outside, [b"."], [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return ours

    def fileno(self) -> int:
        """Return the descriptor that is readable when a connection is waiting."""
        return self._inside.fileno()

    def accept(self) -> socket.socket | None:
        """Return the next connection; None if none is waiting."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self._inside, 1, 1, _CLOSED_ON_EXEC)
        except BlockingIOError:
            return None
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        """Close both ends."""
        self._outside.close()
        self._inside.close()


ACCEPTED: Final = b"h"
"""The first byte of the accepting process: it has accepted the connection."""

# Frames of the connecting process:
REQUEST: Final = b"Q"
METRICS: Final = b"N"
"""A request for the metrics of the accepting process, and the answer to it."""
NOTICE: Final = b"M"
"""A message of one process of a service to another, which answers END once it has handled it."""
# Frames of the accepting process:
BODY_WANTED: Final = b"W"
"""The body of the request is wanted: it need not be sent before, or at all (RFC 9110, 10.1.1)."""
START: Final = b"S"
# Frames of both:
BODY: Final = b"B"
END: Final = b"E"

MAX_FRAME: Final = 1 << 20
"""The largest frame in bytes; heads are limited to much less (`bounded_http`), bodies are split."""
_HEAD: Final = Struct(">cI")


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The parsed head of a request."""

    method: str
    http_version: str
    scheme: str
    path: str
    raw_path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    """The address of the client. It is trusted, because only a process of this service sends it."""
    server: tuple[str, int | None] | None

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """Return the head of a request, from its ASGI scope."""
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
        """Return the request as an ASGI scope."""
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
            FORWARDED: True,
        }


class Start(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of an answer."""

    status: int
    headers: list[tuple[bytes, bytes]]


FORWARDED: Final = "ibi.forwarded"
"""A key in the scope of a forwarded request, which the forwarding process logs."""

encode: Final = msgspec.msgpack.Encoder().encode
read_head: Final = msgspec.msgpack.Decoder(Head).decode
read_start: Final = msgspec.msgpack.Decoder(Start).decode


def frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return a frame."""
    return _HEAD.pack(kind, len(content)) + content


def frames(kind: bytes, content: bytes) -> bytes:
    """Return as many frames as the content needs."""
    if len(content) <= MAX_FRAME:
        return frame(kind, content)
    parts = (content[start : start + MAX_FRAME] for start in range(0, len(content), MAX_FRAME))
    return b"".join(frame(kind, part) for part in parts)


async def read_frame(reader: StreamReader) -> tuple[bytes, bytes]:
    """Read a frame; EOFError if the other side is gone, or the frame is not valid."""
    kind, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if length > MAX_FRAME:
        raise EOFError
    return kind, await reader.readexactly(length) if length else b""
