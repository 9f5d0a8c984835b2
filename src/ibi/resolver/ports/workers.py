"""Protocols of the database by which several processes serve one resolver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

DIGESTS: Final = "digests"
"""The duty of fetching digests."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A stored change, numbered without a gap in the order of the changes."""

    number: int
    archive: str = ""
    """The id of the archive that changed; empty if an item did."""
    label: str = ""
    """The canonical label of an item to drop from caches; empty if an archive changed."""


class FeedStore(Protocol):
    """The change feed, which every process follows."""

    def newest(self) -> int:
        """Return the number of the last change, 0 before there is any."""
        ...

    def news(self, after: int, limit: int) -> list[FeedEntry]:
        """Return changes by number, later than `after`; old ones are deleted."""
        ...


class FeedWriter(Protocol):
    """Writes to the change feed."""

    def publish(self, label: str) -> None:
        """Append a label, which all processes drop from their caches."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerList:
    """The processes of a resolver, and the duties of one of them."""

    beats: Mapping[str, int]
    """The number of heartbeats by process."""
    duties: frozenset[str] = frozenset()
    """The duties of the process that sent the heartbeat."""


class ProcessStore(Protocol):
    """The processes of a resolver, and their duties.

    No clock is used: a process counts as gone when another one reports it, with the last beat that
    it observed.
    """

    def register(self, process: str, duties: Sequence[str]) -> None:
        """Add a process, under a name that was never used."""
        ...

    def heartbeat(self, process: str, gone: Mapping[str, int]) -> WorkerList | None:
        """Count a heartbeat of a process, and mark others as gone if their beat is still the same.

        The process gets all duties without a holder. None if it counts as gone itself.
        """
        ...

    def unregister(self, process: str) -> None:
        """Remove a process that is about to end."""
        ...

    def adopt_pending(self, process: str) -> int:
        """Adopt the acknowledgments of processes that are gone; return the number of accesses."""
        ...


class FollowedLogStore(Protocol):
    """The archives whose digests stand for answers, as the process that fetches digests relays."""

    def publish(self, process: str, digests: Mapping[str, int], *, anew: bool) -> bool:
        """Store the numbers of digests by archive, 0 if one stands for no answer, and count this.

        With `anew`, digests that are not named here stand for none. Return False, and store
        nothing, if fetching digests is not the duty of the process.
        """
        ...

    def published(self, after: int) -> tuple[int, list[tuple[str, int]]]:
        """Return how often was published, and what was since a count: archives and numbers."""
        ...
