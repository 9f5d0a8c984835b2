"""The rule by which a ledger records a label that it did not issue, as a pure function.

Such a label has an instant of the past, and the ledger must never issue it. A mark alone does not
prove that: a minter that was stopped may still hold a stretch before the mark. But every label that
a ledger issued under a prefix lies between the beginning of the prefix, which is recorded with its
first mark, and the mark. So an instant before the beginning can never be issued, and one after the
mark cannot be issued once the mark is moved to it. Instants between them are refused.
"""

from __future__ import annotations

from typing import Final

from ibi.errors import LabelInUseError
from ibi.minting.ports import Commitment, Entry, Witness
from ibi.minting.rules.label_generator import EARLIEST
from ibi.minting.rules.reservation import ReservationLimits, check_clock, check_history
from ibi.model.clock import SECOND, ClockReading

_ROUNDING: Final = 120 * SECOND
"""Nanoseconds by which a label may be older than the clock that it was reserved by: instants are
floored to a minute at the most, once by the grid and once to shorten the label."""


def beginning(entry: Entry, first: Commitment) -> int:
    """Return an instant before all labels that are issued by the first commitment of a prefix.

    A commitment that skips generations is that of an operator who confirmed an old copy of the
    ledger: labels may have been issued of which it has no record.
    """
    if first.generation != entry.generation + 1:
        return EARLIEST
    return min(first.reading.wall, first.mark) - _ROUNDING


def adopt(  # noqa: PLR0913, PLR0917  # what the ledger and the machine know of a label
    entry: Entry,
    began: int | None,
    instant: int,
    witness: Witness | None,
    now: ClockReading,
    limits: ReservationLimits,
    label: str,
) -> Commitment | None:
    """Return how to move the mark so that the instant is never issued; None if it need not move.

    `began` is the beginning of the label's prefix; None if no label was issued under it.
    """
    check_history(entry, None, witness)
    check_clock(entry, now, limits)
    if instant > now.wall:
        raise LabelInUseError(label)
    if began is not None and began <= instant <= (entry.mark or 0):
        raise LabelInUseError(label)
    if began is not None and instant < began:
        return None
    # The prefix may have no mark of its own yet: the entry has the last mark of several prefixes.
    return Commitment(max(entry.mark or instant, instant), entry.generation + 1, now)
