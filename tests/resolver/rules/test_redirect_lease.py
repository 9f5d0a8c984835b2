"""Leases of the answers of one archive, by what its log says."""

from __future__ import annotations

import pytest

from ibi.resolver.rules.redirect_lease import SHARES, ArchiveLeases, Lease
from ibi.wire.digest import DigestPage

EPOCH, OTHER = "a" * 32, "b" * 32


def leases(until: float = 10.0) -> ArchiveLeases:
    made = ArchiveLeases(EPOCH, 7, 0.0, seconds=10, longest=80)
    assert made.advance(DigestPage(EPOCH, 7, 7, more=False), until - 10)
    return made


def given(made: ArchiveLeases, now: float) -> Lease:
    lease = made.lease(now, now)
    assert lease is not None
    return lease


def test_a_lease_holds_from_when_the_reading_began() -> None:
    made = leases()
    lease = given(made, 3.0)
    assert lease.until == 10
    assert made.advance(DigestPage(EPOCH, 7, 9, more=False), 4.0)
    assert lease.until == 14
    assert made.last == 9


def test_a_reading_that_is_overtaken_by_another_shortens_nothing() -> None:
    made = leases()
    assert made.advance(DigestPage(EPOCH, 7, 7, more=False), 5.0)
    assert made.advance(DigestPage(EPOCH, 7, 7, more=False), 2.0)
    assert given(made, 6.0).until == 15


@pytest.mark.parametrize(
    "page",
    [
        DigestPage(OTHER, 7, 9, more=False),
        DigestPage(OTHER, 0, 9, more=True),
        DigestPage(EPOCH, 0, 9, more=False),
        DigestPage(EPOCH, 8, 9, more=False),
    ],
)
def test_a_log_that_does_not_go_on_ends_all(page: DigestPage) -> None:
    made = leases()
    lease = given(made, 3.0)
    assert not made.advance(page, 4.0)
    assert lease.until == 0
    assert made.lease(5.0, 5.0) is None


def test_nothing_is_given_for_what_was_asked_before_the_reading_began() -> None:
    made = ArchiveLeases(EPOCH, 7, 5.0, seconds=10, longest=80)
    assert made.advance(DigestPage(EPOCH, 7, 7, more=False), 5.0)
    assert made.lease(5.0, 6.0) is None
    assert made.lease(5.1, 6.0) is not None


def test_answers_of_the_same_time_share_a_lease_and_end_together() -> None:
    made = leases()
    first, same = given(made, 1.0), given(made, 9.0)
    assert same is first
    made.advance(DigestPage(EPOCH, 7, 7, more=False), 5.0)
    later = given(made, 1.0 + 80 / SHARES)
    assert later is not first
    for began in range(5, 90):
        made.advance(DigestPage(EPOCH, 7, 7, more=False), float(began))
        assert first.until == min(began + 10, 81)
        assert later.until == min(began + 10, 91)


def test_what_is_released_ends_and_new_ones_are_given() -> None:
    made = leases()
    lease = given(made, 1.0)
    made.release()
    assert lease.until == 0
    assert given(made, 1.0) is not lease


def test_no_answer_lasts_for_longer_than_it_may_after_it_was_asked_for() -> None:
    """Who asked earlier, and was answered later, does not share what was given meanwhile."""
    made = leases()
    first = made.lease(5.0, 6.0)
    slow = made.lease(1.0, 8.0)
    assert first is not None
    assert slow is not None
    for began in range(1, 90):
        made.advance(DigestPage(EPOCH, 7, 7, more=False), float(began))
        assert first.until == min(began + 10, 85)
        assert slow.until == min(began + 10, 81)


def test_the_longest_time_may_be_shorter_than_that_of_a_reading() -> None:
    made = ArchiveLeases(EPOCH, 7, 0.0, seconds=10, longest=5)
    assert made.advance(DigestPage(EPOCH, 7, 7, more=False), 0.5)
    assert given(made, 1.0).until == 6


def test_a_log_is_wanted_for_as_long_as_somebody_asks() -> None:
    made = leases()
    assert not made.is_idle(80.0)
    assert made.is_idle(80.1)
    made.lease(50.0, 50.0)
    assert not made.is_idle(130.0)
    assert made.is_idle(130.1)
