"""What is remembered of resolutions, and what lasts: each rule of it by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from ibi.identifier.label import parse
from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules import redirect_cache
from ibi.resolver.rules import redirect_cache as module
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import is_sure
from ibi.resolver.rules.redirect_cache import (
    LabelVersions,
    LastingRedirects,
    RecentChanges,
    RedirectCache,
)
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.redirect_lease import Lease
from ibi.resolver.rules.resolution import Resolution
from ibi.wire.digest import fingerprint
from tests.support.values.resolutions import (
    FIRST,
    ITEM,
    LATER,
    SECOND,
    THIRD,
    evidence,
    has,
    has_not,
    question,
    resolution,
    silent,
)

HERE: Final = "http://resolver.example"
READER: Final = ("192.0.2.7",)
BEGAN: Final = 1.0
"""When the searches of `resolutions` were begun."""


class Leases:
    """Lets everything last for long."""

    def lease(self, archive: str, asked: float, now: float) -> Lease:
        """Give a lease of its own to each."""
        del archive, asked
        return Lease(now + 1000)

    def release(self) -> None:
        """Have given none that matters here."""


def memory(**bounds: int) -> RedirectCache:
    return RedirectCache(
        lambda: 0,
        hot_seconds=10,
        absent_seconds=2,
        lasting=LastingRedirects(**bounds),
        leases=Leases(),
    )


def kept(made: RedirectCache, found: Resolution, now: float = BEGAN + 1) -> CachedRedirect:
    known = made.keep(found, HERE, made.version, now)
    assert isinstance(known, CachedRedirect)
    return known


def lasts(known: CachedRedirect) -> bool:
    return known.lease.until > BEGAN + 10


def found(text: str = ITEM, *heard: ArchiveReply | NoReply, owner: str = FIRST) -> Resolution:
    return resolution(text, evidence(*(heard or (has(FIRST),)), owner=owner))


def test_an_original_that_was_asked_for_alone_lasts() -> None:
    made = memory()
    known = kept(made, found())
    assert lasts(known)
    assert made.recall(question(), [READER], BEGAN + 500) is known
    assert made.recall(question(f"{ITEM}!"), [READER], BEGAN + 2) is None
    assert made.recall(question(f"{ITEM}/a.txt"), [READER], BEGAN + 2) is None
    required = question(f"{ITEM}?ibiurl.requireditemstatus=Original")
    assert made.recall(required, [READER], BEGAN + 2) is None


@pytest.mark.parametrize(
    "other",
    [
        found(f"{ITEM}/a.txt"),
        found(f"{ITEM}?ibiurl.verblist=GetFileList"),
        found(f"{ITEM}?ibiurl.requireditemstatus=Original"),
        found(ITEM, has(FIRST, State.COPY)),
        resolution(f"{ITEM}!", evidence(has(FIRST, relation=".lastedition"))),
    ],
)
def test_nothing_else_lasts(other: Resolution) -> None:
    known = kept(memory(), other)
    assert known.lease.until == BEGAN + 10


def test_what_led_by_way_of_another_item_does_not_last() -> None:
    first = found()
    hop = replace(first, steps=(first.steps[0], first.steps[0]))
    assert kept(memory(), hop).lease.until == BEGAN + 10


def test_what_is_for_one_reader_does_not_last() -> None:
    first = found()
    personal = replace(first, steps=(replace(first.steps[0], personal=True),))
    made = memory()
    assert kept(made, personal).lease.until == BEGAN + 10
    assert made.recall(question(), [READER], BEGAN + 2) is not None
    assert made.recall(question(), [("198.51.100.1",)], BEGAN + 2) is None


DOUBTS: Final = [
    # A senior is silent who may have it too: he comes back, and no log tells of that.
    evidence(has(SECOND), silent(FIRST)),
    # A senior has not answered yet.
    replace(evidence(has(SECOND)), awaited=frozenset({parse(FIRST).canonical})),
    # It could not be read who the owner is.
    replace(evidence(has(FIRST), home=FIRST), is_on_record=False),
]
NO_DOUBTS: Final = [
    evidence(has(FIRST), silent(SECOND)),
    evidence(has(SECOND), has_not(FIRST), silent(THIRD)),
    evidence(has(SECOND), silent(FIRST), owner=SECOND),
    evidence(has(SECOND), silent(FIRST), home=SECOND),
    replace(evidence(has(FIRST)), awaited=frozenset({parse(SECOND).canonical})),
]


@pytest.mark.parametrize("heard", DOUBTS)
def test_while_another_would_be_believed_before_nothing_lasts(heard: Evidence) -> None:
    [answer] = heard.answers
    assert not is_sure(answer.archive, heard)
    known = kept(memory(), resolution(ITEM, heard))
    assert known.terms.archive == answer.archive
    assert known.lease.until == BEGAN + 10


@pytest.mark.parametrize("heard", NO_DOUBTS)
def test_it_lasts_where_others_would_not_be_believed_before(heard: Evidence) -> None:
    assert lasts(kept(memory(), resolution(ITEM, heard)))


def test_two_labels_of_one_fingerprint_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fingerprint", lambda _: 7)
    made = memory()
    first = kept(made, found())
    assert made.recall(question(LATER), [READER], BEGAN + 2) is None
    second = kept(made, found(LATER))
    assert made.recall(question(LATER), [READER], BEGAN + 2) is second
    assert made.recall(question(), [READER], BEGAN + 2) is None
    assert not lasts(first)


def test_another_spelling_of_a_label_finds_what_lasts() -> None:
    made = memory()
    known = kept(made, found(ITEM.lower()))
    assert made.recall(question(ITEM), [READER], BEGAN + 500) is known


def test_the_first_in_are_the_first_out_and_hold_no_more() -> None:
    made = memory(most=2)
    labels = (ITEM, LATER, FIRST, SECOND)
    knowns = [kept(made, found(label)) for label in labels]
    assert [lasts(known) for known in knowns] == [False, False, True, True]
    held = [made.recall(question(label), [READER], BEGAN + 2) for label in labels]
    assert held == [None, None, *knowns[2:]]


def test_what_is_hot_has_a_bound_too_and_goes_by_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HOT", 2)
    made = memory()
    knowns = [kept(made, found(f"{ITEM}/{number}")) for number in range(3)]
    assert [known.lease.until > 0 for known in knowns] == [False, True, True]
    # Those whose time is over make room before that.
    kept(made, found(f"{ITEM}/3"), now=BEGAN + 10)
    assert [known.lease.until > 0 for known in knowns] == [False, False, False]


def test_another_answer_takes_the_place_of_the_one_before() -> None:
    made = memory()
    for text in (ITEM, f"{ITEM}/a.txt"):
        first, second = kept(made, found(text)), kept(made, found(text))
        assert first.lease.until == 0
        assert made.recall(question(text), [READER], BEGAN + 2) is second


def test_what_was_being_found_out_when_there_were_news_is_only_hot() -> None:
    made = memory()
    print_ = fingerprint(parse(ITEM).canonical)
    before = kept(made, found())
    made.lasting.note_change(print_, BEGAN)
    assert before.lease.until == 0
    assert kept(made, found()).lease.until == BEGAN + 10
    other = memory()
    other.lasting.note_change(print_, BEGAN - 0.1)
    assert lasts(kept(other, found()))


ABSENT: Final = resolution(ITEM, evidence(has_not(FIRST), has_not(SECOND)))
COPIED: Final = found(ITEM, has(FIRST, State.COPY))
PRINT: Final = fingerprint(parse(ITEM).canonical)


def test_a_copy_is_given_until_a_log_has_a_change_of_the_item() -> None:
    made = memory()
    known = kept(made, COPIED)
    made.note_change(PRINT + 1, BEGAN + 2)
    assert made.recall(question(), [READER], BEGAN + 3) is known
    made.note_change(PRINT, BEGAN + 3)
    assert known.lease.until == 0
    assert made.recall(question(), [READER], BEGAN + 3) is None


def test_an_original_is_given_again_for_as_long_as_it_is_hot_whatever_another_log_has() -> None:
    made = memory()
    known = kept(made, found(f"{ITEM}/a.txt"))
    made.note_change(PRINT, BEGAN + 2)
    assert known.lease.until == BEGAN + 10


def test_that_nobody_has_an_item_is_given_until_a_log_has_it() -> None:
    made = memory()
    made.keep(ABSENT, HERE, made.version, BEGAN + 0.1)
    assert made.recall(question(), [READER], BEGAN + 0.5) is ABSENT
    made.note_change(PRINT, BEGAN + 0.5)
    assert made.recall(question(), [READER], BEGAN + 0.6) is None


@pytest.mark.parametrize(("at", "is_kept"), [(BEGAN - 0.1, True), (BEGAN + 0.1, False)])
def test_what_was_found_without_an_original_before_a_log_had_the_item_is_not_kept(
    at: float, *, is_kept: bool
) -> None:
    made = memory()
    made.note_change(PRINT, at)
    assert (kept(made, COPIED).lease.until > 0) == is_kept
    made = memory()
    made.note_change(PRINT, at)
    made.keep(ABSENT, HERE, made.version, BEGAN + 0.2)
    assert (made.recall(question(), [READER], BEGAN + 0.5) is ABSENT) == is_kept


def by_way_of(*texts: str) -> Resolution:
    first = found()
    steps = tuple(replace(first.steps[0], question=question(text)) for text in texts)
    return replace(first, steps=steps)


@pytest.mark.parametrize(
    ("forgotten", "is_kept"), [(ITEM, False), (LATER, False), (f"{FIRST}", True)]
)
def test_nothing_is_kept_of_an_item_that_was_forgotten_meanwhile(
    forgotten: str, *, is_kept: bool
) -> None:
    made = memory()
    version = made.version
    made.forget(parse(forgotten).canonical)
    known = made.keep(by_way_of(ITEM, LATER), HERE, version, BEGAN + 1)
    assert isinstance(known, CachedRedirect)
    assert (known.lease.until > 0) == is_kept
    again = kept(made, by_way_of(ITEM, LATER))
    assert again.lease.until > 0


def test_a_resolution_that_leads_nowhere_is_not_kept_if_its_item_was_forgotten() -> None:
    absent = resolution(ITEM, evidence(has_not(FIRST), has_not(SECOND)))
    for forgotten, is_kept in ((ITEM, False), (LATER, True)):
        made = memory()
        version = made.version
        made.forget(parse(forgotten).canonical)
        made.keep(absent, HERE, version, BEGAN + 1)
        assert (made.recall(question(), [READER], BEGAN + 1.5) is absent) == is_kept


def test_too_many_forgotten_items_are_all_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect_cache, "MAX_CHANGES", 2)
    versions = LabelVersions()
    versions.forget("a")
    before = versions.current
    versions.forget("b")
    assert versions.is_current(["a", "c"], before)
    assert not versions.is_current(["b"], before)
    versions.forget("d")
    assert not versions.is_current(["c"], before)
    assert versions.is_current(["a", "b", "c", "d"], versions.current)
    assert not versions.is_current([], before)


def test_all_is_forgotten_when_archives_come_or_go() -> None:
    versions = [0]
    made = RedirectCache(lambda: versions[0], hot_seconds=10, absent_seconds=2)
    absent = resolution(ITEM, evidence(has_not(FIRST), has_not(SECOND)))
    hot = kept(made, found(f"{ITEM}/a.txt"))
    made.keep(absent, HERE, made.version, BEGAN + 1)
    assert made.recall(question(), [READER], BEGAN + 1.5) is absent
    versions[0] = 1
    assert made.recall(question(), [READER], BEGAN + 1.5) is None
    assert hot.lease.until == 0
    again = kept(made, found(f"{ITEM}/a.txt"))
    made.drop_stale()
    assert again.lease.until > 0


def test_too_many_news_are_news_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect_cache, "MAX_CHANGES", 2)
    news = RecentChanges()
    news.note(1, 1.0)
    news.note(2, 2.0)
    assert news.since(1, 1.0)
    assert not news.since(1, 1.5)
    assert not news.since(3, 0.0)
    news.note(3, 3.0)
    assert news.since(9, 3.0)
    assert not news.since(9, 3.5)
    assert not news.since(1, 3.5)
    news.note(4, 4.0)
    assert not news.since(2, 3.5)
    news.note(5, 5.0)
    assert news.since(9, 4.5)
