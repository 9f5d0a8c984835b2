"""Connection pools for threads, to one service, at addresses that the guard allows.

A connection that stalls is given up.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Callable
from http.client import HTTPResponse
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
)

from ibi.errors import ArchiveRequestError, shown
from ibi.foundation.http_client.ssrf_guard import OutboundGuard

WINDOW_SECONDS: Final = 60.0
"""Seconds of waiting after which the progress of an answer is checked."""
MIN_WINDOW_BYTES: Final = 64_000
"""Bytes that must have come in a window."""
MOST_LINES: Final = 1000
"""The largest number of lines in succession, without any part of a body in between."""
_LONGEST_LINE: Final = 1 << 16


class _StallGuard(io.RawIOBase):
    """Reads from a connection, and gives up if it is too slow; only time in reads counts."""

    def __init__(self, raw: io.RawIOBase, clock: Callable[[], float]) -> None:
        super().__init__()
        self._raw = raw
        self._clock = clock
        self._waited = 0.0
        self._come = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401  # whatever has room
        if self._waited >= WINDOW_SECONDS:
            if self._come < MIN_WINDOW_BYTES:
                raise TimeoutError("it sends too slowly")
            self._waited, self._come = 0.0, 0
        began = self._clock()
        count = self._raw.readinto(buffer)
        self._waited += self._clock() - began
        self._come += count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class StallGuardReader(io.BufferedReader):
    """A buffered reader of the bytes of an answer, which raises if they stall."""

    def __init__(self, raw: io.RawIOBase, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(_StallGuard(raw, clock))
        self._lines = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line, limited in length, and limited in the number of lines in succession."""
        self._lines += 1
        if self._lines > MOST_LINES:
            raise ConnectionError("it sends lines without an end")
        return super().readline(_LONGEST_LINE + 1 if size is None or size < 0 else size)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read from the body."""
        self._lines = 0
        return super().read(size)

    def read1(self, size: int = -1, /) -> bytes:
        """Read from the body."""
        self._lines = 0
        return super().read1(size)

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  # whatever has room
        """Read from the body."""
        self._lines = 0
        return super().readinto(buffer)


class StallGuardResponse(HTTPResponse):
    """An HTTP response that is given up if it stalls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as a connection does
        super().__init__(*args, **kwargs)
        self.fp = StallGuardReader(self.fp.detach())


_TIMEOUT: Final = urllib3.Timeout(connect=10, read=60)


class _Connection(HTTPConnection):
    response_class = StallGuardResponse

    def __init__(self, *args: Any, guard: OutboundGuard, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._guard = guard

    def _new_conn(self) -> socket.socket:
        return _connected(self, self._guard)


class _SecureConnection(HTTPSConnection):
    response_class = StallGuardResponse

    def __init__(self, *args: Any, guard: OutboundGuard, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._guard = guard

    def _new_conn(self) -> socket.socket:
        return _connected(self, self._guard)


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def guarded_pool(
    address: str, guard: OutboundGuard, connections: int, tls: ssl.SSLContext | None = None
) -> urllib3.HTTPConnectionPool:
    """Return a pool of connections to an address; it neither retries nor follows redirections."""
    try:
        return _pool(address, guard, connections, tls)
    except (LocationParseError, ValueError):
        msg = f"{shown(address)} is not the address of an archive: its host or port is not valid."
        raise ArchiveRequestError(msg) from None


def _pool(
    address: str, guard: OutboundGuard, connections: int, tls: ssl.SSLContext | None
) -> urllib3.HTTPConnectionPool:
    parts = urlsplit(address)
    host = parts.hostname or ""
    options: dict[str, Any] = {
        "timeout": _TIMEOUT,
        "maxsize": connections,
        "retries": False,
        "guard": guard,
    }
    if parts.scheme.lower() == "https":
        context = tls or ssl.create_default_context()
        return _SecurePool(host, parts.port, ssl_context=context, **options)
    return _Pool(host, parts.port, **options)


def _connected(connection: HTTPConnection, guard: OutboundGuard) -> socket.socket:
    """Look the name up once, and connect to the first of its addresses that is allowed."""
    host = connection.host.strip("[]")
    failure: OSError | None = None
    try:
        places = socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as fault:
        unknown = fault if isinstance(fault, socket.gaierror) else socket.gaierror(str(fault))
        raise NameResolutionError(host, connection, unknown) from fault
    for place in places:
        try:
            peer = guard.socket_to(place)
        except PermissionError:
            continue
        except OSError as fault:  # a machine may not support IPv6
            failure = fault
            continue
        try:
            peer.settimeout(_seconds(connection))
            peer.connect(place[4])
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as fault:
            peer.close()
            failure = fault
        else:
            return peer
    if failure is None:  # no address is allowed, so that another attempt would not help
        msg = (
            f"{shown(host)} is not at a public address: if it is one of yours, "
            "name its network under `allowed_networks` in archive.toml."
        )
        raise ArchiveRequestError(msg)
    if isinstance(failure, TimeoutError):
        raise ConnectTimeoutError(connection, "it takes too long") from failure
    raise NewConnectionError(connection, str(failure)) from failure


def _seconds(connection: HTTPConnection) -> float | None:
    return connection.timeout if isinstance(connection.timeout, int | float) else None
