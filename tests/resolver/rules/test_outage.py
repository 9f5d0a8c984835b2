"""When an archive is taken for down, and when it is tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.model.clock import SECOND
from ibi.model.registration import Outage, RegisteredArchive
from ibi.resolver.ports.outbound import NoReply
from ibi.resolver.rules.outage import (
    FIRST_RETRY_DELAY,
    MAX_RETRY_DELAY,
    MAX_SILENCES,
    Breaker,
    is_due,
    silence_of,
)
from tests.support.doubles.resolver_store import SERVICE

NOW = 1_700_000_000 * SECOND
ARCHIVE = RegisteredArchive(service=SERVICE, key="", confirmed=1)


def down(jitter: float = 1.0) -> Breaker:
    breaker = Breaker()
    for _ in range(MAX_SILENCES):
        breaker = breaker.after_silence("time-out", NOW, jitter)
    return breaker


def test_an_archive_is_down_after_three_silences_in_a_row() -> None:
    breaker = Breaker()
    for silences in (1, 2):
        breaker = breaker.after_silence("time-out", NOW, 1.0)
        assert breaker == Breaker(silences)
    breaker = breaker.after_silence("reset", NOW + 5, 1.0)
    assert breaker.outage == Outage(
        since=NOW + 5, failures=3, next_try=NOW + 5 + FIRST_RETRY_DELAY, reason="reset"
    )


def test_what_was_asked_before_it_was_down_says_nothing_new() -> None:
    breaker = down()
    assert breaker.outage is not None
    for late in (0, 1, FIRST_RETRY_DELAY - 1):
        assert breaker.after_silence("late", NOW + late, 1.0) is breaker


def test_each_try_that_fails_doubles_the_wait() -> None:
    breaker, now, waits = down(), NOW, []
    for _ in range(20):
        assert breaker.outage is not None
        assert breaker.outage.since == NOW
        waits.append((breaker.outage.next_try - now) // SECOND)
        now = breaker.outage.next_try
        breaker = breaker.after_silence("again", now, 1.0)
    assert waits == [1, 2, 4, 8, 16, 32, *[60] * 14]
    assert breaker.outage is not None
    assert breaker.outage.failures == 23


def test_an_outage_is_gone_on_with_after_a_restart() -> None:
    breaker = down()
    archive = replace(ARCHIVE, outage=breaker.outage)
    assert Breaker.of(archive) == breaker
    assert Breaker.of(ARCHIVE) == Breaker()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 100 * SECOND), st.floats(0, 1))))
def test_whatever_happens_an_archive_is_tried_within_a_minute(
    heard: list[tuple[bool, int, float]],
) -> None:
    breaker, now, in_a_row = Breaker(), NOW, 0
    for answered, passed, jitter in heard:
        now += passed
        breaker = Breaker() if answered else breaker.after_silence("x", now, jitter)
        in_a_row = 0 if answered else in_a_row + 1
        assert (breaker.outage is not None) == (in_a_row >= MAX_SILENCES)
        if breaker.outage is not None:
            assert breaker.outage.since <= now
            assert is_due(breaker.outage, now + MAX_RETRY_DELAY)


@pytest.mark.parametrize(
    ("now", "due"),
    [(NOW - 1, False), (NOW, True), (NOW + 1, True), (NOW - MAX_RETRY_DELAY - 1, True)],
)
def test_a_clock_that_was_set_back_keeps_nobody_down(now: int, due: bool) -> None:  # noqa: FBT001  # a column
    assert is_due(Outage(since=1, failures=3, next_try=NOW, reason=""), now) is due


def test_a_search_hears_since_when_an_archive_is_down() -> None:
    archive = replace(ARCHIVE, outage=down().outage)
    assert silence_of(archive) == NoReply(
        ARCHIVE.id, "it is down since 2023-11-14T22:13:20Z", asked=False
    )
    assert silence_of(ARCHIVE) == NoReply(ARCHIVE.id, "it is down", asked=False)
