"""The rule by which a minter reserves a stretch of time for itself, as pure functions.

`last` must be durable before a label is issued, but without one write a label: the ledger's mark is
moved ahead of the clock, and the instants up to the mark belong to the minter that moved it. A
crashed minter starts after the mark; a stopped one that resumes finds its stretch over, because the
clock has passed it; two on one ledger never have the same stretch. No time-out is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.errors import BusyError, ClockAheadError, ClockBehindError, LedgerRestoredError
from ibi.minting.ports import Commitment, Entry, Witness
from ibi.minting.rules.distributor import create_dates
from ibi.minting.rules.granularity import (
    Granularity,
)
from ibi.minting.rules.label_generator import EARLIEST, LATEST
from ibi.model.clock import SECOND, ClockReading


@dataclass(frozen=True, slots=True)
class ReservationLimits:
    """Limits that an operator may set, in nanoseconds."""

    stretch: int = 4 * SECOND // 5
    """How far ahead a busy minter reserves, which is the longest wait after a crash. Twice that is
    the longest wait of a new minter, and should stay under two seconds."""
    behind: int = 5 * SECOND
    """How far behind the last label a clock is waited for; further behind, it is refused."""
    ahead: int = 600 * SECOND
    """A clock that ran so much faster than the uptime has jumped. A smaller jump is accepted;
    if it was wrong, minting stops for so long after the clock is corrected."""
    absence: int = 366 * 86_400 * SECOND
    """A clock so long after its last reading is refused, whatever the uptime is."""
    wait: int = 120 * SECOND
    """The longest wait of a caller."""

    @property
    def reach(self) -> int:
        """How far ahead of the clock any mark may be.

        One stretch for its owner, and one more so that another minter can reserve after it:
        otherwise a busy minter would renew its stretch for ever.
        """
        return 2 * self.stretch


# Nanoseconds for reading two clocks one after the other, of which one may count hundredths of a
# second. NTP slews both alike (clock_gettime(2)): any difference is a step, however long ago they
# were read.
JITTER: Final = 20_000_000


def is_steady(seen: ClockReading, now: ClockReading) -> bool:
    """Return whether the wall clock went as fast as the uptime between two readings.

    Either may be the earlier one: a caller that waits for the ledger has read its clocks before.
    """
    drift = (now.wall - seen.wall) - (now.uptime - seen.uptime)
    return abs(drift) <= JITTER


def check_clock(entry: Entry, now: ClockReading, limits: ReservationLimits) -> None:
    """Raise if the clock jumped ahead since its last reading, until an operator confirms it."""
    if now.wall < EARLIEST:
        raise ClockBehindError(EARLIEST - now.wall, 0)
    if now.wall > LATEST - limits.wait - limits.stretch:
        raise ClockAheadError(now.wall - EARLIEST, LATEST - EARLIEST)
    if entry.seen is not None:
        drift = (now.wall - entry.seen.wall) - (now.uptime - entry.seen.uptime)
        if drift > limits.ahead:
            raise ClockAheadError(drift, limits.ahead)
    if entry.last_seen is not None and now.wall - entry.last_seen > limits.absence:
        raise ClockAheadError(now.wall - entry.last_seen, limits.absence)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The stretch of one minter: it may issue instants after `last`, up to and including `mark`."""

    last: int
    mark: int
    generation: int
    reading: ClockReading


@dataclass(frozen=True, slots=True)
class Request:
    """A request for labels at a given time."""

    count: int
    now: ClockReading
    granularity: Granularity
    wait: int
    """How long the caller would wait, in nanoseconds."""
    crowd: int = 0
    """How many other callers wait."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The instants for a request, when the last of them has passed, and the rest of the stretch."""

    instants: list[int]
    creation: int
    stretch: Stretch
    granularity: Granularity

    @property
    def commitment(self) -> Commitment:
        """What must be durable before any of the instants is issued."""
        return Commitment(self.stretch.mark, self.stretch.generation, self.stretch.reading)


@dataclass(frozen=True, slots=True)
class Postponement:
    """No instants yet: try again after `delay`, once the commitment, if any, is written."""

    delay: int
    commitment: Commitment | None = None


