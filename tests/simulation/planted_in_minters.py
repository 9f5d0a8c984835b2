"""Bugs planted in minters."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ibi.minting import reservation
from ibi.minting.reservation import Limits, Postponement, Request, Reservation, Stretch
from ibi.ports import Entry, Witness
from simulation.mutation import Mutation

_reserve: Final = reservation.reserve


def _last_of_own(entry: Entry, own: Stretch | None, witness: Witness | None) -> int | None:
    del entry, witness
    return None if own is None else own.last


def _credulous(
    entry: Entry,
    own: Stretch | None,
    witness: Witness | None,
    request: Request,
    limits: Limits,
) -> Reservation | Postponement:
    """Take the clock's word for it: after all, it is a clock."""
    now = request.now
    if entry.mark is not None and entry.mark > now.wall:
        entry = replace(entry, mark=now.wall, seen=now)
        own = Stretch(now.wall, now.wall, entry.generation, now)
    return _reserve(entry, own, witness, request, limits)


IN_MINTERS: Final = (
    Mutation(
        "a minter knows nothing of what others gave by its ledger",
        {"ibi.minting.reservation._last": _last_of_own},
    ),
    Mutation(
        "a minter trusts a clock that was set back",
        {"ibi.minting.reservation.reserve": _credulous},
    ),
)
