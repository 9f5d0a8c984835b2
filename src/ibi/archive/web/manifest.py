"""The manifests of items, as archives read them that make copies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.manifest import manifest
from ibi.archive.web.reader_access import ReaderAccess
from ibi.model.item import Item

_AT_ONCE: Final = 4
"""Manifests that are built concurrently: one of a hundred thousand files takes much memory."""


class ManifestEndpoint:
    """Serves manifests: complete to readers of the files, otherwise without the files."""

    def __init__(self, archive: Archive, readers: ReaderAccess) -> None:
        """Serve the manifests of one archive."""
        self._archive = archive
        self._readers = readers
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, held: StoredItem, request: Request) -> Response:
        """Answer with the manifest of an item, always without the state of a transfer."""
        item = replace(held.item, transfer=None)
        if item.kind == "data" and await self._is_listed(held.item, request):
            # It may have any number of files.
            async with self._turns:
                body = await asyncio.to_thread(lambda: manifest(item, self._archive.files(held)))
        else:
            body = manifest(item, ())
        # A copy made with an older manifest than the files would seem damaged.
        return Response(body, headers={"Cache-Control": "no-store"}, media_type="application/json")

    async def _is_listed(self, item: Item, request: Request) -> bool:
        if item.list_public:
            return await self._readers.may_read(item, request)
        return await self._readers.is_trusted(item, request)
