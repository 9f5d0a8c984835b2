"""Labels that were meant by a mistyped one, by the digests of archives."""

from __future__ import annotations

import asyncio
from typing import Final

from ibi.identifier.label import Label
from ibi.resolver.digests.locations import Locations
from ibi.resolver.rules.near_labels import MAX_MEANT, near_labels
from ibi.wire.digest import fingerprint

PAUSE_SECONDS: Final = 0.05
"""Seconds between two look-ups, each of which takes some milliseconds; one that would come earlier
offers nothing. So a flood of labels that no archive has costs little."""


class MeantLabels:
    """Finds labels near another one that a digest lists; for one event loop."""

    def __init__(self, locations: Locations) -> None:
        """Look into the digests of archives."""
        self._locations = locations
        self._is_running = False
        self._rests_until = 0.0

    async def find(self, label: Label) -> tuple[Label, ...]:
        """Return some labels that archives list, for one that none lists.

        Return none if that takes too long, or cannot be read.
        """
        loop = asyncio.get_running_loop()
        if self._is_running or loop.time() < self._rests_until:
            return ()
        self._is_running = True
        try:
            near = await asyncio.to_thread(_by_fingerprint, label)
            own = fingerprint(label.canonical)
            listed = await self._locations.listed((own, *near))
        finally:
            self._is_running = False
            self._rests_until = loop.time() + PAUSE_SECONDS
        if own in listed:
            return ()
        return tuple(near[each] for each in near if each in listed)[:MAX_MEANT]


def _by_fingerprint(label: Label) -> dict[int, Label]:
    return {fingerprint(name): each for name, each in near_labels(label).items()}
