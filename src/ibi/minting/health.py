"""How a minter fares, for those who watch it."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.errors import ClockAheadError, ClockBehindError, MintingError
from ibi.minting.desk import Desk
from ibi.minting.granularity import Granularity


@dataclass(frozen=True, slots=True)
class Health:
    """How a minter fares, for those who watch it. Times are nanoseconds."""

    given: int
    waiting: int
    granularity: Granularity
    mark: int | None
    clock_distance: int
    """How far the clock is behind the last label; negative when it is after it."""
    ledger_latency: int
    """How long the last durable step took."""
    trouble: MintingError | None
    """Why the last request that needed the ledger failed; None if it did not."""


def health_of(desk: Desk, waiting: int, wall: int) -> Health:
    """Tell how a desk fares while so many wait, at a moment."""
    return Health(
        given=desk.given,
        waiting=waiting,
        granularity=desk.granularity,
        mark=desk.mark if desk.mark >= 0 else None,
        clock_distance=_clock_distance(desk, wall),
        ledger_latency=desk.latency,
        trouble=desk.trouble,
    )


def _clock_distance(desk: Desk, wall: int) -> int:
    match desk.trouble:
        case ClockBehindError(distance=distance):
            return distance
        case ClockAheadError(distance=distance):
            return -distance
        case _:
            return desk.last - wall if desk.mark >= 0 else 0
