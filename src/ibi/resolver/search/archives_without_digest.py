"""The archives that publish no digest, which are asked at every search: kept ready.

Whether one publishes changes with time, and nobody tells. So they are looked at again by and by, a
part at a time: no search among 100,000 archives begins by going through them. What was overlooked
for a while costs a reader time, and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from ibi.resolver.registry.registry import Registry

PART: Final = 2000
"""So many are looked at again,"""
PAUSE: Final = 0.1
"""and then none for so many seconds."""


class UndigestedArchives:
    """The included archives that publish no digest, as far as was looked."""

    def __init__(self, registry: Registry, publishes: Callable[[str], bool]) -> None:
        """Look at nobody yet."""
        self._registry = registry
        self._publishes = publishes
        self._names: set[str] = set()
        self._included: dict[str, None] = {}
        """All that were looked at."""
        self._order: list[str] = []
        self._version = -1
        self._at = 0
        self._due = 0.0

    def names(self, now: float) -> AbstractSet[str]:
        """Return them; `now` is by the clock of the event loop."""
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._follow()
        if now >= self._due:
            self._due = now + PAUSE
            self._look(self._order[self._at : self._at + PART])
            self._at = self._at + PART if self._at + PART < len(self._order) else 0
        return self._names

    def _follow(self) -> None:
        """Look at who came, and forget who left."""
        included = self._registry.by_name.keys()
        self._names -= self._included.keys() - included
        self._look(included - self._included.keys())
        self._included = dict.fromkeys(included)
        self._order = list(included)

    def _look(self, names: Iterable[str]) -> None:
        for name in names:
            if self._publishes(name):
                self._names.discard(name)
            else:
                self._names.add(name)
