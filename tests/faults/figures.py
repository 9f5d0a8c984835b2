"""Results of a phase of the fault suite: figures, or a violation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

PATIENCE: Final = 60.0
"""Seconds to wait for an event that takes milliseconds on an idle machine."""


class Violation(AssertionError):  # noqa: N818  # of a promise: it is a finding, no error
    """A broken promise: a label given twice, an expected label missing, or lost data."""

    @property
    def brief(self) -> str:
        """The first words of the message."""
        return str(self).partition(": ")[0].partition("\n")[0][:60]


class SetUpError(Exception):
    """A program of the suite fails before any fault: no violation, by which a twin is caught."""


@contextmanager
def set_up() -> Iterator[None]:
    """Raise a violation of the context as an error of the set-up."""
    try:
        yield
    except Violation as failure:
        raise SetUpError(str(failure)) from failure


@dataclass(slots=True)
class Figures:
    """The figures of one phase."""

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
    """The violation by which a twin of the archive was caught."""
    skipped: str = ""
    """Why the phase could not run on this machine."""
