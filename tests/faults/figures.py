"""What a phase of the fault suite finds and counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

PATIENCE: Final = 60.0
"""Seconds in which something must happen that takes milliseconds: many, for a busy machine."""


class Violation(AssertionError):  # noqa: N818  # of a promise: it is a finding, no error
    """A label that must never have been given out, or none where one had to come."""

    @property
    def brief(self) -> str:
        """What it is, in some words."""
        return str(self).partition(": ")[0].partition("\n")[0][:60]


@dataclass(slots=True)
class Figures:
    """What happened in a phase."""

    labels: int = 0
    duplicates: int = 0
    above_mark: int = 0
    kills: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    ready: list[float] = field(default_factory=list)
    """Seconds from the start of each minter to its first label."""
    by_slot: Counter[int] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    notes: str = ""
    found: str = ""
    """What a twin of the archive was caught at."""
    skipped: str = ""
    """Why the phase could not take place on this machine."""
