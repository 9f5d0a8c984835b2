"""The manifest of an item, as other archives may have it: from it they make their copies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.manifest import manifest
from ibi.model.item import Item
from ibi.ports import Held
from ibi.web.readers import Readers

MANIFEST: Final = "/ibi.json"
"""What follows a label in the address of a manifest."""
_AT_ONCE: Final = 4
"""Lists of files that are put together: one of a hundred thousand takes its room."""


class ManifestDoor:
    """Tells manifests: all that is in them to who may read the files, and to others the rest."""

    def __init__(self, archive: Archive, readers: Readers) -> None:
        """Tell those of one archive."""
        self._archive = archive
        self._readers = readers
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, held: Held, request: Request) -> Response:
        """Answer with the manifest of an item; never with what it says of a transfer."""
        item = replace(held.item, transfer=None)
        if item.kind == "data" and await self._is_listed(held.item, request):
            # It may have any number of files.
            async with self._turns:
                body = await asyncio.to_thread(lambda: manifest(item, self._archive.files(held)))
        else:
            body = manifest(item, ())
        # Who made a copy by an older manifest than the files would find it damaged.
        return Response(body, headers={"Cache-Control": "no-store"}, media_type="application/json")

    async def _is_listed(self, item: Item, request: Request) -> bool:
        if item.list_public:
            return await self._readers.may_read(item, request)
        return await self._readers.is_trusted(item, request)
