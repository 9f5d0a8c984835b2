"""Bugs planted in minting."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ibi.minting.ports import Commitment, Entry, Witness
from ibi.minting.rules import distributor, reservation
from ibi.minting.rules.reservation import (
    Postponement,
    Request,
    Reservation,
    ReservationLimits,
    Stretch,
)
from ibi.minting.stretch_allocator import Allocation, StretchAllocator
from ibi.model.clock import ClockReading
from tests.simulation.planted.mutation import Mutation

_reserve: Final = reservation.reserve
_is_known: Final = reservation._is_known  # noqa: SLF001  # what is changed
_create_dates: Final = distributor.create_dates


def _last_of_own(entry: Entry, own: Stretch | None, witness: Witness | None) -> int | None:
    del entry, witness
    return None if own is None else own.last


def _credulous(
    entry: Entry,
    own: Stretch | None,
    witness: Witness | None,
    request: Request,
    limits: ReservationLimits,
) -> Reservation | Postponement:
    """Trust the wall clock, even if it is behind the mark."""
    now = request.now
    if entry.mark is not None and entry.mark > now.wall:
        entry = replace(entry, mark=now.wall, seen=now)
        own = Stretch(now.wall, now.wall, entry.generation, now)
    return _reserve(entry, own, witness, request, limits)


def _give_back(
    entry: Entry, own: Stretch, witness: Witness | None, now: ClockReading
) -> Commitment | None:
    del witness
    return Commitment(own.last, entry.generation + 1, now)


def _any_history(entry: Entry, own: Stretch | None, witness: Witness | None) -> None:
    del entry, own, witness


def _known_again(
    entry: Entry, own: Stretch | None, witness: Witness | None, now: ClockReading
) -> bool:
    return _is_known(replace(entry, moved=False), own, witness, now)


def _take_none(self: StretchAllocator, drawn: Allocation) -> None:
    self.given += len(drawn.instants)


def _from_the_last(
    current_date: int, last: int | None, r: int, count: int
) -> tuple[int, list[int]]:
    """Start at the last instant given, instead of after it."""
    return _create_dates(current_date, None if last is None else last - r, r, count)


IN_MINTERS: Final = (
    Mutation(
        "a minter releases what others have reserved since",
        {"ibi.minting.rules.reservation.release": _give_back},
    ),
    Mutation(
        "an old copy of a ledger is accepted",
        {
            "ibi.minting.rules.reservation.check_history": _any_history,
            "ibi.minting.rules.reservation._is_known": _known_again,
        },
    ),
    Mutation(
        "a minter gives an allocated instant twice",
        {"ibi.minting.stretch_allocator.StretchAllocator.take": _take_none},
    ),
    Mutation(
        "instants start at the last one given",
        {
            "ibi.minting.rules.reservation.create_dates": _from_the_last,
            "ibi.minting.stretch_allocator.create_dates": _from_the_last,
        },
    ),
    Mutation(
        "a minter ignores what others gave by its ledger",
        {"ibi.minting.rules.reservation._last": _last_of_own},
    ),
    Mutation(
        "a minter trusts a clock that was set back",
        {"ibi.minting.rules.reservation.reserve": _credulous},
    ),
)
