"""Requests to archives over HTTP, and their answers (004, 5 and 6).

Any server may be at the address of an archive, and may send anything. Nothing of that raises, and
nothing takes longer than allowed: the deadline covers everything, from the name look-up to the last
byte, after a wait for a slot of at most the same time.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from aiohttp import (
    ClientConnectorError,
    ClientOSError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    ServerDisconnectedError,
    TCPConnector,
)
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from ibi.errors import IbiError, ProofError, Sentence
from ibi.foundation.http_client.ssrf_guard import GuardedResolver, OutboundGuard
from ibi.identifier.label import Label
from ibi.model.registration import RegisteredArchive
from ibi.resolver.peers.bounded_response import (
    BoundedPages,
    BoundedResponses,
    NoAnswerError,
    NoSlotError,
    RefusalError,
    Slots,
    message_of,
    page_of,
    proof_of,
    unless_not_there,
    words,
)
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.resolver.rules.archive_site import site_of
from ibi.wire import digest, responses
from ibi.wire.digest import DigestPage
from ibi.wire.requests import Acknowledgment, InclusionConfirmationRequest, UrlRequest, encode
from ibi.wire.responses import Confirmation, ErrorAnswer, Notice, Response, UrlList

# Half of the header size that aiohttp, nginx and Apache allow: an archive needs hardly any.
_MAX_LINE: Final = 4096
_MAX_HEADERS: Final = 64
_IDLE_SECONDS: Final = 30.0
# Seconds for which an address that was looked up and checked is used for new connections.
_NAME_SECONDS: Final = 10
_HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "ibi-resolver"}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}

_Read = TypeVar("_Read")


class ArchiveConnections:
    """Persistent connections for requests of one kind; for one event loop."""

    def __init__(
        self, guard: OutboundGuard, places: Slots, answers: type[ResponseHandler], accept: str
    ) -> None:
        """Open nothing yet: that needs the event loop."""
        self._guard = guard
        self._places = places
        self._answers = answers
        self._accept = accept
        self._sessions: tuple[ClientSession, ClientSession] | None = None
        """One that keeps connections, and one that makes a new connection for each request."""
        self._resolver: GuardedResolver | None = None
        self._is_closed = False

    async def get(
        self,
        url: URL,
        seconds: float,
        read: Callable[[ClientResponse], Awaitable[_Read]],
        body: bytes = b"",
    ) -> _Read:
        """Read the answer to a request before the deadline; a request with a body is a POST."""
        self._require_open()
        async with (
            self._places.place(url.authority, seconds),
            asyncio.timeout(seconds),
            await self._answer(url, body) as answer,
        ):
            return await read(answer)

    async def _answer(self, url: URL, body: bytes) -> ClientResponse:
        """Send a request, again on a new connection if the archive closed one that was kept.

        A server may close a kept connection while a request is on its way, and a GET may then be
        repeated (RFC 9112, 9.3.1). aiohttp repeats it once, but takes another kept connection if
        there is one, and a server that restarts closes all of them.
        """
        kept, new = self._opened()
        if body:
            return await kept.request("POST", url, data=body, headers=_FORM, allow_redirects=False)
        try:
            return await kept.request("GET", url, allow_redirects=False)
        except ClientConnectorError:  # no connection was made
            raise
        except (ClientOSError, ServerDisconnectedError):
            self._require_open()
            return await new.request("GET", url, allow_redirects=False)

    async def close(self) -> None:
        """Close all connections; requests that are still open fail."""
        self._is_closed = True
        if self._sessions is not None and self._resolver is not None:
            for session in self._sessions:
                await session.close()
            await self._resolver.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise NoAnswerError("this resolver is being switched off")

    def _opened(self) -> tuple[ClientSession, ClientSession]:
        self._require_open()
        if self._sessions is None:
            self._resolver = GuardedResolver(self._guard)
            connect = partial(_Connector, self._guard, self._resolver, self._answers)
            self._sessions = (
                self._session(connect(keepalive_timeout=_IDLE_SECONDS)),
                self._session(connect(force_close=True)),
            )
        return self._sessions

    def _session(self, connector: TCPConnector) -> ClientSession:
        return ClientSession(
            connector=connector,
            headers={**_HEADERS, "Accept": self._accept},
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            max_headers=_MAX_HEADERS,
        )


class _Connector(TCPConnector):
    """Connects only to addresses that the guard allows."""

    def __init__(
        self,
        guard: OutboundGuard,
        resolver: GuardedResolver,
        answers: type[ResponseHandler],
        **keeping: Any,  # noqa: ANN401  # options of the library
    ) -> None:
        super().__init__(
            resolver=resolver,
            # A numeric host never comes to the resolver, but every address comes here.
            socket_factory=guard.socket_to,
            ttl_dns_cache=_NAME_SECONDS,
            limit=0,  # `Slots` limits the connections
            **keeping,
        )
        # aiohttp has no other hook; the tests with floods of data fail if this one stops working.
        self._factory = partial(answers, loop=self._loop)


_TEXT: Final = "text/plain"
_DIGEST: Final = "api/v1/digest"
# Pages have slots of their own, so that they do not delay messages.
_MAX_PAGES: Final = 64
_PAGES_PER_ARCHIVE: Final = 4
_PATH: Final = re.compile(r"/?([A-Za-z0-9._~@/-]{0,1024})")


class HttpArchiveClient:
    """Sends requests to archives, over persistent connections; for one event loop."""

    def __init__(
        self, guard: OutboundGuard, *, connections: int = 512, per_archive: int = 32
    ) -> None:
        """Open nothing yet: that needs the event loop."""
        places = Slots(connections, per_archive)
        self._messages = ArchiveConnections(guard, places, BoundedResponses, _TEXT)
        pages = Slots(_MAX_PAGES, _PAGES_PER_ARCHIVE)
        self._pages = ArchiveConnections(guard, pages, BoundedPages, digest.MEDIA_TYPE)
        self.page_octets = 0
        """Bytes of the pages of digests that were received."""

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Send urlRequest to an included archive; return its answer, or why there is none."""
        if not archive.address:
            return NoReply(archive.id, "it is not included", asked=False)
        begun = time.monotonic()
        try:
            url = url_of(archive.address, archive.service.spelling, encode(request))
            message, is_personal = await self._exchange(url, seconds)
            listed = _url_list(message)
        except Exception as failure:  # noqa: BLE001  # the data of a stranger may cause any error
            was_asked = not isinstance(failure, NoSlotError)
            is_alive = isinstance(failure, RefusalError)
            seconds = time.monotonic() - begun
            return NoReply(archive.id, words(failure), seconds, asked=was_asked, alive=is_alive)
        return ArchiveReply(archive.id, listed, time.monotonic() - begun, personal=is_personal)

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Send inclusionConfirmationRequest; return "" if it was confirmed, else the reason."""
        query = encode(InclusionConfirmationRequest())
        return await self._expect(Confirmation, address, service, query, seconds)

    async def denies(self, address: str, service: Label, seconds: float) -> bool:
        """Send inclusionConfirmationRequest; return whether it was answered, and not confirmed."""
        try:
            url = url_of(address, service.spelling, encode(InclusionConfirmationRequest()))
            octets = await self._messages.get(url, seconds, unless_not_there)
        except Exception:  # noqa: BLE001  # any error, as above
            return False
        try:
            return octets is None or not isinstance(responses.decode(octets), Confirmation)
        except IbiError:  # a page of another program
            return True

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Send an acknowledgment; return "" if the archive accepted it, else the reason."""
        query = encode(request)
        # Servers accept 8 kB of request line; our archives accept a body as well.
        said = query.encode() if request.others else query
        return await self._expect(Notice, archive.address, archive.service, said, seconds)

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Fetch the changes after a cursor, "" and 0 for all; None if there is no digest."""
        begun = time.monotonic()
        try:
            query = f"epoch={epoch}&after={after}" if after else ""
            url = url_of(archive.address, _DIGEST, query)
            octets = await self._pages.get(url, seconds, page_of)
            if octets is None:
                return None
            self.page_octets += len(octets)
            # In a thread: decoding a page takes too long for the event loop.
            return await asyncio.to_thread(_page, octets)
        except Exception as failure:  # noqa: BLE001  # any error, as above
            was_asked = not isinstance(failure, NoSlotError)
            return NoReply(archive.id, words(failure), time.monotonic() - begun, asked=was_asked)

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Return the short text at http://host/path; raise ProofError, with the reason."""
        try:
            return await self._messages.get(url_of(host, path), seconds, proof_of)
        except Exception as failure:  # noqa: BLE001  # any error, as above
            raise ProofError(
                Sentence(
                    "The host did not show the text that proves control of it: %(failure)s.",
                    failure=words(failure),
                )
            ) from None

    async def close(self) -> None:
        """Close all connections; requests that are still open fail."""
        await self._messages.close()
        await self._pages.close()

    async def _expect(
        self,
        expected: type[Confirmation | Notice],
        address: str,
        service: Label,
        query: str | bytes,
        seconds: float,
    ) -> str:
        in_line, body = ("", query) if isinstance(query, bytes) else (query, b"")
        try:
            url = url_of(address, service.spelling, in_line)
            said, _ = await self._exchange(url, seconds, body)
        except Exception as failure:  # noqa: BLE001  # any error, as above
            return words(failure)
        return "" if isinstance(said, expected) else _unexpected(said)

    async def _exchange(
        self, url: URL, seconds: float, body: bytes = b""
    ) -> tuple[Response | None, bool]:
        """Return the decoded answer, and whether it is for one client only."""
        message = await self._messages.get(url, seconds, message_of, body)
        try:
            return responses.decode(message.octets), message.personal
        except IbiError:
            raise NoAnswerError("its answer makes no sense") from None


def url_of(address: str, path: str, query: str = "") -> URL:
    """Return the URL at which an archive is asked; raise ValueError if it is invalid."""
    site, within = site_of(address), _PATH.fullmatch(path)
    if within is None or not site:
        raise ValueError(address)
    asked = f"?{query}" if query else ""
    return URL(f"{site}/{within[1]}{asked}", encoded=True)


def _url_list(said: Response | None) -> UrlList | None:
    if said is None or isinstance(said, UrlList):
        return said
    error = RefusalError if isinstance(said, ErrorAnswer) else NoAnswerError
    raise error(_unexpected(said))


def _unexpected(said: Response | None) -> str:
    if isinstance(said, ErrorAnswer):
        return "it answered with an error"
    return "its answer makes no sense"


def _page(octets: bytes) -> DigestPage:
    try:
        return digest.decode(octets)
    except IbiError:
        raise NoAnswerError("its digest makes no sense") from None
