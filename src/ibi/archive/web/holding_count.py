"""How many items there are, as of a minute ago: to count a million takes a while."""

from __future__ import annotations

import asyncio
from typing import Final

from ibi.archive.ports.catalogue import Items
from ibi.model.clock import Clock

_STALE: Final = 60 * 1_000_000_000


class ItemCount:
    """Counts now and again, whoever asks how often."""

    def __init__(self, items: Items, clock: Clock) -> None:
        """Count in a catalogue."""
        self._items = items
        self._clock = clock
        self._counting = asyncio.Lock()
        self._counted_at: int | None = None
        self._count = 0

    async def count(self) -> int:
        """Return how many items of data there are, without those that were deleted."""
        async with self._counting:
            now = self._clock.uptime()
            if self._counted_at is None or now - self._counted_at > _STALE:
                self._count = await asyncio.to_thread(self._items.count)
                self._counted_at = now
            return self._count
