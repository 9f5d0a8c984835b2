"""Uploads of files: streamed to the disk, resumable, and checked if the client sends a checksum.

They are resumable by the IETF draft (draft-ietf-httpbis-resumable-upload): `Upload-Offset` is the
place of the first byte, and `Upload-Complete: ?0` means that more will follow. Checksums are those
of RFC 9530.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, suppress
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ibi.archive.ports.file_store import Sink
from ibi.errors import ArchiveRequestError, Sentence, TooLargeError, shown
from ibi.foundation.web.openapi import header
from ibi.model.item import File
from ibi.wire.percent_encoding import text_of

T = TypeVar("T")

PIECE: Final = 1 << 20
"""Bytes of one write to the disk."""

OFFSET: Final = header("Upload-Offset", "From which byte on", required=True)
"""The header of a request that continues an upload, as the document of the API describes it."""
UPLOAD: Final = (
    header("Upload-Complete", "?0 if more will follow"),
    header("Repr-Digest", "Of the whole file: sha-256=:...: (RFC 9530)"),
)
"""The headers of each request that uploads."""

_DIGEST: Final = re.compile(r"(sha-256|sha-512)=:([A-Za-z0-9+/=]{1,100}):")
_NAMES: Final = {"sha-256": "sha256", "sha-512": "sha512"}
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,60}/[A-Za-z0-9!#$&^_.+-]{1,100}")
_UNKNOWN: Final = frozenset({"application/octet-stream", "application/x-www-form-urlencoded"})
"""Types that clients send when they do not know the type of a file."""


def offset_of(request: Request) -> int:
    """Return the offset of the first byte; raise ArchiveRequestError if it is not valid."""
    text = request.headers.get("upload-offset", "" if request.method == "PATCH" else "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):  # noqa: PLR2004  # a petabyte
        msg = Sentence(
            "Upload-Offset says from which byte on; %(text)s does not.", text=shown(text)
        )
        raise ArchiveRequestError(msg)
    if request.method == "PUT" and text != "0":
        msg = Sentence("PUT begins a file anew; to go on, send PATCH with its Upload-Offset.")
        raise ArchiveRequestError(msg)
    return int(text)


def is_last(request: Request) -> bool:
    """Return whether this request completes the file."""
    text = request.headers.get("upload-complete", "?1")
    if text not in {"?0", "?1"}:
        msg = Sentence("Upload-Complete is ?1 or ?0, not %(text)s.", text=shown(text))
        raise ArchiveRequestError(msg)
    return text == "?1"


def checksum_of(request: Request, *, whole: bool) -> tuple[str, str] | None:
    """Return the checksum that the client gives of the whole file, by name and in hexadecimal.

    `Content-Digest` is of what one request carries, which need not be the whole.
    """
    text = request.headers.get("repr-digest", "")
    if not text and (text := request.headers.get("content-digest", "")) and not whole:
        msg = Sentence(
            "Content-Digest is of a part of the file: send Repr-Digest, which is of all of it."
        )
        raise ArchiveRequestError(msg)
    if not text:
        return None
    found = [match.groups() for match in _DIGEST.finditer(text)]
    if not found:
        msg = Sentence(
            "The digest is not one that is known here: expected sha-256=:...: or sha-512=:...:."
        )
        raise ArchiveRequestError(msg)
    name, encoded = found[-1]
    try:
        return _NAMES[name], base64.b64decode(encoded, validate=True).hex()
    except binascii.Error:
        msg = Sentence("The digest %(encoded)s is not base64.", encoded=shown(encoded))
        raise ArchiveRequestError(msg) from None


def media_type_of(request: Request) -> str:
    """Return the type that the client declares, empty if it declares none worth keeping."""
    return declared_type(request.headers.get("content-type", ""))


def declared_type(header: str) -> str:
    """Return the media type in a header; empty if it is none worth keeping."""
    text = header.partition(";")[0].strip().lower()
    return text if _MEDIA_TYPE.fullmatch(text) and text not in _UNKNOWN else ""


def path_after(request: Request, marker: bytes) -> str:
    """Return the path after a marker, decoded once; as ISO 8859-1 if it is not UTF-8."""
    raw: bytes = request.scope["raw_path"]
    return text_of(unquote_to_bytes(raw.partition(marker)[2]))


async def receive(
    request: Request, reception: AbstractContextManager[Sink], offset: int, largest: int
) -> File | None:
    """Write the body of a request to a file; return the file if it is complete."""
    last, media_type = is_last(request), media_type_of(request)
    checksum = checksum_of(request, whole=last and not offset)
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and offset + int(announced) > largest:
        raise TooLargeError(_too_large(largest))
    sink = await to_the_end(reception.__enter__)
    try:
        size = offset
        async for piece in _pieces(request):
            size += len(piece)
            if size > largest:
                raise TooLargeError(_too_large(largest))
            await to_the_end(sink.write, piece)
        if last:
            return await to_the_end(sink.finish, media_type, checksum)
        await to_the_end(sink.suspend)
        return None
    finally:
        await to_the_end(reception.__exit__, None, None, None)


async def to_the_end(work: Callable[..., T], *values: object) -> T:
    """Do some work in a thread, and wait for its end even if cancelled.

    Otherwise a file would be closed while a thread still writes to it.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *values))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(Exception):
            await task
        raise


def _too_large(largest: int) -> Sentence:
    return Sentence(
        "The file is larger than %(most)s bytes, which is all that this archive takes.",
        most=largest,
    )


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield the body in pieces that are large enough for one write."""
    gathered: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            gathered.append(chunk)
            size += len(chunk)
            if size >= PIECE:
                yield b"".join(gathered)
                gathered, size = [], 0
    except ClientDisconnect:
        if gathered:
            yield b"".join(gathered)  # so that the client need not send it again
        raise HTTPException(
            400, Sentence("The body ended early: ask how much of it is kept.")
        ) from None
    if gathered:
        yield b"".join(gathered)
