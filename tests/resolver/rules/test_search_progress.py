"""Whom a search asks next, by what it has heard, the time and a lot."""

from __future__ import annotations

from typing import Any, Final

import pytest

from ibi.resolver.ports.outbound import NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.search_progress import (
    ASK_BATCH,
    CLAIM_GRACE_SECONDS,
    FULL_SEARCH_SHARE,
    IDLE_BATCH,
    IDLE_PAUSE_SECONDS,
    MAX_IDLE_SEARCHES,
    MAX_RECORD_ASKS,
    NOT_AWAITED_ANY_MORE,
    Beginning,
    Candidates,
    NextAsk,
    SearchProgress,
    asks_others_anyway,
    rest_before,
)
from tests.support.values.archive_answers import copy, original, question, silent, unknown

ARCHIVES: Final = ("a", "b", "c", "d")
RANKS: Final = {name: rank for rank, name in enumerate(ARCHIVES)}
LATE: Final = 2 * CLAIM_GRACE_SECONDS


def progress_of(
    *, first: str = "", listed: str = "", owner: str = "", home: str = "", required: bool = False
) -> tuple[SearchProgress, tuple[str, ...]]:
    """Return a search that has begun at time 0, and whom it asks first."""
    progress = SearchProgress(question(required=required), frozenset(home), RANKS)
    progress.add_question(question(required=required))
    candidates = Candidates(frozenset(first + listed + owner + home), frozenset(listed))
    known = Beginning(Owner(owner, 1) if owner else None, candidates=candidates)
    return progress, progress.start(known, ARCHIVES, now=0.0)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ({"first": "dc"}, ("c", "d")),
        ({"first": "a", "listed": "d"}, ("d", "a")),
        ({"first": "b", "owner": "c", "home": "d"}, ("c", "d", "b")),
        ({"first": "abcd"}, ARCHIVES),
        ({"first": "x", "listed": "y"}, ()),
    ],
)
def test_candidates_are_asked_first_and_decisive_ones_lead(
    known: dict[str, Any], asked: tuple[str, ...]
) -> None:
    assert progress_of(**known)[1] == asked


def test_without_candidates_all_are_asked_at_once() -> None:
    progress = SearchProgress(question(), frozenset("d"), RANKS)
    assert not progress.is_started
    assert progress.awaits
    assert progress.start(Beginning(), ARCHIVES, now=0.0) == ("d", "a", "b", "c")
    assert progress.next_ask() is NextAsk.NONE_LEFT


@pytest.mark.parametrize(
    ("known", "replies", "now", "step"),
    [
        # A decisive archive is awaited: its reply may be enough.
        ({"listed": "a"}, (), 0.0, NextAsk.UNDECIDED),
        ({"home": "a"}, (), 0.0, NextAsk.UNDECIDED),
        ({"owner": "a"}, (), 0.0, NextAsk.UNDECIDED),
        # Its grace is over.
        ({"listed": "a"}, (), LATE, NextAsk.OTHERS),
        ({"home": "a"}, (), LATE, NextAsk.OTHERS),
        # None is awaited whose reply could be enough.
        ({"first": "a"}, (), 0.0, NextAsk.OTHERS),
        ({"first": "ab"}, (original("a"),), 0.0, NextAsk.OTHERS),
        # The candidates have replied.
        ({"owner": "a"}, (original("a"),), 0.0, NextAsk.NONE_NEEDED),
        ({"home": "a"}, (original("a"),), 0.0, NextAsk.NONE_NEEDED),
        ({"listed": "a"}, (original("a"),), 0.0, NextAsk.OTHERS_FOR_RECORD),
        ({"listed": "a"}, (copy("a"),), 0.0, NextAsk.OTHERS),
        ({"listed": "a"}, (unknown("a"),), 0.0, NextAsk.OTHERS),
        ({"owner": "a"}, (silent("a"),), 0.0, NextAsk.OTHERS),
        # One is enough, and the others may still change nothing.
        ({"owner": "a", "first": "b"}, (original("a"),), 0.0, NextAsk.UNDECIDED),
        # All were candidates.
        ({"first": "abcd"}, (), 0.0, NextAsk.NONE_LEFT),
    ],
)
def test_whom_a_search_asks_next(
    known: dict[str, Any], replies: tuple[Reply, ...], now: float, step: NextAsk
) -> None:
    progress, _ = progress_of(**known)
    for reply in replies:
        progress.add(reply, now)
    progress.pass_time(now)
    assert progress.next_ask() is step


