"""Acknowledgments: what is decided about each."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from ibi.errors import IbiError
from ibi.model.clock import SECOND
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.registration import Outage
from ibi.resolver.rules.acknowledgment import (
    KEY_LIFETIME,
    MAX_WAIT,
    NextStep,
    acknowledgment_of,
    collecting_time_left,
    divided,
    is_keyed,
    is_ours,
    is_reachable,
    max_accesses,
    next_step,
    pending,
    refreshed,
    request_of,
    subject,
)
from ibi.wire.access_counts import MOST_ACCESSES
from ibi.wire.requests import Acknowledgment
from ibi.wire.url_list import Related, UrlList
from tests.support.scenes.acknowledgments import (
    FOREIGN,
    FORMS,
    KEY,
    KEYED,
    NOW,
    OTHER_KEY,
    OURS,
    REFERRAL,
    UNKEYED,
    URL,
    listed,
)


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("age", [-SECOND, 0, 1, KEY_LIFETIME - 1, KEY_LIFETIME, MAX_WAIT - 1])
def test_a_key_is_sent_for_fourteen_minutes(age: int, ready: bool) -> None:  # noqa: FBT001
    waiting = NextStep.SEND if ready else NextStep.WAIT
    expected = NextStep.GIVE_UP if age >= KEY_LIFETIME else waiting
    assert next_step(KEYED, NOW + age, ready=ready) is expected


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("age", [-SECOND, 0, KEY_LIFETIME, MAX_WAIT - 1, MAX_WAIT, MAX_WAIT + 1])
def test_a_key_is_asked_for_within_a_week(age: int, ready: bool) -> None:  # noqa: FBT001
    waiting = NextStep.ASK if ready else NextStep.WAIT
    expected = NextStep.GIVE_UP if age >= MAX_WAIT else waiting
    assert next_step(UNKEYED, NOW + age, ready=ready) is expected


@pytest.mark.parametrize(
    ("age", "left"),
    [(0, 10), (1, 9), (9, 1), (10, 0), (11, 0), (-1, 0), (-3600 * SECOND, 0)],
)
def test_accesses_without_a_key_are_gathered_for_a_while_whatever_the_clock(
    age: int, left: int
) -> None:
    """By a clock that was set back, a while would be as long as it was set back."""
    assert collecting_time_left(UNKEYED, 10, NOW + age) == left
    assert collecting_time_left(KEYED, 10, NOW + age) == 0


def test_the_first_reader_has_the_key_and_the_others_none() -> None:
    assert pending(REFERRAL, 0, NOW) == []
    assert pending(REFERRAL, 1, NOW) == [KEYED]
    assert (is_keyed(KEYED), is_keyed(UNKEYED)) == (True, False)
    assert (KEYED.count, UNKEYED.count, KEYED.since) == (1, 1, NOW)
    assert pending(REFERRAL, 5, NOW) == [KEYED, replace(UNKEYED, count=4)]
    assert pending(REFERRAL.without_key, 5, NOW) == [replace(UNKEYED, count=5)]
    assert REFERRAL.without_key.without_key == REFERRAL.without_key == replace(REFERRAL, key=None)
    assert subject(UNKEYED) == subject(replace(UNKEYED, id=3, count=7, since=1))


def test_what_is_kept_is_sent_as_it_was() -> None:
    assert request_of(UNKEYED) == REFERRAL.request
    assert acknowledgment_of(replace(KEYED, count=7)) == Acknowledgment(
        REFERRAL.request.clients,
        ContentType.DATA,
        URL,
        REFERRAL.persistent_url,
        KEY,
        FORMS,
        State.ORIGINAL,
        7,
    )
    [bare] = pending(replace(REFERRAL, state=None, forms=None), 1, NOW)
    told = acknowledgment_of(bare)
    assert (told.state, told.forms) == (None, None)


def test_equal_referrals_are_one() -> None:
    twin = replace(REFERRAL, request=replace(REFERRAL.request))
    assert (twin, hash(twin)) == (REFERRAL, hash(REFERRAL))
    assert REFERRAL.without_key != REFERRAL
    assert replace(REFERRAL, state=State.COPY) != REFERRAL


def test_a_fresh_key_goes_with_what_the_fresh_list_says_of_the_url() -> None:
    other = Related(Forms(ibip=FORMS.ibip), URL, ContentType.METADATA, State.COPY)
    fresh = refreshed(UNKEYED, listed(Related(FORMS, "http://a.example.org/other"), other))
    told = acknowledgment_of(replace(UNKEYED, acknowledgment=fresh))
    assert (told.key, told.url) == (OTHER_KEY, URL)
    assert (told.content, told.state, told.forms) == (other.content, other.state, other.forms)
    fresh = refreshed(UNKEYED, listed(Related(url=URL)))
    told = acknowledgment_of(replace(UNKEYED, acknowledgment=fresh))
    expected = replace(acknowledgment_of(KEYED), key=OTHER_KEY)
    assert told == expected


@pytest.mark.parametrize(
    "found",
    [
        None,
        listed(),
        listed(Related(FORMS, URL[:-1])),
        listed(Related(FORMS, URL), key=None),
        UrlList("a.example.org", FORMS, deleted="2026-01-01"),
    ],
)
def test_no_key_is_taken_for_a_url_that_is_not_listed(found: UrlList | None) -> None:
    assert not refreshed(UNKEYED, found)


def test_a_row_is_divided_without_loss() -> None:
    for many, most in product(range(1, 6), repeat=2):
        row = replace(UNKEYED, id=9, count=many)
        *rest, keyed = divided(row, KEYED.acknowledgment, most, NOW + 5)
        assert is_keyed(keyed)
        assert (keyed.count, keyed.since) == (min(many, most), NOW + 5)
        assert sum(each.count for each in (*rest, keyed)) == many
        assert [each.id for each in (*rest, keyed)] == ([9] if many <= most else [9, 0])
        assert rest == ([] if many <= most else [replace(row, count=many - most)])


def test_only_our_own_archives_count_many_by_one_key() -> None:
    assert (is_ours(OURS), max_accesses(OURS)) == (True, MOST_ACCESSES)
    assert (is_ours(FOREIGN), max_accesses(FOREIGN)) == (False, 1)
    assert not is_ours(replace(OURS, inclusion=None))
    without_secret = replace(OURS, link_secret="")
    assert (is_ours(without_secret), max_accesses(without_secret)) == (True, 1)


def test_an_archive_that_is_out_is_not_spoken_to() -> None:
    outage = Outage(since=1, failures=1, next_try=2, reason="x")
    assert is_reachable(OURS)
    assert not is_reachable(None)
    assert not is_reachable(replace(OURS, inclusion=None))
    assert not is_reachable(replace(OURS, confirmed=0))
    assert not is_reachable(replace(OURS, outage=outage))


@pytest.mark.parametrize("text", ["", "{}", "{", "[]", '{"content":"Data","url":1}'])
def test_what_cannot_be_read_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(IbiError, match="cannot be read"):
        is_keyed(replace(KEYED, acknowledgment=text))
    with pytest.raises(IbiError):
        request_of(replace(KEYED, request="servicesubject=inclusionConfirmationRequest"))
