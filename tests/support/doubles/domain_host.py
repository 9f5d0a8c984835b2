"""A host that a resolver does not know yet, for proofs of control over a domain."""

from __future__ import annotations

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from tests.support.servers.threaded import QuietHandler, QuietHttpServer, ThreadedServer


class DomainHost(ThreadedServer):
    """A web server that shows what it is told to."""

    def __init__(self) -> None:
        """Listen."""
        shown: dict[str, str] = {}
        self.shown = shown

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                text = shown.get(self.path)
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write((text or "").encode())

        super().__init__(QuietHttpServer(("127.0.0.1", 0), Handler))
        self.service = str(Ibip.mount("127.0.0.1", self.port, Instant(1_700_000_000)))
