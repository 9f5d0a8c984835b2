"""Rival claims to one Original, with the evidence (004, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one archive said when it claimed an Original."""

    archive: str
    """Its service label, canonical."""
    address: str
    url: str
    timestamp: str
    """When the item was last updated, by its own words."""
    first_seen: int
    last_seen: int
    """In nanoseconds of POSIX time."""
    answer: str
    """The pair list of the first such answer, without its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two or more archives that claim, or one that claims what another is known to own."""

    id: int
    """0 before it is kept."""
    label: str
    """Of the item, canonical."""
    claims: tuple[Claim, ...]
    """The incumbent's first."""
    opened: int
    last_seen: int
    seen: int = 1
    """How often."""
    settled: int = 0
    """When the operator settled it; 0 while it is open."""
    owner: str = ""
    """For whom it was settled."""
    note: str = ""

    @property
    def is_open(self) -> bool:
        """Whether an investigation is still needed."""
        return not self.settled
