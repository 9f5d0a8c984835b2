"""The interface of the machine's clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

SECOND: Final = 1_000_000_000
"""Nanoseconds in a second: all clocks and waits of the programs count nanoseconds."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The values of all clocks of the machine at one moment."""

    wall: int
    uptime: int
    boot: str
    """The id of this boot of the machine: uptimes of different boots cannot be compared."""


class Clock(Protocol):
    """The machine's clocks."""

    def wall(self) -> int:
        """Return POSIX time."""
        ...

    def uptime(self) -> int:
        """Return the time since boot, sleep included. This clock cannot be set."""
        ...

    def boot(self) -> str:
        """Return the id of this boot of the machine; empty if there is none."""
        ...

    def sleep(self, nanoseconds: int) -> None:
        """Wait for about this time."""
        ...
