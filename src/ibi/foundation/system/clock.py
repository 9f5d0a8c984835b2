"""The machine's clocks. No other module reads the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from ibi.identifier.instant import Instant, instant_of
from ibi.model.clock import SECOND

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_UPTIME: Final = Path("/proc/uptime")
_YEAR: Final = 31_536_000 * SECOND
_SPIN: Final = 50_000
"""Nanoseconds below which a sleep would take longer than the wait itself."""


def now() -> Instant:
    """Return the present time, to the nanosecond that the machine reports."""
    return instant_of(time.time_ns())


class SystemClock:
    """The clocks of this machine."""

    wall = staticmethod(time.time_ns)

    def __init__(self) -> None:
        """Choose an uptime clock, which cannot be set.

        CLOCK_BOOTTIME includes the time in which the machine sleeps; the monotonic clock of Linux
        does not, so that every morning would look like a jump. An uptime close to the POSIX time
        itself is false: a library fakes the time for this process (libfaketime). Then the true
        uptime is read from a file of the kernel.
        """
        self.uptime: Callable[[], int] = time.monotonic_ns
        if hasattr(time, "CLOCK_BOOTTIME"):
            self.uptime = partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
        if abs(self.uptime() - self.wall()) < _YEAR and _read(_UPTIME):
            self.uptime = _uptime_of_the_kernel

    @staticmethod
    def boot() -> str:
        """Return the kernel's id of this boot; empty if it has none."""
        return _read(_BOOT)

    @staticmethod
    def sleep(nanoseconds: int) -> None:
        """Wait for about this time; a caller that needs precision must read the clock again."""
        if nanoseconds > _SPIN:
            time.sleep(nanoseconds / SECOND)


def _uptime_of_the_kernel() -> int:
    """Return the uptime from /proc, to a hundredth of a second."""
    return int(float(_UPTIME.read_text(encoding="ascii").split()[0]) * SECOND)


@lru_cache(maxsize=2)
def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
