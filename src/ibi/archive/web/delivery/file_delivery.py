"""A file of an item as a response: whole, in parts, or not at all because the client has it.

A deposited file may contain a script, and it is served from the archive's own address. No browser
may run it there (threats, row 9): every file is sandboxed by its policy and is never taken for
another type than the declared one.

The one exception is PDF. For years Chrome showed no PDF that was in a sandbox (reported as Chromium
issues 413851 and 41131921); Chromium 156 does, but older versions are in use. Scripts in a PDF
belong to its viewer and do not reach the page, and with `nosniff` a PDF is never taken for HTML.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.archive.ports.file_store import OpenFile
from ibi.archive.web.delivery import file_chunks
from ibi.archive.web.delivery.media_types import media_type_of, wants_charset, with_charset
from ibi.errors import Sentence
from ibi.foundation.web import sendfile
from ibi.foundation.web.byte_ranges import ByteRange, read_ranges
from ibi.foundation.web.conditional_requests import Validators
from ibi.foundation.web.header_values import content_disposition, header_safe, link

SMALL: Final = 32_768
"""Bytes up to which a file is read and sent with its headers, which costs less than two sends."""
BEGINNING: Final = 65_536
"""Bytes that are examined to decide whether a text is UTF-8."""

# A page may have its own images, styles, fonts, films and frames, also those of other items of
# the archive; its links may open other windows, which are not sandboxed then. It may not run
# script, send forms, or fetch anything from elsewhere.
_SANDBOX: Final = (
    "sandbox allow-downloads allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "media-src 'self'; frame-src 'self'; base-uri 'self'; form-action 'none'"
)
_PDF: Final = "script-src 'none'; base-uri 'none'; form-action 'none'"

_PUBLIC: Final = "public, max-age=60, must-revalidate"
_PRIVATE: Final = "private, no-cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """An open file with the data for its headers."""

    file: OpenFile
    """The open file, which `deliver` closes."""
    name: str
    """The name under which it is saved: the last part of its path."""
    media_type: str = ""
    """The media type that the depositor declared; if empty, the name determines it."""
    sha256: str = ""
    """The checksum in hexadecimal; empty if unknown."""
    cite_as: str = ""
    """The persistent URL of its item."""
    links: tuple[tuple[str, str, str], ...] = ()
    """Further targets, their relations and media types, which may be empty."""
    attachment: bool = False
    """Whether it is to be saved rather than shown."""
    public: bool = True
    """Whether every client gets it; shared caches may keep no other files."""

    @property
    def validators(self) -> Validators:
        """The entity tag and time that distinguish versions of the file."""
        etag = self.sha256 or f"{self.file.modified:x}-{self.file.size:x}"
        return Validators(f'"{header_safe(etag)}"', self.file.modified)


async def deliver(request: Request, content: Content) -> Response:
    """Answer GET or HEAD with a file, which is closed whatever happens."""
    try:
        return await _answer(request, content)
    except BaseException:
        content.file.close()
        raise


async def _answer(request: Request, content: Content) -> Response:
    validators = content.validators
    headers = _headers(content, validators)
    match validators.judge(request.headers):
        case HTTPStatus.NOT_MODIFIED:
            content.file.close()
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        case HTTPStatus.PRECONDITION_FAILED as status:
            raise HTTPException(
                status, Sentence("The file is not the one that the request is about.")
            )
    headers |= await _description(content)
    size = content.file.size
    ranges = _ranges(request, content, validators)
    if ranges is None:
        headers["Content-Length"] = str(size)
        return _Delivery(content.file, HTTPStatus.OK, headers, [ByteRange(0, size)])
    if not ranges:
        raise HTTPException(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            Sentence(
                "The file has %(size)s bytes, and none of those that were asked for.", size=size
            ),
            {"Content-Range": f"bytes */{size}"},
        )
    pieces: list[bytes | ByteRange] = list(ranges)
    if len(ranges) == 1:
        headers["Content-Range"] = ranges[0].content_range(size)
    else:
        boundary = secrets.token_hex(16)
        pieces = list(_parts(ranges, boundary, headers["Content-Type"], size))
        headers["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
    headers["Content-Length"] = str(sum(map(len, pieces)))
    return _Delivery(content.file, HTTPStatus.PARTIAL_CONTENT, headers, pieces)


def _headers(content: Content, validators: Validators) -> dict[str, str]:
    """Return the headers of every answer about a file (RFC 9110, 15.4.5)."""
    return {
        "ETag": validators.etag,
        "Last-Modified": validators.last_modified,
        "Cache-Control": _PUBLIC if content.public else _PRIVATE,
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        # Any page may embed files, and a sandboxed page of the archive has another origin.
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "strict-origin-when-cross-origin",
    }


async def _description(content: Content) -> dict[str, str]:
    """Return the headers of an answer with the file itself."""
    media_type = media_type_of(content.name, content.media_type)
    size = content.file.size
    if wants_charset(media_type) and size:
        beginning = await file_chunks.read(content.file, 0, min(BEGINNING, size))
        is_whole = size <= BEGINNING
        media_type = with_charset(media_type, beginning, is_whole=is_whole)
    is_pdf = media_type.partition(";")[0].strip().lower() == "application/pdf"
    headers = {
        "Content-Type": header_safe(media_type),
        "Content-Disposition": content_disposition(content.name, attachment=content.attachment),
        "Content-Security-Policy": _PDF if is_pdf else _SANDBOX,
    }
    links = [(content.cite_as, "cite-as", "")] if content.cite_as else []
    if written := ", ".join(link(*each) for each in [*links, *content.links]):
        headers["Link"] = written
    if content.sha256:  # RFC 9530: of the whole file, also beside a part of it
        digest = base64.b64encode(bytes.fromhex(content.sha256)).decode()
        headers["Repr-Digest"] = f"sha-256=:{digest}:"
    return headers


def _ranges(
    request: Request, content: Content, validators: Validators
) -> tuple[ByteRange, ...] | None:
    """Return the parts to send; None for the whole."""
    header = request.headers.get("range", "")
    if request.method != "GET" or not header:  # RFC 9110, 14.2: only GET has ranges
        return None
    if_range = request.headers.get("if-range", "")
    if if_range and not validators.allow_ranges(if_range, time.time_ns()):
        return None
    return read_ranges(header, content.file.size)


def _parts(
    ranges: tuple[ByteRange, ...], boundary: str, media_type: str, size: int
) -> Iterator[bytes | ByteRange]:
    """Yield the parts of a multipart/byteranges (RFC 9110, 14.6)."""
    for each in ranges:
        head = (
            f"\r\n--{boundary}\r\nContent-Type: {media_type}\r\n"
            f"Content-Range: {each.content_range(size)}\r\n\r\n"
        )
        yield head.encode("ascii")
        yield each
    yield f"\r\n--{boundary}--\r\n".encode("ascii")


class _Delivery(Response):
    """A response made of bytes and of parts of a file, which it closes."""

    def __init__(
        self,
        file: OpenFile,
        status: HTTPStatus,
        headers: dict[str, str],
        pieces: list[bytes | ByteRange],
    ) -> None:
        """Take over the open file."""
        super().__init__(status_code=status)
        # All at once: setting one header searches all that exist.
        self.raw_headers = [
            (name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()
        ]
        self._file = file
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, and close the file."""
        try:
            start = {"type": "http.response.start", "status": self.status_code}
            await send({**start, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
            else:
                await self._send_body(scope, receive, send)
        finally:
            self._file.close()

    async def _send_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        if sum(map(len, self._pieces)) <= SMALL:
            await send({"type": "http.response.body", "body": await self._whole()})
        elif self._file.fd is not None and sendfile.EXTENSION in scope.get("extensions", {}):
            for number, piece in enumerate(self._pieces, 1):
                more = {"more_body": number < len(self._pieces)}
                await send({**self._message(piece), **more})
        else:
            async with aclosing(self._read()) as pieces:
                await send_pieces(pieces, receive, send)

    def _message(self, piece: bytes | ByteRange) -> dict[str, object]:
        if isinstance(piece, bytes):
            return {"type": "http.response.body", "body": piece}
        return {
            "type": sendfile.EXTENSION,
            "file": self._file.fd,
            "offset": piece.start,
            "count": len(piece),
        }

    async def _whole(self) -> bytes:
        parts = [
            piece
            if isinstance(piece, bytes)
            else await file_chunks.read_all(self._file, piece.start, piece.stop)
            for piece in self._pieces
        ]
        return b"".join(parts)

    async def _read(self) -> AsyncGenerator[bytes, None]:
        for piece in self._pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            async with aclosing(file_chunks.pieces(self._file, piece.start, piece.stop)) as read:
                async for body in read:
                    yield body


async def send_pieces(pieces: AsyncIterator[bytes], receive: Receive, send: Send) -> None:
    """Send the pieces of a body, and its end; stop if the client hangs up."""
    hang_up = asyncio.ensure_future(_hang_up(receive))
    try:
        async for body in pieces:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            if hang_up.done():  # `send` does not report that the client is gone
                return
        await send({"type": "http.response.body", "body": b""})
    finally:
        hang_up.cancel()


async def _hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
