"""The machine's clock: the only place that knows what time it is."""

from __future__ import annotations

import time

from ibi.identifier.instant import Instant


def now() -> Instant:
    """Return the present moment, to the nanosecond that the machine claims."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return Instant(seconds, f"{nanoseconds:09}".rstrip("0"))
