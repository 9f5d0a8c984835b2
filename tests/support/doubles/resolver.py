"""A standard resolver for tests, over real sockets; and what else may stand at its address.

It is written from 004, section 5.2, and knows nothing of how this project reads and writes.
"""

from __future__ import annotations

import gzip
import socket
import ssl
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import Final
from urllib.parse import urlsplit

from tests.support.doubles.protocol import ProtocolDouble, ProtocolHandler
from tests.support.waiting import PATIENCE

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


class ResolverDouble(ProtocolDouble):
    """A resolver that knows some registrations; `behaviour` makes it something worse."""

    def __init__(
        self,
        registrations: dict[str, str] | None = None,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Listen, at a port of one's choice if it matters."""
        super().__init__(_Handler, "resolver", ("127.0.0.1", port), tls)
        self.registrations = registrations or {}
        """Keys by the label of an archive's service."""
        self.included: dict[str, str] = {}
        """Addresses by the label of an archive's service."""
        self.further = ""
        """Pairs beyond the standard, which it adds to the status of an inclusion."""
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"


class _Handler(ProtocolHandler):
    double: ResolverDouble
    drip_pause = 0.05

    def do_GET(self) -> None:  # a name of the library
        """Answer, or do what else it was told to."""
        query = self.received()
        if self.double.behaviour == "resolver":
            self._resolver(urlsplit(self.path).path, query)
        else:
            BEHAVIOURS[self.double.behaviour](self)
        self.double.answered()

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
                + ("successful" if confirmed else "unsuccessful")
                + self.double.further,
            )


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
