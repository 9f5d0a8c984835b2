"""Servers of `socketserver` that run in a thread of the test's process."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Thread
from typing import Self

POLL: float = 0.02
"""Seconds after which a server notices that it is to end."""


class ThreadedServer:
    """Runs a server that listens already, for as long as a block runs."""

    def __init__(self, server: TCPServer) -> None:
        """Take the server; it answers from the beginning of the block on."""
        self._server = server
        self._thread = Thread(target=server.serve_forever, args=(POLL,), daemon=True)
        self.port: int = server.server_address[1]

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and close the listening socket."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class QuietHttpServer(ThreadingHTTPServer):
    """An HTTP server that prints nothing about clients which went away."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing."""


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs no requests."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""