def test_who_wants_the_original_or_all_needs_the_others() -> None:
    assert progress_of(owner="a", required=True)[0].next_ask() is NextAsk.OTHERS
    progress, _ = progress_of(owner="a")
    progress.add_question(question(), ask_all=True)
    assert progress.next_ask() is NextAsk.OTHERS


@pytest.mark.parametrize(("has_readers", "is_patient"), [(True, True), (False, False)])
def test_no_archive_is_asked_twice_and_the_others_have_a_grace_of_their_own(
    *, has_readers: bool, is_patient: bool
) -> None:
    progress, _ = progress_of(first="b")
    progress.pass_time(LATE)
    assert not progress.evidence().in_grace
    # One was included since, and another left.
    others = progress.held_back("abcx")
    assert others == ("a", "c", "x")
    progress.widen(others, LATE, has_readers=has_readers)
    assert progress.evidence().in_grace is is_patient
    assert progress.evidence().awaited == set("abcx")
    assert progress.next_ask() is NextAsk.NONE_LEFT


@pytest.mark.parametrize(
    ("reply", "matters"),
    [
        (original("b"), True),
        (unknown("b"), False),
        (silent("b"), False),
        (unknown("a"), True),
        (silent("a"), True),
    ],
)
def test_a_reply_matters_if_it_has_the_item_or_is_decisive(reply: Reply, *, matters: bool) -> None:
    progress, _ = progress_of(first="bc", listed="a")
    assert progress.add(reply, 0.0) is matters


def test_the_last_reply_matters() -> None:
    progress, _ = progress_of(first="bc")
    assert [progress.add(unknown(name), 0.0) for name in "bc"] == [False, True]


def test_time_never_goes_back() -> None:
    progress, _ = progress_of(listed="a")
    progress.pass_time(LATE)
    progress.add(unknown("a"), 0.0)
    assert not progress.evidence().in_grace


def test_whoever_has_not_replied_at_the_end_is_silent() -> None:
    progress, _ = progress_of(listed="ab")
    progress.add(original("a"), 0.0)
    progress.end(ARCHIVES)
    evidence = progress.evidence()
    assert evidence.silences == tuple(NoReply(name, NOT_AWAITED_ANY_MORE) for name in "bcd")
    assert (evidence.awaited, evidence.others_held_back, evidence.in_grace) == (
        frozenset(),
        False,
        False,
    )


@pytest.mark.parametrize(
    ("lot", "archives", "idle", "for_record", "asks"),
    [
        (FULL_SEARCH_SHARE / 2, 10, 0, False, True),
        (FULL_SEARCH_SHARE / 2, 10, MAX_IDLE_SEARCHES, False, True),
        (FULL_SEARCH_SHARE, 10, 0, False, False),
        (FULL_SEARCH_SHARE / 2, 10_000, 0, False, False),
        (0.5, 10, 0, True, True),
        (0.5, 10, MAX_IDLE_SEARCHES - 1, True, True),
        (0.5, 10, MAX_IDLE_SEARCHES, True, False),
        (0.5, 2 * MAX_RECORD_ASKS, 0, True, False),
        (0.49, 2 * MAX_RECORD_ASKS, 0, True, True),
        (0.5, 0, 0, False, False),
    ],
)
def test_others_are_asked_anyway_by_lot(
    lot: float, archives: int, idle: int, *, for_record: bool, asks: bool
) -> None:
    assert asks_others_anyway(lot, archives, idle, for_record=for_record) is asks


@pytest.mark.parametrize(
    ("number", "archives", "has_readers", "rest"),
    [
        (0, 10, True, 0.0),
        (1, 10, True, None),
        (IDLE_BATCH, 100, True, None),
        (ASK_BATCH, 100, True, 0.0),
        (0, 10, False, IDLE_PAUSE_SECONDS),
        (1, 10, False, None),
        (IDLE_BATCH, 100, False, IDLE_PAUSE_SECONDS),
        (IDLE_BATCH, 6000, False, None),
        (100, 6000, False, IDLE_PAUSE_SECONDS),
    ],
)
def test_a_search_rests_between_batches(
    number: int, archives: int, *, has_readers: bool, rest: float | None
) -> None:
    assert rest_before(number, archives, has_readers=has_readers) == rest
