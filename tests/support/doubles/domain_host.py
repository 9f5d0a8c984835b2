"""A host that a resolver does not know yet, for proofs of control over a domain."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Self

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant


class DomainHost:
    """A web server that shows what it is told to."""

    def __init__(self) -> None:
        """Listen."""
        shown: dict[str, str] = {}
        self.shown = shown

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = shown.get(self.path)
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,))
        port: int = self._server.server_address[1]
        self.service = str(Ibip.mount("127.0.0.1", port, Instant(1_700_000_000)))

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
