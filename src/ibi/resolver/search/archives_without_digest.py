"""The archives that publish no digest, which are asked in every search.

Whether an archive publishes one changes with time, and no event announces it. So archives are
checked again a part at a time: no search among 100,000 archives begins with a loop over all of
them. A change that is noticed late costs a reader time, and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from ibi.resolver.registry.registry import Registry

PART: Final = 2000
"""Archives that are checked at a time."""
PAUSE_SECONDS: Final = 0.1
"""Seconds between two checks."""


class UndigestedArchives:
    """The included archives that publish no digest, as of their last check."""

    def __init__(self, registry: Registry, publishes: Callable[[str], bool]) -> None:
        """Check no archive yet."""
        self._registry = registry
        self._publishes = publishes
        self._names: set[str] = set()
        self._included: dict[str, None] = {}
        """All archives that were checked."""
        self._order: list[str] = []
        self._version = -1
        self._at = 0
        self._due = 0.0

    def names(self, now: float) -> AbstractSet[str]:
        """Return the ids of the archives; `now` is by the clock of the event loop."""
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._follow()
        if now >= self._due:
            self._due = now + PAUSE_SECONDS
            self._check(self._order[self._at : self._at + PART])
            self._at = self._at + PART if self._at + PART < len(self._order) else 0
        return self._names

    def _follow(self) -> None:
        """Check archives that are new, and remove those that left."""
        included = self._registry.by_name.keys()
        self._names -= self._included.keys() - included
        self._check(included - self._included.keys())
        self._included = dict.fromkeys(included)
        self._order = list(included)

    def _check(self, names: Iterable[str]) -> None:
        for name in names:
            if self._publishes(name):
                self._names.discard(name)
            else:
                self._names.add(name)