def reserve(
    entry: Entry,
    own: Stretch | None,
    witness: Witness | None,
    request: Request,
    limits: ReservationLimits,
) -> Reservation | Postponement:
    """Serve a request from the ledger: return the instants, and how far to move the mark.

    No mark is further ahead of the clock than `ReservationLimits.reach`: a caller that must wait
    longer tries again. Raises if nothing may be issued; then nothing is to be written either.
    """
    now = request.now
    check_history(entry, own, witness)
    check_clock(entry, now, limits)
    alone = own is not None and (entry.generation, entry.mark) == (own.generation, own.mark)
    last = _last(entry, own, witness)
    if last is not None and last - now.wall > max(limits.behind, limits.reach):
        raise ClockBehindError(last - now.wall, limits.behind)
    if last is not None and not _is_known(entry, own if alone else None, witness, now):
        last = max(last, now.wall + limits.reach)
        return Postponement(0, Commitment(last, entry.generation + 1, now))
    granularity = request.granularity.adapted(now.wall, last, request.count + request.crowd)
    creation, instants = create_dates(now.wall, last, granularity.nanoseconds, request.count)
    delay = creation - now.wall
    if delay > request.wait:
        raise BusyError(-(-delay // SECOND))
    if delay > limits.reach:
        return Postponement(delay - limits.reach)
    # Only a minter that is alone and was active a moment ago reserves ahead. Others reserve just
    # what they issue: on a quiet subsystem a crash then costs nothing, and on a shared one no
    # minter waits for another.
    busy = alone and own is not None and now.uptime - own.reading.uptime <= 2 * limits.stretch
    mark = max(instants[-1], now.wall + limits.stretch) if busy else instants[-1]
    # A stretch that was reserved and not used up is returned only by its owner.
    mark = max(mark, own.mark) if alone and own is not None else mark
    stretch = Stretch(instants[-1], mark, entry.generation + 1, now)
    return Reservation(instants, creation, stretch, granularity)


def check_history(entry: Entry, own: Stretch | None, witness: Witness | None) -> None:
    """Raise if the ledger is an older copy of what this minter or its machine has seen."""
    seen = own.generation if own is not None else 0
    if witness is not None and witness.ledger == entry.ledger:
        seen = max(seen, witness.generation)
    if entry.generation < seen:
        reason = f"written {entry.generation} times, and {seen} times were seen"
        raise LedgerRestoredError(entry.ledger, reason)


def _last(entry: Entry, own: Stretch | None, witness: Witness | None) -> int | None:
    """Return the instant after which all new ones must lie; None on a new subsystem."""
    if own is not None and (entry.generation, entry.mark) == (own.generation, own.mark):
        return own.last
    # The machine may have a record of another ledger that minted under this prefix and is gone.
    marks = (
        entry.mark,
        None if own is None else own.last,
        None if witness is None else witness.mark,
    )
    return max((mark for mark in marks if mark is not None), default=None)


def _is_known(
    entry: Entry, own: Stretch | None, witness: Witness | None, now: ClockReading
) -> bool:
    """Return whether the history of this ledger is certainly that of this machine.

    After a disk or a snapshot was restored, or the ledger moved to another machine, labels may have
    been issued of which there is no record. If the clock is right they lie before now, or within
    the reach of a minter that still runs. Waiting for that long costs only the time, and a short
    label.
    """
    if entry.moved:
        return False
    if own is not None:
        return is_steady(own.reading, now)
    remembered = witness is not None and witness.ledger == entry.ledger
    return remembered and entry.seen is not None and is_steady(entry.seen, now)


def confirm(
    entry: Entry, witness: Witness | None, now: ClockReading, limits: ReservationLimits
) -> Commitment:
    """Accept the operator's word that clock and ledger are right: continue after now.

    A minter that uses the previous ledger may still hold a stretch, and the machine may have
    recorded labels of a clock that was ahead. Its record is trusted up to a limit: a mark beyond
    the limit is the very error that the operator overrides.
    """
    mark = max(entry.mark or 0, now.wall + limits.reach)
    if witness is not None and witness.mark - now.wall <= limits.ahead + limits.reach:
        mark = max(mark, witness.mark)
    seen = witness.generation if witness is not None and witness.ledger == entry.ledger else 0
    return Commitment(mark, max(entry.generation, seen) + 1, now)


def release(
    entry: Entry, own: Stretch, witness: Witness | None, now: ClockReading
) -> Commitment | None:
    """Return what is left of a stretch to the ledger, if no other minter has reserved after it."""
    check_history(entry, own, witness)  # otherwise the machine would record an old copy instead
    if (entry.generation, entry.mark) != (own.generation, own.mark) or own.mark == own.last:
        return None
    if not is_steady(own.reading, now):
        return None  # the next minter must detect for itself that the clock was set
    return Commitment(own.last, entry.generation + 1, now)
