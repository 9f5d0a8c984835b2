"""A standard resolver for tests, over real sockets; and what else may stand at its address.

It is written from 004, section 5.2, and knows nothing of how this project reads and writes.
"""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

from tests.support.servers.port_reservation import reserved_port

SERVICE: Final = "/J8LNKB5R7W/3FUQHC5"
MANDATORY: Final = {
    "archiveaddress",
    "archiveserviceibi",
    "archiveip",
    "archiveprotocol",
    "archiveplatformversion",
    "archiveadmemailaddress",
    "registrationkey",
}
"""Table 5.2."""
PATIENCE: Final = 60.0


class ResolverDouble:
    """A resolver that knows some registrations; `behaviour` makes it something worse."""

    def __init__(
        self,
        registrations: dict[str, str] | None = None,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Listen, at a port of one's choice if it matters."""
        self.registrations = registrations or {}
        """Keys by the label of an archive's service."""
        self.included: dict[str, str] = {}
        """Addresses by the label of an archive's service."""
        self.queries: list[dict[str, str]] = []
        """What it was asked, each pair by its name."""
        self.behaviour = "resolver"
        self.released = Event()
        self._asked = Condition()
        handler = type("Handler", (_Handler,), {"double": self})
        self._server = _Server(("127.0.0.1", port or reserved_port()), handler)
        self.port: int = self._server.server_address[1]
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of everybody, and close."""
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def subjects(self) -> list[str]:
        """What it was asked for, in order."""
        return [query["servicesubject"] for query in self.queries]

    def asked(self, is_reached: Callable[[], bool]) -> None:
        """Wait until something holds, which is looked at after every request."""
        with self._asked:
            assert self._asked.wait_for(is_reached, PATIENCE), self.subjects

    def got(self, query: dict[str, str]) -> None:
        """Note what it was asked."""
        with self._asked:
            self.queries.append(query)
            self._asked.notify_all()

    def did(self) -> None:
        """Note that a request was answered."""
        with self._asked:
            self._asked.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients who went away."""


class _Handler(BaseHTTPRequestHandler):
    double: ResolverDouble

    def do_GET(self) -> None:  # a name of the library
        """Answer, or do what else it was told to."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.double.got(query)
        if self.double.behaviour == "resolver":
            self._resolver(parts.path, query)
        else:
            BEHAVIOURS[self.double.behaviour](self)
        self.double.did()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def _resolver(self, path: str, query: dict[str, str]) -> None:
        service = query.get("archiveserviceibi", "")
        if path != SERVICE or not query.keys() >= MANDATORY or query["archiveprotocol"] != "HTTP":
            self.answer(400, "status.error bad-request\r\nstatus.reason {This is no request.}")
        elif self.double.registrations.get(service) != query["registrationkey"]:
            self.answer(
                403, "status.error unknown-key\r\nstatus.reason {This archive is not registered.}"
            )
        elif query["servicesubject"] == "exclusionRequest":
            self.double.included.pop(service, None)
            self.answer(200, "status.archive excluded")
        else:
            self.double.included[service] = query["archiveaddress"]
            confirmed = is_confirmed(query["archiveaddress"], service)
            self.answer(
                200,
                "status.archive included status.confirmation "
                + ("successful" if confirmed else "unsuccessful"),
            )

    def answer(self, status: int, body: str | bytes, **headers: str) -> None:
        """Send a whole answer."""
        octets = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        sent = {"Content_Type": "text/plain", "Content_Length": str(len(octets)), **headers}
        for name, value in sent.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(octets)

    def drip(self, octets: bytes) -> None:
        """Send a byte now and then, for as long as anybody wants them."""
        for octet in octets:
            self.wfile.write(bytes([octet]))
            if self.double.released.wait(0.05):
                return

    def reset(self) -> None:
        """End the connection as a crash does."""
        no_wait = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_wait)
        self.connection.close()


def is_confirmed(address: str, service: str) -> bool:
    """Send the message (3) of figure 5.1 and wait for (4)."""
    connection = HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", f"/{service}?servicesubject=inclusionConfirmationRequest")
        return connection.getresponse().read().decode().split() == ["confirmation", "yes"]
    except (HTTPException, OSError):
        return False
    finally:
        connection.close()


INCLUDED: Final = "status.archive included status.confirmation successful"
BEHAVIOURS: Final[dict[str, Callable[[_Handler], object]]] = {
    "hang": lambda handler: handler.double.released.wait(PATIENCE),
    "drip headers": lambda handler: handler.drip(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 50_000),
    "drip a body": lambda handler: handler.drip(
        b"HTTP/1.1 200 OK\r\n\r\n" + INCLUDED.encode() + b" " * 50_000
    ),
    "reset": _Handler.reset,
    "hang up": lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
    "no HTTP": lambda handler: handler.wfile.write(b"\x00\xff" * 100),
    "bad headers": lambda handler: handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nno header at all\r\n\r\nstatus.archive {"
    ),
    "error": lambda handler: handler.answer(500, "Oops"),
    "busy": lambda handler: handler.answer(
        429, "status.error too-many-requests\r\nstatus.reason {Try again later.}"
    ),
    "out of order": lambda handler: handler.answer(
        503, "status.error database\r\nstatus.reason {The database is away.}"
    ),
    "not found": lambda handler: handler.answer(
        404, "<h1>Not Found</h1>", Content_Type="text/html"
    ),
    "redirect": lambda handler: handler.answer(302, INCLUDED, Location=handler.path),
    "garbage": lambda handler: handler.answer(200, b"\xff\x00{{{"),
    "nothing": lambda handler: handler.answer(200, ""),
    "half": lambda handler: handler.answer(200, "status.archive included"),
    "confirmation": lambda handler: handler.answer(200, "confirmation yes"),
    "excluded": lambda handler: handler.answer(200, "status.archive excluded"),
    "a page": lambda handler: handler.answer(200, INCLUDED, Content_Type="text/html"),
    "compressed": lambda handler: handler.answer(
        200, gzip.compress(INCLUDED.encode()), Content_Encoding="gzip"
    ),
    "cut": lambda handler: handler.answer(200, INCLUDED, Content_Length="1000"),
    "a megabyte": lambda handler: handler.answer(200, INCLUDED + " " * 1_000_000),
    "a terminal": lambda handler: handler.answer(
        403, "status.error \x1b[31m\r\nstatus.reason {\x1b[31mred " + "x" * 5000 + "}"
    ),
    "the key": lambda handler: handler.answer(
        403,
        "status.error key\r\nstatus.reason {Bad key "
        + handler.double.queries[-1]["registrationkey"]
        + " in "
        + handler.path.replace("{", "")
        + "}",
    ),
}
"""What may stand at the address of a resolver."""
