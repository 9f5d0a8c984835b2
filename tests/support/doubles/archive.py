"""A standard archive for tests, over real sockets; and what else may stand at its address.

It is written from 004, chapters 4 to 7, and knows nothing of how this project reads and writes.
"""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Final
from urllib.parse import urlsplit

from ibi.wire.digest import DigestPage, encode, fingerprint
from tests.support.doubles.protocol import ProtocolDouble, ProtocolHandler
from tests.support.waiting import PATIENCE

SERVICE: Final = "LK47B6W/362SFKH"


class ArchiveDouble(ProtocolDouble):
    """An archive that has some items; `behaviour` makes it something worse."""

    def __init__(
        self, service: str = SERVICE, *, host: str = "127.0.0.1", behaviour: str = "archive"
    ) -> None:
        """Listen."""
        super().__init__(_Handler, behaviour, (host, 0))
        self.service = service
        self.items: dict[str, dict[str, str]] = {}
        """The pairs of the answer to urlRequest, by the label that is asked for."""
        self.location = ""
        """Where it redirects to, if that is how it behaves; to itself if empty."""
        self.keys: set[str] = set()
        """Of URLs that it gave out, and whose use was not acknowledged yet."""
        self.acknowledged: list[dict[str, str]] = []
        self.connections = 0
        """How many were ever made to it."""
        self.digest_reads = 0
        """How often the digest was asked for that `publish` makes it have."""
        self._numbers = count(1)
        self.address = f"{host}:{self.port}"
        self.platform = "2014:11.09.02.16.15"
        """The version of its software, as it announces it."""
        self.confirms_every_label = False
        """Whether it confirms an inclusion under other labels than that of its service."""
        self.digest: Callable[[dict[str, str]], bytes] | None = None
        """Returns the page of its digest that a query asks for; None if it publishes none."""

    def hold(self, label: str, **pairs: str) -> None:
        """Have an item; `pairs` are in the place of those that it would have."""
        self.items[label] = {
            "ibi": _form(label),
            "url": f"http://{self.address}/col/{label}/a.html",
            "contenttype": "Data",
            "state": "Original",
            "timestamp": "2020-01-02T03:04:05Z",
            **pairs,
        }

    def publish(self) -> None:
        """Publish a digest as this software does, in which none of its items is listed."""
        self.platform = "ibi-0.1"
        self.digest = self._page

    def _page(self, query: dict[str, str]) -> bytes:
        after = int(query.get("after", "0"))
        with self._asked:
            self.digest_reads += 1
        held = () if after else (fingerprint(self.service),)
        return encode(DigestPage("5a" * 16, after, 7, more=False, held=held, notifies=True))

    def document(self, target: str) -> tuple[int, bytes] | None:
        """Return status and body of a document beside the protocol; None if it has none there."""
        del target
        return None

    def met(self) -> None:
        """Note a connection."""
        with self._asked:
            self.connections += 1

    def said(self, query: dict[str, str]) -> str:
        """Return the pair list that answers a query (Algorithms 1 and 2)."""
        match query.get("servicesubject"):
            case "inclusionConfirmationRequest":
                return "confirmation yes"
            case "acknowledgment":
                with self._asked:
                    if query.get("urlkey") in self.keys:
                        self.keys.remove(query["urlkey"])
                        self.acknowledged.append(query)
                return "notice {acknowledgment received}"
            case "urlRequest" if found := self.items.get(query.get("parsedibiurl.ibi", "")):
                key = f"1424636122-{next(self._numbers):016}"
                self.keys.add(key)
                head = {
                    "archiveaddress": self.address,
                    "ibi.archiveservice": _form(self.service),
                    "ibi.platformsoftware": "",
                    "urlkey": key,
                }
                return "\n".join(f"{name} {{{value}}}" for name, value in (head | found).items())
            case "urlRequest":
                return ""
        return "status.error unknown-subject status.reason {This is no request.}"


class ClaimingArchive(ArchiveDouble):
    """Has every item that it is asked for, and all of them are Originals."""

    claimed_since = "2020-01-02T03:04:05Z"
    """The timestamp of what it claims."""

    def said(self, query: dict[str, str]) -> str:
        """Claim."""
        name = query.get("parsedibiurl.ibi", "")
        if name and name not in self.items:
            self.hold(name, timestamp=self.claimed_since)
        return super().said(query)


class EarlyClaimingArchive(ClaimingArchive):
    """Claims items that are older than those of any other archive."""

    claimed_since = "1996-01-01T00:00:00Z"


def _form(label: str) -> str:
    """Write a label with the name of its form."""
    return f"{'ibip' if label.count('/') == 1 else 'rep'} {label}"


@contextmanager
def doubles(number: int) -> Iterator[list[ArchiveDouble]]:
    """Run so many archives."""
    with ExitStack() as stack:
        yield [stack.enter_context(ArchiveDouble()) for _ in range(number)]


_DIGEST: Final = "/api/v1/digest"


