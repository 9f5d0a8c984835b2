"""The endpoint of the page of an item: reads what the page shows, and answers with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.web.item.context import ItemContexts
from ibi.archive.web.item.page_cache import PageCache, page_key
from ibi.archive.web.item.previews import Previews
from ibi.archive.web.item.related import RelatedItems
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.manage.access import ItemAccess
from ibi.archive.web.printed_label import qr_image
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.errors import UnknownError
from ibi.foundation.web.header_values import content_disposition
from ibi.foundation.web.visitor import current_visitor
from ibi.identifier.label import Label
from ibi.model.item import State

T = TypeVar("T")

PREVIEW: Final = "preview"
"""The pair of a query that names the file to be shown."""
PICTURE: Final = "picture"
"""The pair of a query that names a PDF, whose first page is the answer, as an image."""
QR: Final = "qr"
"""The pair of a query to which the QR code of the persistent URL is the answer, as an SVG image."""
SAFE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "public, max-age=60",
}
"""Headers of an image: whatever it is, no browser takes it for a document."""
LIST: Final = "list"
"""The pair of a query that names the list to be shown in place of the page."""
LISTS: Final = ("editions", "translations", "metadata")
"""Lists that have pages of their own: editions, translations, metadata in other languages."""


class ItemEndpoint:
    """Answers with the pages of items."""

    def __init__(
        self, archive: Archive, pages: ItemPages, usage: UsageRecorder, urls: ArchiveUrls
    ) -> None:
        """Show the items of an archive."""
        self._archive = archive
        self._usage = usage
        self._contexts = ItemContexts(archive)
        self._related = RelatedItems(archive.catalogue.items)
        catalogue = archive.catalogue
        self._previews = Previews(catalogue.items, archive.store, catalogue.pictures)
        self._pages = pages
        self._access = ItemAccess(archive)
        self._history = archive.catalogue.history
        self._clock = archive.clock
        self._urls = urls
        self._is_quick = archive.catalogue.quick
        self._cache = PageCache()

    async def cached(self, request: Request) -> Response | None:
        """Return a page that was made before and is current."""
        key = page_key(request, self._urls.persistent_base)
        if request.method != "GET" or key not in self._cache:
            return None
        found = self._cache.get(key, await self._newest(), self._clock.wall())
        if found is None:
            return None
        item, response = found
        self._usage.view(item, request)
        return response

    async def answer(self, label: Label, request: Request) -> Response:
        """Answer with the page of an item and its metadata; `label` is that of its metadata."""
        newest, now = await self._newest(), self._clock.wall()
        look = await self._run(lambda: self._archive.get_described(label))
        wanted = request.query_params.get(PREVIEW, "")
        context = await self._run(lambda: self._contexts.read(look))
        file = await self._run(lambda: self._previews.chosen(look, wanted))
        if file is not None:
            preview = await self._previews.made(look.item, file)
            context = replace(context, preview=preview)
        visitor = current_visitor()
        if visitor.is_signed_in:
            may_change = await self._run(lambda: self._access.allows(look, visitor))
            context = replace(context, may_change=may_change)
        self._usage.view(look.held.id, request)
        response = await self._pages.item(look, context, request)
        metadata = look.metadata.item if look.metadata else None
        if request.method == "GET" and metadata and metadata.state is not State.DELETED:
            key = page_key(request, self._urls.persistent_base)
            self._cache.put(key, look.held.id, newest, now, response)
        return response

    async def listed(self, label: Label, request: Request) -> Response:
        """Answer with a list that is too long for the page of the item; `label` as in `answer`."""
        look = await self._run(lambda: self._archive.get_described(label))
        metadata = look.metadata
        if look.item.state is State.DELETED or metadata is None:
            raise UnknownError("list of", label.spelling)
        item, title = look.item, self._pages.title(look, request)
        after = request.query_params.get("after", "")
        if request.query_params[LIST] == "editions":
            view = await self._run(lambda: self._related.edition_list(look, title))
            return self._pages.editions(view, request)
        of = metadata.item if request.query_params[LIST] == "metadata" else item
        languages = await self._run(
            lambda: self._related.translation_list(of, item.forms, title, after)
        )
        return self._pages.translations(languages, request)

    async def picture(self, label: Label, request: Request) -> Response:
        """Answer with the picture of a PDF; `label` as in `answer`. It is no view of the item."""
        path = request.query_params[PICTURE]
        look = await self._run(lambda: self._archive.get_described(label))
        image = await self._run(lambda: self._previews.picture(look, path))
        if not image:
            raise UnknownError("picture of", path)
        return Response(image, headers=SAFE_HEADERS, media_type="image/webp")

    async def qr_code(self, label: Label) -> Response:
        """Answer with the QR code of an item, to be saved; `label` as in `answer`."""
        look = await self._run(lambda: self._archive.get_described(label))
        forms = look.item.describes or look.item.forms
        image = await asyncio.to_thread(qr_image, self._urls.persistent(forms))
        name = f"{forms.short.spelling.replace('/', '-')}.svg"
        disposition = content_disposition(name, attachment=True)
        headers = {**SAFE_HEADERS, "Content-Disposition": disposition}
        return Response(image, headers=headers, media_type="image/svg+xml")

    async def _newest(self) -> int:
        """Return the number of the newest line of the history."""
        return await self._run(self._history.last)

    async def _run(self, read: Callable[[], T]) -> T:
        return read() if self._is_quick else await asyncio.to_thread(read)
