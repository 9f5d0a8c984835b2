"""What archives say of items that they deleted, beyond the state that the standard has."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from ibi.identifier.label import Label
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.documents import DocumentClient
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.acknowledgment import is_ours
from ibi.resolver.rules.archive_documents import Tombstone, read_tombstone
from ibi.resolver.search.search import Charge

MAX_SECONDS: Final = 1.0
"""Seconds that a page waits for a tombstone; it is shown without one then."""
MAX_ARCHIVES: Final = 2
"""Archives that are asked for the tombstone of one item."""
TOMBSTONE_SECONDS: Final = 60.0
"""Seconds for which a tombstone is used again."""
MAX_TOMBSTONES: Final = 1024
"""Tombstones that are remembered; the oldest is dropped first."""


class Tombstones:
    """Fetches tombstones from the archives that deleted an item; for one event loop."""

    def __init__(self, registry: Registry, documents: DocumentClient) -> None:
        """Remember no tombstone yet."""
        self._registry = registry
        self._documents = documents
        self._kept: OrderedDict[tuple[str, str], tuple[Tombstone, float]] = OrderedDict()

    async def find(
        self, label: Label, archives: Iterable[str], charge: Charge
    ) -> tuple[RegisteredArchive, Tombstone] | None:
        """Return the first tombstone that one of the archives has; None if none comes in time."""
        found = (self._registry.find(name) for name in archives)
        asked = [each for each in found if each is not None and is_ours(each) and each.address]
        for archive in asked[:MAX_ARCHIVES]:
            tombstone = await self._of(label, archive, charge)
            if tombstone is not None:
                return archive, tombstone
        return None

    async def _of(
        self, label: Label, archive: RegisteredArchive, charge: Charge
    ) -> Tombstone | None:
        key, now = (label.canonical, archive.id), asyncio.get_running_loop().time()
        known = self._kept.get(key)
        if known is not None and now < known[1]:
            return known[0]
        charge(1)
        path = label.spelling
        reply = await self._documents.document(archive, path, "", MAX_SECONDS / MAX_ARCHIVES)
        tombstone = read_tombstone(reply) if isinstance(reply, bytes) else None
        if tombstone is not None:
            self._kept.pop(key, None)
            self._kept[key] = tombstone, now + TOMBSTONE_SECONDS
            while len(self._kept) > MAX_TOMBSTONES:
                self._kept.popitem(last=False)
        return tombstone
