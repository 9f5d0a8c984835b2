"""The machine's clocks: the only place that knows what time it is."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from ibi.identifier.instant import Instant

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_SPIN: Final = 50_000
"""Shorter waits are not worth a sleep, which takes longer than that to come back."""


def now() -> Instant:
    """Return the present moment, to the nanosecond that the machine claims."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return Instant(seconds, f"{nanoseconds:09}".rstrip("0"))


class SystemClock:
    """The clocks of the machine that this runs on."""

    wall = staticmethod(time.time_ns)
    # CLOCK_BOOTTIME goes on while the machine sleeps. The monotonic clock of Linux stands still
    # then, and every morning would look like a jump.
    uptime = staticmethod(
        partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
        if hasattr(time, "CLOCK_BOOTTIME")
        else time.monotonic_ns
    )

    @staticmethod
    def boot() -> str:
        """Return the kernel's name for this run; empty where it has none."""
        return _boot()

    @staticmethod
    def sleep(nanoseconds: int) -> None:
        """Wait about so long; who must know asks the clock again."""
        if nanoseconds > _SPIN:
            time.sleep(nanoseconds / 1_000_000_000)


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