class _Handler(ProtocolHandler):
    double: ArchiveDouble
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    is_used = False
    """Whether a request came on this connection before, for the behaviour "single use"."""

    def setup(self) -> None:
        """Note the connection."""
        super().setup()
        self.double.met()

    def do_GET(self) -> None:  # a name of the library
        """Answer, or do what else it was told to."""
        query = self.received()
        digest = self.double.digest
        document = self.double.document(self.path)
        if self.double.behaviour == "archive" and document is not None:
            self.answer(document[0], document[1], Content_Type="application/json")
        elif self.double.behaviour == "archive" and digest is not None and _DIGEST in self.path:
            self.answer(200, digest(query), Content_Type="application/vnd.ibi.digest")
        elif self.double.behaviour == "archive" and self._is_of_another(query):
            self.answer(404, "status.error not-here status.reason {This is another archive.}")
        elif self.double.behaviour == "archive":
            self.answer(200, self.double.said(query))
        else:
            self.close_connection = True
            BEHAVIOURS[self.double.behaviour](self)

    def _is_of_another(self, query: dict[str, str]) -> bool:
        """Return whether another archive is to confirm its inclusion."""
        is_own = urlsplit(self.path).path == f"/{self.double.service}"
        asked = query.get("servicesubject") == "inclusionConfirmationRequest"
        return asked and not (is_own or self.double.confirms_every_label)

    @property
    def good(self) -> str:
        """What an archive would have said."""
        return self.double.said(self.query())

    def flood(self, first: bytes, again: bytes) -> None:
        """Send the same again and again, for as long as anybody wants it."""
        self.raw(first)
        while not self.double.released.is_set():
            self.raw(again)

    def hang(self, first: bytes = b"") -> None:
        """Wait, and end without a word more."""
        self.raw(first)
        self.double.released.wait(PATIENCE)

    def late(self) -> None:
        """Wait, and answer properly."""
        self.double.released.wait(PATIENCE)
        self.answer(200, self.good)

    def single_use(self) -> None:
        """Answer when released, and close the connection when the next request comes on it."""
        if not self.is_used:
            self.is_used = True
            self.close_connection = False
            self.late()


_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
_BOMB: Final = gzip.compress(b"archiveaddress a " + b" " * 16_000_000)
BEHAVIOURS: Final[dict[str, Callable[[_Handler], object]]] = {
    "late": _Handler.late,
    "single use": _Handler.single_use,
    "hang": _Handler.hang,
    "hang in the body": lambda handler: handler.hang(_HEAD + b"Content-Length: 100\r\n\r\narchive"),
    "drip": lambda handler: handler.drip(_HEAD + b"\r\n" + b"confirmation yes " + b" " * 50_000),
    "drip headers": lambda handler: handler.drip(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 50_000),
    "flood": lambda handler: handler.flood(_HEAD + b"\r\n", b"a {b c} " * 8192),
    "flood of chunks": lambda handler: handler.flood(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 4096
    ),
    "flood of headers": lambda handler: handler.flood(_HEAD, b"X-More: more\r\n" * 4096),
    "flood of trailers": lambda handler: handler.flood(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-More: more\r\n" * 4096
    ),
    "flood of beginnings": lambda handler: handler.flood(b"", b"HTTP/1.1 103 E\r\n\r\n" * 1024),
    "endless line": lambda handler: handler.flood(b"HTTP/1.1 200 ", b"O" * 65_536),
    "garbage": lambda handler: handler.raw(b"\x00\xff{\r\n" * 100),
    "garbled list": lambda handler: handler.answer(200, b"\xff\x00{{{"),
    "garbled chunks": lambda handler: handler.raw(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nconfirmation yes\r\n0\r\n\r\n"
    ),
    "two lengths": lambda handler: handler.raw(
        _HEAD + b"Content-Length: 0\r\nContent-Length: 16\r\n\r\nconfirmation yes"
    ),
    "reset": _Handler.reset,
    "reset in the body": lambda handler: handler.reset(_HEAD + b"Content-Length: 100\r\n\r\n"),
    "hang up": lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
    "bomb": lambda handler: handler.answer(200, _BOMB, Content_Encoding="gzip"),
    "hidden bomb": lambda handler: handler.answer(200, _BOMB[:60_000]),
    "redirect": lambda handler: handler.answer(
        302, handler.good, Location=handler.double.location or handler.path
    ),
    "a page": lambda handler: handler.answer(200, handler.good, Content_Type="text/html"),
    "wrong content type": lambda handler: handler.answer(
        200, handler.good, Content_Type="application/json"
    ),
    "no content type": lambda handler: handler.answer(200, handler.good, Content_Type=""),
    "huge header": lambda handler: handler.answer(200, handler.good, X_Huge="x" * 60_000),
    "many headers": lambda handler: handler.raw(
        _HEAD + b"X: y\r\n" * 1000 + b"Content-Length: 16\r\n\r\nconfirmation yes"
    ),
    "a megabyte": lambda handler: handler.answer(200, handler.good + " " * 1_000_000),
    "cut": lambda handler: handler.answer(200, handler.good, Content_Length="10000"),
    "broken off": lambda handler: handler.raw(_HEAD + b"\r\n"),
    "close": lambda handler: handler.answer(
        200, handler.good, Content_Length="", Connection="close"
    ),
    "cookies": lambda handler: handler.answer(200, handler.good, Set_Cookie="a=b; Path=/"),
    "error": lambda handler: handler.answer(500, "Oops"),
    "error answer": lambda handler: handler.answer(200, "status.error x status.reason {\x1b[31m}"),
    "not found": lambda handler: handler.answer(
        404, "<h1>Not Found</h1>", Content_Type="text/html"
    ),
    "unavailable": lambda handler: handler.answer(503, ""),
    "another answer": lambda handler: handler.answer(200, "status.archive excluded"),
}
"""What may stand at the address of an archive."""
ENDLESS: Final = {"late", "single use", "hang", "hang in the body", "drip", "drip headers"}
"""Those of which no answer comes until the double is released."""
