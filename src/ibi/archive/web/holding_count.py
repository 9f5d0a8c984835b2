"""The number of items, cached for a minute: counting a million takes a while."""

from __future__ import annotations

import asyncio
from typing import Final

from ibi.archive.ports.catalogue import Items
from ibi.model.clock import SECOND, Clock

_STALE: Final = 60 * SECOND


class ItemCount:
    """Counts items at most once a minute, however often it is called."""

    def __init__(self, items: Items, clock: Clock) -> None:
        """Count the items of a catalogue."""
        self._items = items
        self._clock = clock
        self._counting = asyncio.Lock()
        self._counted_at: int | None = None
        self._count = 0

    async def count(self) -> int:
        """Return the number of items of data that are not deleted."""
        async with self._counting:
            now = self._clock.uptime()
            if self._counted_at is None or now - self._counted_at > _STALE:
                self._count = await asyncio.to_thread(self._items.count)
                self._counted_at = now
            return self._count
