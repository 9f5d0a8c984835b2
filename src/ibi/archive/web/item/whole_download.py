"""All files of an item as one ZIP file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.file_store import OpenFile
from ibi.archive.web.delivery.file_chunks import afar
from ibi.archive.web.delivery.file_delivery import send_pieces
from ibi.archive.web.delivery.zip_stream import MEDIA_TYPE, zipped
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.errors import Sentence, StateError, TooLargeError, UnknownError
from ibi.foundation.web.header_values import content_disposition, link
from ibi.model.item import File

T = TypeVar("T")

FORMAT: Final = "format"
"""The pair of a query that names the format in which a list of files is the answer."""
ZIP: Final = "zip"
MOST_FILES: Final = 20_000
"""Files of one ZIP file: its directory, which is sent last, takes some 600 bytes of memory each."""
MOST_AT_ONCE: Final = 100_000
"""Files of all ZIP files that are sent at the same time by one process."""
RETRY_AFTER: Final = 60
"""Seconds after which to try again if too many are sent."""
_PAGE: Final = 500
"""Files that are read from the catalogue at once."""
_USED: Final = "?format=zip"
"""All files together, in the records of downloads; no file can have this path."""


class WholeDownloads:
    """Answers with all files of an item."""

    def __init__(self, archive: Archive, usage: UsageRecorder, urls: ArchiveUrls) -> None:
        """Read the items of an archive."""
        self._items = archive.catalogue.items
        self._store = archive.store
        self._is_quick = archive.catalogue.quick
        self._usage = usage
        self._urls = urls
        self._under_way = 0

    async def answer(self, held: StoredItem, request: Request) -> Response:
        """Answer with the files of an item, which the reader may read."""
        label = held.item.forms.label.spelling
        total = await self._run(lambda: self._items.file_totals([held.id], MOST_FILES))
        if held.id not in total:
            raise UnknownError("list of", label)
        if total[held.id].is_cut:
            msg = Sentence(
                "%(label)s has more than %(most)s files, which do not go into one ZIP file: take "
                "them one by one from the list of its files.",
                label=label,
                most=MOST_FILES,
            )
            raise TooLargeError(msg)
        response = _ZipResponse(
            self._headers(held), lambda: self._pieces(held, total[held.id].count)
        )
        self._usage.download(held.id, _USED, request, response)
        return response

    def _headers(self, held: StoredItem) -> dict[str, str]:
        name = f"{held.item.forms.short.spelling.replace('/', '-')}.zip"
        return {
            "Content-Type": MEDIA_TYPE,
            "Content-Disposition": content_disposition(name, attachment=True),
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
            "Accept-Ranges": "none",
            "Link": link(self._urls.persistent(held.item.forms), "cite-as"),
            # It is no page that an engine should have, and costs as much as all files.
            "X-Robots-Tag": "noindex, nofollow",
        }

    async def _pieces(self, held: StoredItem, count: int) -> AsyncGenerator[bytes, None]:
        place = held.item.forms.label.spelling

        async def open_file(file: File) -> OpenFile:
            if self._store.quick:
                return self._store.open(place, file.path)
            return await afar(self._store.open, place, file.path)

        with self._room_for(count):
            async with aclosing(zipped(self._files(held), open_file)) as pieces:
                async for piece in pieces:
                    yield piece

    @contextmanager
    def _room_for(self, count: int) -> Iterator[None]:
        if self._under_way + count > MOST_AT_ONCE and self._under_way:
            msg = Sentence("Too many ZIP files are sent at the moment. Try again in a minute.")
            headers = {"Retry-After": str(RETRY_AFTER)}
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, msg, headers)
        self._under_way += count
        try:
            yield
        finally:
            self._under_way -= count

    async def _files(self, held: StoredItem) -> AsyncGenerator[File, None]:
        """Yield the files of an item, page by page.

        Raises StateError if the item changes meanwhile: a ZIP file of two states would be of none.
        """
        after: str | None = ""
        while after is not None:
            page = await self._run(partial(self._items.files, held.id, after, _PAGE))
            for file in page:
                yield file
            await self._run(partial(self._check, held))
            after = page[-1].path if len(page) == _PAGE else None

    def _check(self, held: StoredItem) -> None:
        now = self._items.find(held.item.forms.label.canonical)
        if now is None or now.version != held.version:
            raise StateError(Sentence("The item was changed meanwhile: begin the download again."))

    async def _run(self, read: Callable[[], T]) -> T:
        return read() if self._is_quick else await asyncio.to_thread(read)


class _ZipResponse(Response):
    """A response that is written while it is sent; it breaks off if something is in the way."""

    def __init__(
        self, headers: dict[str, str], pieces: Callable[[], AsyncGenerator[bytes, None]]
    ) -> None:
        super().__init__()
        self.raw_headers = [
            (name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()
        ]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        start = {"type": "http.response.start", "status": self.status_code}
        if scope["method"] == "HEAD":
            await send({**start, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b""})
            return
        async with aclosing(self._pieces()) as pieces:
            # What is in the way of the first piece is an error that can still be told.
            first = await anext(pieces)
            await send({**start, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": first, "more_body": True})
            await send_pieces(pieces, receive, send)
