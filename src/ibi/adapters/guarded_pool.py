"""Connections to one other service, for threads: only to addresses that the guard allows.

Nor is anybody listened to for ever who does not go on with what he says.
"""

from __future__ import annotations

import socket
import ssl
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

from ibi.adapters.outbound_guard import OutboundGuard
from ibi.adapters.steady_answer import SteadyAnswer
from ibi.errors import ArchiveRequestError, shown

_TIMEOUT: Final = urllib3.Timeout(connect=10, read=60)


class _Connection(HTTPConnection):
    response_class = SteadyAnswer

    def __init__(self, *args: Any, guard: OutboundGuard, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._guard = guard

    def _new_conn(self) -> socket.socket:
        return _connected(self, self._guard)


class _SecureConnection(HTTPSConnection):
    response_class = SteadyAnswer

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
    """Return connections to an http or https address; nothing is tried twice or redirected."""
    try:
        return _pool(address, guard, connections, tls)
    except (LocationParseError, ValueError):
        msg = f"{shown(address)} is not the address of an archive: no host or port is such."
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
        except OSError as fault:  # a machine may know no IPv6
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
    if failure is None:  # it is not a matter of trying again
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
