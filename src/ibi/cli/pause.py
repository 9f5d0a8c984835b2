"""How long to wait before somebody takes the place of a worker that died."""

from __future__ import annotations

from typing import Final

LONG_ENOUGH: Final = 10.0
"""Seconds after which a worker did not die at once: the next one may do as well as it did."""
LONGEST: Final = 30.0
_FIRST: Final = 0.5


def pause_after(deaths: int) -> float:
    """Return the seconds to wait after so many in a row died at once.

    The first is replaced without delay: readers wait for it. What kills each one in turn, a full
    disk for one, is given time to go away.
    """
    if deaths <= 1:
        return 0.0
    return min(_FIRST * 2.0 ** min(deaths - 2, 10), LONGEST)
