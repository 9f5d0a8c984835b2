"""How many labels may be asked for at once."""

from __future__ import annotations

from typing import Final

from ibi.errors import MintingRequestError
from ibi.minting.granularity import SECOND, Granularity

MOST_AT_ONCE: Final = 1_000_000
"""The largest batch: at the finest granularity it takes a millisecond of labels."""


def check_count(count: int, most: int = MOST_AT_ONCE) -> None:
    """Refuse a number of labels that nobody can want."""
    if not 1 <= count <= most:
        msg = f"{count} is not a number of labels: expected 1 to {most}."
        raise MintingRequestError(msg)


def check_duration(count: int, granularity: Granularity, longest: int) -> None:
    """Refuse a batch that nobody could wait for."""
    duration = (count - 1) * granularity.nanoseconds
    if granularity.fixed and duration > longest:
        msg = (
            f"{count} labels at a granularity of {granularity} take {duration // SECOND} seconds, "
            f"and nobody waits longer than {longest // SECOND}: ask for fewer at once."
        )
        raise MintingRequestError(msg)
