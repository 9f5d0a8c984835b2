"""What the archive needs of the world: a memory of who did what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A line of the history, which only grows."""

    number: int
    change: str
    at: int
    who: str
    act: str
    label: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChoice:
    """Which lines of the history are wanted; what is empty or 0 leaves none out."""

    label: str = ""
    """Canonical."""
    act: str = ""
    who: str = ""
    since: int = 0
    before: int = 0
    """Nanoseconds of POSIX time."""


WHOLE: Final = HistoryChoice()


class History(Protocol):
    """Who did what."""

    def history(
        self, after: int, limit: int, choice: HistoryChoice = WHOLE, *, newest_first: bool = False
    ) -> list[HistoryEntry]:
        """Return what was done, the oldest first, numbered later than `after`.

        The newest first: numbered earlier than `after`, or from the end if it is 0.
        """
        ...

    def acts(self, choice: HistoryChoice = WHOLE) -> dict[str, int]:
        """Return how often each act was done, by its name."""
        ...
