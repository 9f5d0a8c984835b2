"""Conflicting claims to one Original, with the evidence (004, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The answer in which one archive claimed an Original."""

    archive: str
    """The canonical label of its archive service."""
    address: str
    url: str
    timestamp: str
    """When the item was last updated, according to the archive."""
    first_seen: int
    """Nanoseconds of POSIX time."""
    last_seen: int
    """Nanoseconds of POSIX time."""
    answer: str
    """The pair list of the first such answer, without its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Claims of several archives to one Original, or one against its known owner."""

    id: int
    """0 before it is stored."""
    label: str
    """The canonical label of the item."""
    claims: tuple[Claim, ...]
    """All claims, that of the known owner first."""
    opened: int
    last_seen: int
    seen: int = 1
    """How many times the conflict was observed."""
    settled: int = 0
    """When the operator settled it, in nanoseconds of POSIX time; 0 while it is open."""
    owner: str = ""
    """The archive for which it was settled."""
    note: str = ""

    @property
    def is_open(self) -> bool:
        """Whether an investigation is still needed."""
        return not self.settled
