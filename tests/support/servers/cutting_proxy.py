"""A proxy between a browser and a server, which cuts connections as bad networks do."""

from __future__ import annotations

import socket
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from typing import Final

from tests.support.servers.threaded import ThreadedServer

_PIECE: Final = 65_536


class _Listener(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing."""


class CuttingProxy(ThreadedServer):
    """Forwards bytes to a server, and cuts all connections when it is told."""

    def __init__(self) -> None:
        """Listen; `target` is to be set before the first connection."""
        self.target = ("127.0.0.1", 0)
        self.sent = 0
        """Bytes that clients have sent."""
        self._left: int | None = None
        self._is_closed = False
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        proxy = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                proxy.serve(self.request)

        super().__init__(_Listener(("127.0.0.1", 0), Handler))
        self.address = f"http://127.0.0.1:{self.port}"

    def cut_after(self, count: int) -> None:
        """Cut all connections once, after clients have sent so many more bytes."""
        with self._lock:
            self._left = count

    @property
    def has_cut(self) -> bool:
        """Whether the announced cut is done."""
        return self._left is None

    def close(self) -> None:
        """Cut all connections, and accept no more until `reopen`."""
        self._is_closed = True
        self._cut()

    def reopen(self) -> None:
        """Accept connections again."""
        self._is_closed = False

    def _cut(self) -> None:
        with self._lock:
            open_ones, self._left = list(self._open), None
        for each in open_ones:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve(self, client: socket.socket) -> None:
        """Forward one connection."""
        if self._is_closed:
            return
        with socket.create_connection(self.target) as server:
            with self._lock:
                self._open |= {client, server}
            back = Thread(target=self._forward, args=(server, client), daemon=True)
            back.start()
            self._forward(client, server, is_sent=True)
            back.join()
            with self._lock:
                self._open -= {client, server}

    def _forward(
        self, source: socket.socket, target: socket.socket, *, is_sent: bool = False
    ) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                if is_sent and self._is_last(len(data)):
                    self._cut()
                    return
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def _is_last(self, count: int) -> bool:
        with self._lock:
            self.sent += count
            if self._left is not None:
                self._left -= count
                return self._left <= 0
        return False
