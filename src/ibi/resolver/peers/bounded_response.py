"""Bounded reading of HTTP responses from archives: the text of an answer, or why there is none.

The sender chooses every byte of it. So there is a limit on each part, and nothing of it is repeated
in a reason.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from aiohttp import ClientConnectorError, ClientOSError, ClientResponse
from aiohttp.client_proto import ResponseHandler

from ibi.resolver.ports.outbound import NO_SLOT
from ibi.resolver.rules.archive_documents import LARGEST_DOCUMENT
from ibi.wire.digest import MAX_PAGE


class NoSlotError(Exception):
    """No slot became free in time."""


class Slots:
    """Limits concurrent requests, in all and for each address; for one event loop."""

    def __init__(self, in_all: int, for_each: int) -> None:
        """Begin with all slots free."""
        self._in_all = asyncio.Semaphore(in_all)
        self._for_each = for_each
        # A holder of a slot, or a waiting one, keeps the semaphore of its address alive.
        self._lines: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def place(self, address: str, seconds: float) -> AsyncIterator[None]:
        """Hold a slot for an address; raise NoSlotError if none becomes free in time."""
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = asyncio.Semaphore(self._for_each)
        try:
            async with asyncio.timeout(seconds):
                await line.acquire()
                try:
                    await self._in_all.acquire()
                except BaseException:
                    line.release()
                    raise
        except TimeoutError:
            raise NoSlotError from None
        try:
            yield
        finally:
            self._in_all.release()
            line.release()


LARGEST_ANSWER: Final = 64 * 1024
"""Bytes of the longest answer, as archives allow a resolver; before and after decoding."""
LARGEST_PROOF: Final = 1024
# Bytes on the wire, with headers and chunks: more than an honest answer can have.
_MOST_OCTETS: Final = 2 * LARGEST_ANSWER
_NOT_THERE: Final = frozenset(
    {
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.GONE,
    }
)
_TOO_LONG: Final = "its answer is too long"


class NoAnswerError(Exception):
    """Why there is no answer, in a few words."""


class RefusalError(NoAnswerError):
    """The archive answered, and refused this request."""


class BoundedResponses(ResponseHandler):
    """Reads the answers on a connection, each up to a number of bytes in any form.

    There are many ways to be long in HTTP that never become a body: interim responses (1xx), chunks
    of one byte. Reading them would block the event loop.
    """

    most = _MOST_OCTETS
    _left = 0

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401  # they are the library's
        """Begin an answer."""
        self._left = self.most
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Process received bytes, or abort the connection when the limit is exceeded."""
        self._left -= len(data)
        if self._left >= 0:
            super().data_received(data)
            return
        body, failure = self._payload, NoAnswerError(_TOO_LONG)
        self.abort()
        self.set_exception(failure)
        if body is not None:
            body.set_exception(failure)


class BoundedPages(BoundedResponses):
    """Reads pages of digests, which are longer than all other answers."""

    most = 2 * MAX_PAGE


class BoundedDocuments(BoundedResponses):
    """Reads documents in JSON, which are longer than messages."""

    most = 2 * LARGEST_DOCUMENT


class Message(NamedTuple):
    """A message of the protocol."""

    octets: bytes
    personal: bool
    """Whether the answer is marked as being for one client only."""


async def message_of(answer: ClientResponse) -> Message:
    """Read a message of the protocol: text/plain (004, section 4.2), or text of another kind.

    Old archives are behind servers that label every text as an HTML page.
    """
    # The raw header: the library fails on some values that a stranger may send.
    kind = answer.headers.get("Content-Type", "").strip().lower()
    if answer.status == HTTPStatus.OK and not kind.startswith("text/"):
        raise NoAnswerError("its answer is no text")
    return Message(await _body(answer, LARGEST_ANSWER), _is_private(answer))


def _is_private(answer: ClientResponse) -> bool:
    """Return whether the answer is intended for a single user (RFC 9111, 5.2.2.7)."""
    directives = ",".join(answer.headers.getall("Cache-Control", ())).split(",")
    return any(each.strip().lower() == "private" for each in directives)


async def unless_not_there(answer: ClientResponse) -> bytes | None:
    """Read an answer; None if its status says that there is nothing at this path.

    A server that has too much to do does not say so.
    """
    return None if answer.status in _NOT_THERE else await _body(answer, LARGEST_ANSWER)


async def proof_of(answer: ClientResponse) -> str:
    """Read the text that proves control of a host; its media type is ignored."""
    try:
        return (await _body(answer, LARGEST_PROOF)).decode()
    except UnicodeDecodeError:
        raise NoAnswerError("its answer is no text") from None


async def page_of(answer: ClientResponse) -> bytes | None:
    """Read a page of a digest; None if there is no digest."""
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    return await _body(answer, MAX_PAGE)


async def document_of(answer: ClientResponse) -> bytes | None:
    """Read a document in JSON, also that of a deleted item; None if there is nothing at its path.

    Software without such documents answers with a page, or with a redirect to one.
    """
    has_content = answer.status in {HTTPStatus.OK, HTTPStatus.GONE}
    is_json = "json" in answer.headers.get("Content-Type", "").lower()
    if answer.status in _NOT_THERE | {HTTPStatus.OK} and not (has_content and is_json):
        return None
    return await _body(answer, LARGEST_DOCUMENT, has_content=has_content)


async def _body(answer: ClientResponse, largest: int, *, has_content: bool = False) -> bytes:
    if answer.status != HTTPStatus.OK and not has_content:
        is_refusal = HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
        raise (RefusalError if is_refusal else NoAnswerError)(f"it answered {answer.status}")
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise NoAnswerError("its answer is compressed, which nobody asked for")
    octets = bytearray()
    async for part in answer.content.iter_any():
        octets += part
        if len(octets) > largest:
            raise NoAnswerError(_TOO_LONG)
    if not octets and answer.content_length is None and "Transfer-Encoding" not in answer.headers:
        # No bytes, of unknown length: the connection may have broken. A crash must not be taken for
        # the empty list, which means that the item is not there.
        raise NoAnswerError("its answer broke off")
    return bytes(octets)


_WORDS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TimeoutError, "it did not answer in time"),
    (PermissionError, "its address is not one that this resolver may call"),
    (socket.gaierror, "its name is not known"),
    (ssl.SSLCertVerificationError, "its certificate is not good"),
    (ssl.SSLError, "there is no secure connection to it"),
    (ConnectionResetError, "it broke off, or does not speak HTTP"),
    (ClientOSError, "it broke off, or does not speak HTTP"),
    (OSError, "there is no connection to it"),
    (ValueError, "its address cannot be used"),
    (Exception, "it broke off, or does not speak HTTP"),
)


def words(failure: BaseException) -> str:
    """Return the reason of a failure without its own text, which may repeat a stranger's."""
    if isinstance(failure, NoAnswerError):
        return str(failure)
    if isinstance(failure, NoSlotError):
        return NO_SLOT
    cause = failure.__cause__ if isinstance(failure, ClientConnectorError) else None
    return next(said for kind, said in _WORDS if isinstance(cause or failure, kind))
