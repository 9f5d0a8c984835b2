"""Protocol of the log of published items, which harvesters follow, and its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

END_OF_TIME: Final = 2**62
"""A second that is later than any datestamp."""


class HarvestPlace(NamedTuple):
    """A place in the order of the log by time: that of one row."""

    stamp: int
    """Seconds of POSIX time."""
    number: int


class HarvestState(NamedTuple):
    """The state of the log."""

    epoch: str
    """16 hexadecimal digits: those of the database in which the log began."""
    last: int
    """The number of the last change; 0 if there is none."""
    whole: bool
    """Whether the log has all items; not before items older than the log are added to it."""


@dataclass(frozen=True, slots=True)
class HarvestRow:
    """The last change of one item; each item has one row, which moves to the end when it changes.

    The numbers of rows grow in the order in which changes become visible, and the seconds of rows
    never decrease with their numbers, but for rows that `renew` moved.
    """

    label: str
    """Canonical."""
    number: int
    stamp: int
    """The datestamp, in seconds of POSIX time."""
    name: str
    """The shorter label of the item, as it is spelled."""
    deleted: bool
    """Whether the archive published the item once, and does so no longer."""
    sets: tuple[str, ...]
    """The sets of the item, as setSpec; those that it had last, if it is deleted."""

    @property
    def place(self) -> HarvestPlace:
        """Its place in the order by time."""
        return HarvestPlace(self.stamp, self.number)


class HarvestLog(Protocol):
    """The log of published items; a change of an item is logged in the same transaction."""

    def state(self) -> HarvestState:
        """Return the state of the log."""
        ...

    def earliest(self) -> int:
        """Return the earliest datestamp; 0 if there is none."""
        ...

    def find(self, label: str) -> HarvestRow | None:
        """Return the row of an item by its canonical label; None if it was never published."""
        ...

    def page(
        self, after: HarvestPlace, until: int, limit: int, set_spec: str = ""
    ) -> list[HarvestRow]:
        """Return rows after a place, up to a datestamp, in the order of places."""
        ...

    def changes(self, after: int, limit: int) -> list[HarvestRow]:
        """Return rows numbered greater than `after`, in the order of numbers."""
        ...

    def sets(self, after: str, limit: int) -> list[str]:
        """Return sets after one, in order; at most 1000 are asked for."""
        ...

    def renew(self, labels: Sequence[str], since: int, now: int) -> bool:
        """Give rows that were written since a time the present one, if a second has begun since.

        Times are in nanoseconds. Return whether rows were written.
        """
        ...

    def fill(self, now: int) -> bool:
        """Log some items that are older than the log; return False if none is left."""
        ...
