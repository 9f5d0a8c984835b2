"""Protocol of statistics: how often items are read, and how much is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Access:
    """Accesses to items, proved by a key that is counted once."""

    item: int
    day: str
    issued: int
    nonce: int
    until: int
    """Seconds of POSIX time after which the key is refused for its age, and may be forgotten."""
    count: int = 1
    others: tuple[tuple[str, int], ...] = ()
    """Canonical labels and counts of other items; unknown items are not counted."""


@dataclass(frozen=True, slots=True)
class DayAccesses:
    """The number of accesses on a day."""

    day: str
    count: int


@dataclass(frozen=True, slots=True)
class DayUsage:
    """The numbers of views and downloads on a day."""

    day: str
    views: int
    downloads: int


@dataclass(frozen=True, slots=True)
class ItemAccesses:
    """The number of accesses to an item."""

    item: int
    label: str
    """Canonical."""
    count: int


@dataclass(frozen=True, slots=True)
class HoldingCount:
    """The number of items of one kind and state that were made on one day, and of their files."""

    kind: str
    state: str
    day: int
    """Days after 1970-01-01."""
    items: int
    files: int
    size: int
    """Bytes of all files."""


@dataclass(frozen=True, slots=True)
class MonthCounts:
    """The items of data that came in a month and exist, their files, and all reads of it."""

    month: str
    """As 2026-11, in UTC."""
    items: int
    files: int
    size: int
    """Bytes of all files."""
    accesses: int
    """Readers whom resolvers sent."""
    views: int = 0
    downloads: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """The items of data that exist, and their files."""

    items: int
    files: int
    size: int
    """Bytes of all files."""


@dataclass(frozen=True, slots=True)
class TaskCount:
    """The number of tasks of one kind and state."""

    kind: str
    state: str
    count: int
    begun: int
    """When the last of them began, in nanoseconds of POSIX time."""


@dataclass(frozen=True, slots=True)
class TransferCount:
    """The number of transfers of one role and state."""

    role: str
    state: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceCounts:
    """Numbers of copies, damaged files, transfers and tasks."""

    copies: int
    """Copies that have a record."""
    missing: int
    """Copies whose Originals are not found."""
    faulty: int
    """Copies that could not be updated."""
    damaged: int
    """Damaged files."""
    exchanges: tuple[TransferCount, ...]
    tasks: tuple[TaskCount, ...]


class Statistics(Protocol):
    """Counts of accesses and of holdings. No address of a client is stored."""

    def count_accesses(self, accesses: Sequence[Access]) -> list[bool]:
        """Count each access whose key is unused, in one transaction; return which were counted."""
        ...

    def count_usage(self, uses: Mapping[tuple[int, str], tuple[int, int]]) -> None:
        """Add views and downloads by item and day, in one transaction; not of unknown items."""
        ...

    def usage(self, first: str, last: str, item: int = 0) -> list[DayUsage]:
        """Return views and downloads by day, of one item or of all; days without are left out."""
        ...

    def forget_keys(self, before: int) -> None:
        """Remove used keys that expired before a time."""
        ...

    def accesses(self, first: str, last: str, item: int = 0) -> list[DayAccesses]:
        """Return accesses by day, of one item or of all; days without accesses are left out."""
        ...

    def most_read(
        self, first: str, last: str, limit: int, after: tuple[int, int] | None = None
    ) -> list[ItemAccesses]:
        """Return the items that were read most; among equals, the older first.

        `after` is the count and the number of the last item of the previous page.
        """
        ...

    def holdings(self) -> list[HoldingCount]:
        """Return the holdings by kind, state and day of creation."""
        ...

    def months(self) -> list[MonthCounts]:
        """Return what came in each month and exists, and its reads, from the first month on.

        Months without anything are left out.
        """
        ...

    def totals(self) -> Totals:
        """Return how much the archive keeps, as far as the counts of months have it."""
        ...

    def is_whole(self) -> bool:
        """Return whether the counts of months have all items."""
        ...

    def fill(self) -> bool:
        """Count some items that are not in the months yet; return False if none is left."""
        ...

    def maintenance_counts(self) -> MaintenanceCounts:
        """Return the numbers of copies, transfers, tasks and damaged files."""
        ...
