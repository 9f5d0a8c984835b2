"""The endpoint of the page of an item: reads what the page shows, and answers with it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.web.item.context import ItemContext, ItemContexts
from ibi.archive.web.item.previews import Previews
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.model.item import File

PREVIEW: Final = "preview"
"""The pair of a query that names the file to be shown."""


class ItemEndpoint:
    """Answers with the pages of items."""

    def __init__(self, archive: Archive, pages: ItemPages, usage: UsageRecorder) -> None:
        """Show the items of an archive."""
        self._usage = usage
        self._contexts = ItemContexts(archive)
        self._previews = Previews(archive.catalogue.items, archive.store)
        self._pages = pages
        self._is_quick = archive.catalogue.quick

    async def answer(self, look: ItemWithMetadata, request: Request) -> Response:
        """Answer with the page of an item and its metadata."""
        wanted = request.query_params.get(PREVIEW, "")
        if self._is_quick:
            context, file = self._read(look, wanted)
        else:
            context, file = await asyncio.to_thread(self._read, look, wanted)
        if file is not None:
            preview = await self._previews.made(look.item, file)
            context = replace(context, preview=preview)
        self._usage.view(look.held.id, request)
        return await self._pages.item(look, context, request)

    def _read(self, look: ItemWithMetadata, wanted: str) -> tuple[ItemContext, File | None]:
        return self._contexts.read(look), self._previews.chosen(look, wanted)
