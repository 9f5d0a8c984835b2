"""A stop of a server does not wait for clients that do not read."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.foundation.processes.server import ServedApp, Server
from ibi.foundation.web import bounded_http
from tests.support.waiting import PATIENCE

LARGE = bytes(32 << 20)
"""An answer that does not fit into the buffers of two sockets."""


@contextmanager
def served(app: Starlette) -> Iterator[tuple[Server, Thread, tuple[str, int]]]:
    """Serve in a thread, and cut requests off as soon as the server stops."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = ServedApp(app, listener).config()
        config.timeout_graceful_shutdown = 0
        is_ready = Event()
        server = Server(config, is_ready.set, lambda: None)
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        assert is_ready.wait(PATIENCE)
        yield server, thread, listener.getsockname()


def test_a_client_whose_connection_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "TAKING_SECONDS", 10 * PATIENCE)
    is_waiting = Event()

    async def large(_: Request) -> Response:
        return Response(LARGE)

    async def endless(_: Request) -> Response:
        is_waiting.set()
        await asyncio.Event().wait()
        return Response()

    app = Starlette(routes=[Route("/large", large), Route("/endless", endless)])
    with (
        served(app) as (server, thread, address),
        socket.create_connection(address, timeout=PATIENCE) as client,
    ):
        client.sendall(
            b"GET /large HTTP/1.1\r\nHost: x\r\n\r\nGET /endless HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        assert is_waiting.wait(PATIENCE)
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()
