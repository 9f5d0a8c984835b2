"""What the archive needs of the world: numbers of what is read, and of what is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Access:
    """Items were read, once or more often, as a key proves that counts once."""

    item: int
    day: str
    issued: int
    nonce: int
    until: int
    """Seconds of POSIX time after which the key is refused for its age: it may be forgotten."""
    count: int = 1
    others: tuple[tuple[str, int], ...] = ()
    """Of other items how many, by a canonical label of each; what is not here is not counted."""


@dataclass(frozen=True, slots=True)
class DayAccesses:
    """How often something was read on a day."""

    day: str
    count: int


@dataclass(frozen=True, slots=True)
class ItemAccesses:
    """How often an item was read."""

    item: int
    label: str
    """Canonical."""
    count: int


@dataclass(frozen=True, slots=True)
class HoldingCount:
    """Items of one kind and state that were made on one day, and their files."""

    kind: str
    state: str
    day: int
    """Days after 1970-01-01."""
    items: int
    files: int
    size: int
    """Bytes of all files."""


@dataclass(frozen=True, slots=True)
class TaskCount:
    """Tasks of one kind and state."""

    kind: str
    state: str
    count: int
    begun: int
    """When the last of them was begun, in nanoseconds of POSIX time."""


@dataclass(frozen=True, slots=True)
class TransferCount:
    """Transfers of one side and state."""

    role: str
    state: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceCounts:
    """How it stands with what makes an archive last."""

    copies: int
    """Of which the archive knows how they stand with their Originals."""
    missing: int
    """Copies whose Originals cannot be found."""
    faulty: int
    """Copies that could not be brought up to date."""
    damaged: int
    """Files that are not what they were."""
    exchanges: tuple[TransferCount, ...]
    tasks: tuple[TaskCount, ...]


class Statistics(Protocol):
    """How often items were read, and what is held. No address of a reader comes here."""

    def count_accesses(self, accesses: Sequence[Access]) -> list[bool]:
        """Count each access whose key was not used, in one durable step; tell which."""
        ...

    def forget_keys(self, before: int) -> None:
        """Forget used keys that nobody would accept any more."""
        ...

    def accesses(self, first: str, last: str, item: int = 0) -> list[DayAccesses]:
        """Return accesses by day, of one item or of all together; days without any are left out."""
        ...

    def most_read(
        self, first: str, last: str, limit: int, after: tuple[int, int] | None = None
    ) -> list[ItemAccesses]:
        """Return the items that were read most; of those read as often, the older first.

        `after` is the count and the number of the item that the page before this ended with.
        """
        ...

    def holdings(self) -> list[HoldingCount]:
        """Return what is held, by kind, state, and the day on which it was made."""
        ...

    def maintenance_counts(self) -> MaintenanceCounts:
        """Return how it stands with copies, transfers, tasks and damage."""
        ...
