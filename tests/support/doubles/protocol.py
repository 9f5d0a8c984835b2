"""What the doubles of archive and resolver share: requests are recorded, answers sent or spoilt."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from threading import Condition, Event
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.threaded import QuietHandler, QuietHttpServer, ThreadedServer
from tests.support.waiting import PATIENCE


class ProtocolDouble(ThreadedServer):
    """A server of the protocol of 004; `behaviour` makes it something worse."""

    def __init__(
        self,
        handler: type[ProtocolHandler],
        behaviour: str,
        address: tuple[str, int],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Listen; port 0 stands for a reserved one."""
        host, port = address
        server = QuietHttpServer(
            (host, port or reserved_port()), type("Handler", (handler,), {"double": self})
        )
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        super().__init__(server)
        self.behaviour = behaviour
        self.queries: list[dict[str, str]] = []
        """What it was asked, each pair by its name."""
        self.headers: list[dict[str, str]] = []
        """The headers of each request, in lower case."""
        self.released = Event()
        """When it is set, whatever hangs ends; what was held back is said."""
        self._asked = Condition()

    def __exit__(self, *reason: object) -> None:
        """Release hanging requests, and close."""
        self.released.set()
        super().__exit__(*reason)

    @property
    def subjects(self) -> list[str]:
        """What it was asked for, in order."""
        return [query.get("servicesubject", "") for query in self.queries]

    def asked(self, is_reached: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is looked at with every request."""
        with self._asked:
            assert self._asked.wait_for(is_reached, PATIENCE), self.subjects

    def got(self, query: dict[str, str], headers: dict[str, str]) -> None:
        """Record a request."""
        with self._asked:
            self.queries.append(query)
            self.headers.append(headers)
            self._asked.notify_all()

    def answered(self) -> None:
        """Wake those who wait for the effect of a request."""
        with self._asked:
            self._asked.notify_all()


class ProtocolHandler(QuietHandler):
    """Reads requests, and sends answers whole, slowly or not at all."""

    double: ProtocolDouble
    drip_pause: ClassVar[float] = 0.02
    """Seconds between two bytes that drip."""

    def received(self) -> dict[str, str]:
        """Record the request; return its pairs by name."""
        query = self.query()
        self.double.got(query, {name.lower(): value for name, value in self.headers.items()})
        return query

    def query(self) -> dict[str, str]:
        """Return the pairs of the request by name."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def answer(self, status: int, body: str | bytes, **headers: str) -> None:
        """Send a whole answer; a header without a value is left out."""
        octets = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        sent = {"Content_Type": "text/plain", "Content_Length": str(len(octets)), **headers}
        for name, value in sent.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.raw(octets)

    def raw(self, octets: bytes | str) -> None:
        """Send bytes as they are."""
        self.wfile.write(octets.encode() if isinstance(octets, str) else octets)
        self.wfile.flush()

    def drip(self, octets: bytes) -> None:
        """Send a byte now and then, until all are sent or the double is released."""
        for octet in octets:
            self.raw(bytes([octet]))
            if self.double.released.wait(self.drip_pause):
                return

    def reset(self, first: bytes = b"") -> None:
        """End the connection as a crash does."""
        self.raw(first)
        no_wait = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_wait)
        self.connection.close()
