"""What a resolver remembers for a short while: answers that are hot, and items that nobody has.

Nothing is served for longer than the bound after it was asked for, so no reader is sent to a place
that an item left for longer than that. When an archive comes, goes or moves, all is forgotten;
when archives contend for an item, or it changes hands, what is remembered of it. What was for one
client is given to the same alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from ibi.resolver.decision import Gone, NotFound, Redirect, Unserved
from ibi.resolver.question import Question, Search
from ibi.resolver.resolution import Chain, Resolution

MOST_HOT: Final = 100_000
MOST_ABSENT: Final = 2_000
"""Fewer: each has the answers of all archives with it."""

Key: TypeAlias = tuple[Search, bool, tuple[str, ...], tuple[str, ...]]


@dataclass(slots=True, eq=False)
class Remembered:
    """A resolution that may be given again."""

    resolution: Resolution
    until: float
    """By the clock of the event loop; 0 once it is forgotten."""


class _Shelf:
    """Holds what is remembered for one time, the oldest first."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: dict[Key, Remembered] = {}
        self._of: dict[str, set[Key]] = {}

    def find(self, key: Key) -> Remembered | None:
        return self._kept.get(key)

    def put(self, key: Key, resolution: Resolution, now: float) -> Remembered | None:
        if not self._seconds:
            return None
        self._drop(key)
        for oldest in list(self._outdated(now)):
            self._drop(oldest)
        if len(self._kept) >= self._most:
            self._drop(next(iter(self._kept)))
        remembered = Remembered(resolution, resolution.began + self._seconds)
        self._kept[key] = remembered
        for label in _labels(resolution):
            self._of.setdefault(label, set()).add(key)
        return remembered

    def _outdated(self, now: float) -> Iterator[Key]:
        for key, remembered in self._kept.items():
            if now < remembered.until:
                return
            yield key

    def _drop(self, key: Key) -> None:
        remembered = self._kept.pop(key, None)
        if remembered is None:
            return
        remembered.until = 0.0
        for label in _labels(remembered.resolution):
            keys = self._of.get(label, set())
            keys.discard(key)
            if not keys:
                self._of.pop(label, None)

    def forget(self, label: str) -> None:
        for key in list(self._of.get(label, ())):
            self._drop(key)

    def clear(self) -> None:
        for remembered in self._kept.values():
            remembered.until = 0.0
        self._kept.clear()
        self._of.clear()


def _labels(resolution: Resolution) -> set[str]:
    return {step.question.label.canonical for step in resolution.steps}


class Memory:
    """Remembers resolutions."""

    def __init__(
        self, version: Callable[[], int], *, hot_seconds: float, absent_seconds: float
    ) -> None:
        """Remember nothing yet; `version` changes when archives come, go or move."""
        self._version = version
        self._seen = version()
        self._forgotten = 0
        self._hot = _Shelf(hot_seconds, MOST_HOT)
        self._absent = _Shelf(absent_seconds, MOST_ABSENT)

    @property
    def version(self) -> tuple[int, int]:
        """What `keep` wants to know from before a resolution began."""
        return self._version(), self._forgotten

    def recall(self, question: Question, clients: tuple[str, ...], now: float) -> Remembered | None:
        """Return what was resolved a moment ago, for everybody or for these clients."""
        if self._version() != self._seen:
            self._hot.clear()
            self._absent.clear()
            self._seen = self._version()
            return None
        for key in (_key(question, clients), _key(question)):
            found = self._hot.find(key) or self._absent.find(key)
            if found is not None and now < found.until:
                return found
        return None

    def keep(
        self, resolution: Resolution, version: tuple[int, int], now: float
    ) -> Remembered | None:
        """Remember a resolution, if that does no harm; for how long counts from its beginning."""
        if version != self.version:
            return None
        key = _key(resolution.question, resolution.only_for)
        match resolution.outcome:
            case Redirect():
                return self._hot.put(key, resolution.abridged, now)
            case NotFound() | Gone() | Unserved() | Chain():
                return self._absent.put(key, resolution, now)
            case _:
                return None

    def forget(self, label: str) -> None:
        """Forget all that led by way of an item, and what is being found out of it."""
        self._forgotten += 1
        self._hot.forget(label)
        self._absent.forget(label)


def _key(question: Question, only_for: tuple[str, ...] = ()) -> Key:
    ranges = question.preference.ranges if question.depends_on_reader else ()
    return question.search, question.original_required, ranges, only_for
