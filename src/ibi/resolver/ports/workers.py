"""What several processes need of the database that they serve one resolver by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """Something that changed on record: numbered without a gap, in the order of the changes."""

    number: int
    archive: str = ""
    """The id of the archive that changed; empty if it is about an item."""
    label: str = ""
    """The canonical label of the item of which no memory holds any more."""


class FeedStore(Protocol):
    """What every process follows."""

    def newest(self) -> int:
        """Return the number of the last news, 0 before there are any."""
        ...

    def news(self, after: int, limit: int) -> list[FeedEntry]:
        """Return news by number; those of long ago are forgotten."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerList:
    """Who serves, and what one of them has to do for all."""

    beats: Mapping[str, int]
    """By process, how often it said that it is there."""
    duties: frozenset[str] = frozenset()
    """The duties of the process that asked."""


class ProcessStore(Protocol):
    """Which processes there are, and who of them does what for all.

    No clock has a say: a process counts as gone when another says so, which names the beat that
    it saw last.
    """

    def register(self, process: str, duties: Sequence[str]) -> None:
        """Begin with a process, by a name that was never used."""
        ...

    def heartbeat(self, process: str, gone: Mapping[str, int]) -> WorkerList | None:
        """Say that a process is there, and that others are gone if they were not heard since.

        Duties that nobody has are its own from then on. None if it counts as gone itself.
        """
        ...

    def unregister(self, process: str) -> None:
        """Forget a process, which is about to end."""
        ...

    def adopt_pending(self, process: str) -> int:
        """Let a process keep the acknowledgments of all that are gone; return how many accesses."""
        ...
