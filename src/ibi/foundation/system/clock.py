"""The machine's clocks: the only place that knows what time it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from ibi.identifier.instant import Instant

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_UPTIME: Final = Path("/proc/uptime")
_SECOND: Final = 1_000_000_000
_YEAR: Final = 31_536_000 * _SECOND
_SPIN: Final = 50_000
"""Shorter waits are not worth a sleep, which takes longer than that to come back."""


def now() -> Instant:
    """Return the present moment, to the nanosecond that the machine claims."""
    seconds, nanoseconds = divmod(time.time_ns(), _SECOND)
    return Instant(seconds, f"{nanoseconds:09}".rstrip("0"))


class SystemClock:
    """The clocks of the machine that this runs on."""

    wall = staticmethod(time.time_ns)

    def __init__(self) -> None:
        """Choose a clock that nobody can set.

        CLOCK_BOOTTIME goes on while the machine sleeps; the monotonic clock of Linux stands still
        then, and every morning would look like a jump. A machine that has been on for as long as
        POSIX time has is none: somebody shows this process a false time (libfaketime). The kernel
        writes the true uptime into a file.
        """
        self.uptime: Callable[[], int] = time.monotonic_ns
        if hasattr(time, "CLOCK_BOOTTIME"):
            self.uptime = partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
        if abs(self.uptime() - self.wall()) < _YEAR and _read(_UPTIME):
            self.uptime = _uptime_of_the_kernel

    @staticmethod
    def boot() -> str:
        """Return the kernel's name for this run; empty where it has none."""
        return _read(_BOOT)

    @staticmethod
    def sleep(nanoseconds: int) -> None:
        """Wait about so long; who must know asks the clock again."""
        if nanoseconds > _SPIN:
            time.sleep(nanoseconds / _SECOND)


def _uptime_of_the_kernel() -> int:
    """Return the uptime as /proc has it, to a hundredth of a second."""
    return int(float(_UPTIME.read_text(encoding="ascii").split()[0]) * _SECOND)


@lru_cache(maxsize=2)
def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
