"""Keys that were used are forgotten, and never while somebody may bring them again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ibi.archive.housekeeping import (
    UsedKeyCleanup,
)
from ibi.archive.ports.statistics import Access
from ibi.model.clock import SECOND
from tests.support.scenes.small_archive import SmallArchive, TickingClock

HOUR = 3600
LIFE = 900


@dataclass
class TwoClocks(TickingClock):
    """A clock that anybody sets, and one that nobody can."""

    seconds: int = 1_000_000
    ahead: int = 0

    def wall(self) -> int:
        """Return what it was set to, and what went by since."""
        return (self.seconds + self.ahead) * SECOND

    def uptime(self) -> int:
        """Return what went by."""
        return self.seconds * SECOND


def counts(small: SmallArchive, issued: int) -> bool:
    number = small.catalogue.items.page(0, 1)[0].id
    access = Access(number, "2026-11-16", issued, 7, issued + LIFE)
    [is_counted] = small.catalogue.statistics.count_accesses([access])
    return is_counted


def test_a_key_counts_once_although_the_clock_was_ahead_for_a_while(small: SmallArchive) -> None:
    """A machine starts with a clock that is hours ahead, and it is put right a minute later."""
    small.label({"a.txt": b"one"})
    clock = TwoClocks()
    issued = clock.seconds
    assert counts(small, issued)
    clock.ahead = 5 * HOUR
    keys = UsedKeyCleanup(small.catalogue.statistics, clock)
    keys.forget()
    assert not counts(small, issued)
    clock.seconds += 60
    clock.ahead = 0
    keys.forget()
    assert not counts(small, issued)


@pytest.mark.parametrize("ahead", [5 * HOUR, -5 * HOUR])
def test_nothing_is_forgotten_in_a_round_in_which_the_clock_was_set(
    small: SmallArchive, ahead: int
) -> None:
    small.label({"a.txt": b"one"})
    clock = TwoClocks()
    keys = UsedKeyCleanup(small.catalogue.statistics, clock)
    keys.forget()
    issued = clock.seconds - LIFE - 1
    assert counts(small, issued)
    clock.seconds += HOUR
    clock.ahead = ahead
    keys.forget()
    assert not counts(small, issued)


def test_a_key_is_forgotten_in_the_round_after_it_ran_out(small: SmallArchive) -> None:
    small.label({"a.txt": b"one"})
    clock = TwoClocks()
    keys = UsedKeyCleanup(small.catalogue.statistics, clock)
    issued = clock.seconds
    assert counts(small, issued)
    for _ in range(2):
        keys.forget()
        assert not counts(small, issued)
        clock.seconds += HOUR
    keys.forget()
    assert counts(small, issued)
