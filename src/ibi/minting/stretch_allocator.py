"""The allocator of a minter: one reserved stretch of time, from which it issues instants.

It holds the stretch that `reservation` reserved and takes the next one from the ledger. It is not
thread-safe: its caller must hold a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from ibi.errors import (
    BusyError,
    ClockAheadError,
    ClockBehindError,
    ClockError,
    LedgerError,
    LedgerRestoredError,
    MintingError,
)
from ibi.minting.ports import (
    Commitment,
    Entry,
    LabelRecord,
    Ledger,
    Machine,
    PrefixClaim,
    Witness,
)
from ibi.minting.rules import adoption, reservation
from ibi.minting.rules.distributor import create_dates
from ibi.minting.rules.granularity import (
    Granularity,
)
from ibi.minting.rules.reservation import (
    Postponement,
    Request,
    Reservation,
    ReservationLimits,
    Stretch,
    is_steady,
)
from ibi.model.clock import SECOND, Clock, ClockReading


@dataclass(frozen=True, slots=True)
class Allocation:
    """Instants, and the time at which the last of them will have passed."""

    creation: int
    instants: list[int]


class StretchAllocator:
    """Issues instants under some prefixes, each only once."""

    def __init__(  # noqa: PLR0913, PLR0917  # one argument a port, and what an operator sets
        self,
        prefixes: tuple[str, ...],
        ledger: Ledger,
        clock: Clock,
        machine: Machine,
        granularity: Granularity,
        limits: ReservationLimits,
        observe: Callable[[float], None],
    ) -> None:
        """Claim the prefixes on this machine; `observe` gets the seconds of every durable step."""
        self.limits = limits
        self.given = self.latency = 0
        self.trouble: MintingError | None = None
        self._prefixes = prefixes
        self._ledger = ledger
        self._clock = clock
        self._observe = observe
        self.adapt(granularity)
        self._own: Stretch | None = None
        self.last = self.mark = -1
        self.offset = 0
        self._claim: PrefixClaim = machine.claim(prefixes, ledger.identity(), ledger.name)
        self._witness: Witness | None = self._claim.witness()

    def adapt(self, granularity: Granularity) -> None:
        """Continue with another granularity."""
        self.granularity = granularity
        self.r = granularity.nanoseconds

    def read(self) -> ClockReading:
        """Read the clocks."""
        return ClockReading(self._clock.wall(), self._clock.uptime(), self._clock.boot())

    def draw(self, count: int, now: ClockReading, crowd: int = 0) -> Allocation | None:
        """Return instants without issuing them; None if the ledger must be asked first.

        `crowd` is the number of other callers waiting: the granularity may be refined for them.
        """
        own = self._own
        if own is None or now.wall > own.mark or not is_steady(own.reading, now):
            return None
        self.adapt(self.granularity.adapted(now.wall, self.last, count + crowd))
        creation, instants = create_dates(now.wall, self.last, self.r, count)
        return Allocation(creation, instants) if instants[-1] <= self.mark else None

    def take(self, allocation: Allocation) -> None:
        """Issue the instants of an allocation."""
        self.last = allocation.instants[-1]
        self.given += len(allocation.instants)

    def reserve(
        self, count: int, now: ClockReading, wait: int, crowd: int = 0
    ) -> Allocation | Postponement:
        """Issue instants from the ledger, in one durable step, or return when to try again."""
        own = None if self._own is None else replace(self._own, last=self.last)
        request = Request(count, now, self.granularity, wait, crowd)
        witness = self._remembered()
        made: list[Reservation | Postponement] = []

        def decide(entry: Entry) -> Commitment | None:
            made.append(reservation.reserve(entry, own, witness, request, self.limits))
            return made[-1].commitment

        self._settle(decide)
        reserved = made[-1]
        if isinstance(reserved, Postponement):
            if (written := reserved.commitment) is not None:
                self._hold(Stretch(written.mark, written.mark, written.generation, written.reading))
            return reserved
        self.adapt(reserved.granularity)
        self._hold(reserved.stretch)
        self.given += len(reserved.instants)
        return Allocation(reserved.creation, reserved.instants)

    def _hold(self, stretch: Stretch) -> None:
        self._own = stretch
        self.last, self.mark = stretch.last, stretch.mark
        self.offset = stretch.reading.wall - stretch.reading.uptime

    def _remembered(self) -> Witness | None:
        """Return what this machine has recorded; read before the ledger, so it cannot be newer."""
        self._witness = self._claim.witness() or self._witness
        return self._witness

    def _settle(self, decide: Callable[[Entry], Commitment | None]) -> None:
        """Do one durable step, and record it on this machine."""
        decided: list[Commitment | None] = []

        def deciding(entry: Entry) -> Commitment | None:
            decided.append(decide(entry))
            return decided[-1]

        start = self._clock.uptime()
        entry = self._ask(deciding)
        self.latency = self._clock.uptime() - start
        self._observe(self.latency / SECOND)
        if (written := decided[-1]) is not None:
            self._witness = Witness(entry.ledger, written.generation, written.mark)
            self._claim.note(self._witness)

    def adopt(self, label: LabelRecord, spelling: str) -> None:
        """Record a label that the ledger did not issue, and must never issue."""
        is_own = set(label.prefixes) <= set(self._prefixes)
        prefixes = self._prefixes if is_own else label.prefixes
        now, witness = self.read(), self._remembered() if is_own else None

        def decide(entry: Entry, began: int | None) -> Commitment | None:
            return adoption.adopt(entry, began, label.instant, witness, now, self.limits, spelling)

        entry = self._ledger.adopt(prefixes, self._clock.boot(), label, decide)
        if is_own and entry.mark is not None:
            self._witness = Witness(entry.ledger, entry.generation, entry.mark)
            self._claim.note(self._witness)

    def _ask(self, decide: Callable[[Entry], Commitment | None]) -> Entry:
        try:
            entry = self._ledger.settle(self._prefixes, self._clock.boot(), decide)
        except LedgerRestoredError as error:
            self.trouble = LedgerRestoredError(self._ledger.name, error.reason)
            raise self.trouble from None
        except (ClockError, LedgerError) as error:
            self.trouble = error
            raise
        self.trouble = None
        return entry

    def check(self) -> None:
        """Raise the error that would keep a label from being issued now, without issuing one."""
        now, witness = self.read(), self._remembered()

        def decide(entry: Entry) -> None:
            request = Request(1, now, self.granularity, self.limits.wait)
            reservation.reserve(entry, None, witness, request, self.limits)

        with suppress(BusyError):  # other callers wait, and are being served
            self._ask(decide)

    def confirm(self) -> None:
        """Accept the operator's word that clock and ledger are right, and continue after now."""
        now, witness = self.read(), self._remembered()
        self._settle(lambda entry: reservation.confirm(entry, witness, now, self.limits))
        self.forget()

    def forget(self) -> None:
        """Discard the stretch: the next label asks the ledger."""
        self._own = None
        self.last = self.mark = -1

    def close(self) -> None:
        """Return the rest of the stretch to the ledger, and release the prefixes."""
        own, last, now = self._own, self.last, self.read()
        self.forget()
        if own is not None:
            rest = replace(own, last=last)
            try:
                witness = self._remembered()
                self._settle(lambda entry: reservation.release(entry, rest, witness, now))
            except MintingError:
                self.trouble = None  # the next minter waits for the mark, as after a crash
        self._claim.release()


@dataclass(frozen=True, slots=True)
class MinterHealth:
    """The state of a minter, for monitoring. Times are in nanoseconds."""

    given: int
    waiting: int
    granularity: Granularity
    mark: int | None
    clock_distance: int
    """How far the clock is behind the last label; negative if it is past it."""
    ledger_latency: int
    """How long the last durable step took."""
    trouble: MintingError | None
    """Why the last request that needed the ledger failed; None if it succeeded."""


def health_of(allocator: StretchAllocator, waiting: int, wall: int) -> MinterHealth:
    """Return the state of an allocator at a given time, with so many callers waiting."""
    return MinterHealth(
        given=allocator.given,
        waiting=waiting,
        granularity=allocator.granularity,
        mark=allocator.mark if allocator.mark >= 0 else None,
        clock_distance=_clock_distance(allocator, wall),
        ledger_latency=allocator.latency,
        trouble=allocator.trouble,
    )


def _clock_distance(allocator: StretchAllocator, wall: int) -> int:
    match allocator.trouble:
        case ClockBehindError(distance=distance):
            return distance
        case ClockAheadError(distance=distance):
            return -distance
        case _:
            return allocator.last - wall if allocator.mark >= 0 else 0
