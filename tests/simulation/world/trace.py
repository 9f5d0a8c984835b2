"""What happened, in lines that a person can follow: when, to whom, what."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass


class Violation(AssertionError):  # noqa: N818  # of a promise: it is a finding, no error
    """Something that must never be."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened."""

    at: float
    who: str
    what: str

    def __str__(self) -> str:
        """Write it: hours, minutes and seconds, whose, and what."""
        minutes, seconds = divmod(self.at, 60)
        hours, minutes = divmod(int(minutes), 60)
        return f"{hours:02}:{minutes:02}:{seconds:06.3f}  {self.who:<9} {self.what}"


class Trace:
    """All that happened in one run."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Begin."""
        self._now = now
        self.lines: list[Line] = []
        self.violations: list[str] = []

    def say(self, who: str, what: str) -> None:
        """Write down what happened."""
        self.lines.append(Line(self._now(), who, what))

    def violate(self, what: str) -> None:
        """Write down what must never be."""
        self.violations.append(what)
        self.say("JUDGE", f"must never be: {what}")

    @property
    def digest(self) -> str:
        """What tells two runs apart."""
        text = "\n".join(map(str, self.lines))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
