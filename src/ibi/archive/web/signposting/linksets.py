"""The links of an item as documents of their own (RFC 9264): those that no header has room for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.web.signposting.signposts import (
    LINKSETS,
    LINKSETS_JSON,
    Signposts,
    linked_files,
)
from ibi.archive.web.signposting.web_links import (
    LINKSET,
    LINKSET_JSON,
    WebLink,
    link_document,
    linkset_json,
)
from ibi.archive.web.urls import ArchiveUrls, divided
from ibi.model.item import File

MOST_FILES: Final = 1000
"""Files that a linkset tells of; the list of files has all."""
_HEADERS: Final = {
    "Cache-Control": "public, max-age=60",
    "X-Content-Type-Options": "nosniff",
    "Access-Control-Allow-Origin": "*",
    "X-Robots-Tag": "noindex",
}

T = TypeVar("T")


class LinksetEndpoint:
    """Answers with all links of an item."""

    def __init__(self, archive: Archive, urls: ArchiveUrls) -> None:
        """Link to the items of an archive."""
        self._archive = archive
        self._items = archive.catalogue.items
        self._signposts = Signposts(urls)
        self._is_quick = archive.catalogue.quick

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(f"{LINKSETS}{{ibi:path}}", self.text),
            Route(f"{LINKSETS_JSON}{{ibi:path}}", self.json),
        ]

    async def text(self, request: Request) -> Response:
        """Answer with `application/linkset`."""
        links = await self._links(request, LINKSETS)
        return Response(link_document(links), headers={**_HEADERS, "Content-Type": LINKSET})

    async def json(self, request: Request) -> Response:
        """Answer with `application/linkset+json`."""
        links = await self._links(request, LINKSETS_JSON)
        return Response(linkset_json(links), headers={**_HEADERS, "Content-Type": LINKSET_JSON})

    async def _links(self, request: Request, start: str) -> list[WebLink]:
        found = divided(request.scope["raw_path"], start.encode())
        if found is None or found[1]:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        look = await self._run(lambda: self._archive.get_described(found[0]))
        files = await self._run(lambda: self._files(look))
        return [*self._signposts.all(look, files)]

    def _files(self, look: ItemWithMetadata) -> tuple[File, ...]:
        item = look.item
        target = self._items.file(look.held.id, item.target) if item.target else None
        files = self._items.files(look.held.id, "", MOST_FILES) if item.list_public else []
        return linked_files(item, target, files)[:MOST_FILES]

    async def _run(self, read: Callable[[], T]) -> T:
        return read() if self._is_quick else await asyncio.to_thread(read)
