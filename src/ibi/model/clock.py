"""The machine's clocks, as every program sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

SECOND: Final = 1_000_000_000
"""The nanoseconds of a second: all clocks and waits of the programs count nanoseconds."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What the clocks of the machine said at one moment."""

    wall: int
    uptime: int
    boot: str
    """Names this run of the machine, without which two uptimes cannot be compared."""


class Clock(Protocol):
    """The machine's clocks."""

    def wall(self) -> int:
        """Return POSIX time."""
        ...

    def uptime(self) -> int:
        """Return how long the machine has been on, sleep included; nobody can set this clock."""
        ...

    def boot(self) -> str:
        """Return the name of this run of the machine; empty if it has none."""
        ...

    def sleep(self, nanoseconds: int) -> None:
        """Wait about so long."""
        ...
