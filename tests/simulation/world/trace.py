"""The trace of a run: readable lines with time, subject and event."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass


class Violation(AssertionError):  # noqa: N818  # of a promise: it is a finding, no error
    """A violated invariant."""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One line of the trace."""

    at: float
    subject: str
    what: str

    def __str__(self) -> str:
        minutes, seconds = divmod(self.at, 60)
        hours, minutes = divmod(int(minutes), 60)
        return f"{hours:02}:{minutes:02}:{seconds:06.3f}  {self.subject:<9} {self.what}"


class Trace:
    """All lines of one run."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.lines: list[TraceLine] = []
        self.violations: list[str] = []

    def log(self, subject: str, what: str) -> None:
        """Add a line."""
        self.lines.append(TraceLine(self._now(), subject, what))

    def violate(self, what: str) -> None:
        """Add a violation."""
        self.violations.append(what)
        self.log("JUDGE", f"must never be: {what}")

    @property
    def digest(self) -> str:
        """Hash of all lines, which is equal for equal runs."""
        text = "\n".join(map(str, self.lines))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
