"""What comes back from the address of an archive, over HTTP: the text of an answer, or why not.

Strangers choose every byte of it. So there is a limit on each part, and nothing of it is repeated
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
from ibi.wire.digest import MAX_PAGE


class NoSlotError(Exception):
    """There was no place in time."""


class Slots:
    """So many at once in all, and for each address; of one event loop."""

    def __init__(self, in_all: int, for_each: int) -> None:
        """Have all places free."""
        self._in_all = asyncio.Semaphore(in_all)
        self._for_each = for_each
        # Whoever holds or awaits a place keeps the line of that address.
        self._lines: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def place(self, address: str, seconds: float) -> AsyncIterator[None]:
        """Hold a place for an address; NoPlaceError if none was free in that time."""
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
"""Bytes, as archives allow a resolver; the same before and after decoding."""
LARGEST_PROOF: Final = 1024
# On the wire, with headers and chunks: more than an honest answer can have.
_MOST_OCTETS: Final = 2 * LARGEST_ANSWER
_TOO_LONG: Final = "its answer is too long"


class NoAnswerError(Exception):
    """Says in a few words why there is no answer."""


class RefusalError(NoAnswerError):
    """The archive is there, and did not serve this request."""


class BoundedResponses(ResponseHandler):
    """Reads the answers on a connection, each up to a number of bytes, whatever they are.

    There are many ways to be long in HTTP that never become a body: beginnings before the
    beginning (1xx), chunks of a byte. Reading them keeps the event loop from everything else.
    """

    most = _MOST_OCTETS
    _left = 0

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401  # they are the library's
        """Begin an answer."""
        self._left = self.most
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Take what came, or have no more of it."""
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
    """Reads pages of digests, which are longer than all else."""

    most = 2 * MAX_PAGE


class Message(NamedTuple):
    """A message of the protocol."""

    octets: bytes
    personal: bool
    """Whether it says that it is for one client, and not to be given to others."""


async def message_of(answer: ClientResponse) -> Message:
    """Read a message of the protocol: text/plain (004, section 4.2), or text of another kind.

    Old archives are behind servers that call every text an HTML page.
    """
    # As it was written: the library stumbles over some that a stranger may write.
    kind = answer.headers.get("Content-Type", "").strip().lower()
    if answer.status == HTTPStatus.OK and not kind.startswith("text/"):
        raise NoAnswerError("its answer is no text")
    return Message(await _body(answer, LARGEST_ANSWER), _is_private(answer))


def _is_private(answer: ClientResponse) -> bool:
    """Return whether the answer is intended for a single user (RFC 9111, 5.2.2.7)."""
    directives = ",".join(answer.headers.getall("Cache-Control", ())).split(",")
    return any(each.strip().lower() == "private" for each in directives)


async def proof_of(answer: ClientResponse) -> str:
    """Read the text that proves control of a host; servers call such files what they like."""
    try:
        return (await _body(answer, LARGEST_PROOF)).decode()
    except UnicodeDecodeError:
        raise NoAnswerError("its answer is no text") from None


async def page_of(answer: ClientResponse) -> bytes | None:
    """Read a page of a digest; None where there is no such thing."""
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    return await _body(answer, MAX_PAGE)


async def _body(answer: ClientResponse, largest: int) -> bytes:
    if answer.status != HTTPStatus.OK:
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
        # Nothing, of unknown length: it may have had something to say. Nobody is to take a
        # crash for the empty list, which says that an item is not there.
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
    """Say what happened without a word of the failure's own, which may repeat a stranger's."""
    if isinstance(failure, NoAnswerError):
        return str(failure)
    if isinstance(failure, NoSlotError):
        return NO_SLOT
    cause = failure.__cause__ if isinstance(failure, ClientConnectorError) else None
    return next(said for kind, said in _WORDS if isinstance(cause or failure, kind))
