"""Asking the likely first changes who is asked, and never who is believed.

A federation is drawn: who has what, whose digest tells so, is old, lies or is not there, who is
silent, and in which order they are heard. The search is the resolver's own; what it ends with is
held against the same rules where all are asked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import compress, product
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from ibi.resolver.ports.outbound import ArchiveReply, Reply
from ibi.resolver.rules.decision import (
    Decision,
    Gone,
    Hop,
    NotFound,
    Redirect,
    Wait,
    Why,
    Widen,
    decide,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import owner_after
from ibi.resolver.rules.search_progress import Beginning, NextAsk, SearchProgress, candidates_for
from ibi.wire.question import Question
from tests.support.values.archive_answers import (
    barren,
    copy,
    deleted,
    leads,
    original,
    owned_by,
    question,
    silent,
    unknown,
)

ARCHIVES: Final = ("a", "b", "c", "d", "e")
RANKS: Final = {name: rank for rank, name in enumerate(ARCHIVES)}
HAVING: Final = (original, copy, barren, leads)


@dataclass(frozen=True)
class One:
    """What an archive has, and what is known of it beforehand."""

    has: Callable[[str], ArchiveReply]
    is_silent: bool
    publishes: bool
    lists: bool

    def says(self, name: str) -> Reply:
        """Return what is heard of it."""
        return silent(name) if self.is_silent else self.has(name)

    @property
    def is_truthful(self) -> bool:
        """Whether its digest is of now; one may list what was deleted, or not."""
        return not self.publishes or self.has is deleted or self.lists == (self.has in HAVING)


@dataclass(frozen=True)
class Federation:
    """Archives, and what a resolver has on record."""

    archives: tuple[One, ...]
    owner: str
    settled: bool
    homes: frozenset[str]
    is_on_record: bool

    def of(self, *names: str) -> Evidence:
        """Return what was heard when these have answered, of whom all were asked at once."""
        archives = dict(self.each())
        heard = [archives[name].says(name) for name in names]
        return Evidence(
            answers=tuple(each for each in heard if isinstance(each, ArchiveReply)),
            silences=tuple(each for each in heard if not isinstance(each, ArchiveReply)),
            awaited=frozenset(ARCHIVES) - set(names),
            owner=owned_by(self.owner, settled=self.settled) if self.owner else None,
            is_on_record=self.is_on_record,
            homes=self.homes,
            listed=self.listed,
            ranks=RANKS,
        )

    @property
    def listed(self) -> frozenset[str]:
        """The archives whose digests have the item."""
        return frozenset(name for name, one in self.each() if one.publishes and one.lists)

    def each(self) -> Iterator[tuple[str, One]]:
        """Yield archives by name."""
        return zip(ARCHIVES, self.archives, strict=True)


ones = st.builds(
    One,
    st.sampled_from((*HAVING, deleted, unknown, unknown, unknown)),
    st.sampled_from((False, False, False, True)),
    st.sampled_from((True, True, True, False)),
    st.booleans(),
)
truthful = ones.map(lambda one: replace(one, lists=one.has in HAVING))
questions = st.builds(
    lambda modifiers, required: question(modifiers, required=required),
    st.sampled_from(("", "", "!")),
    st.sampled_from((False, False, False, True)),
)
orders = st.permutations(ARCHIVES)
losses = st.integers(0, 2 * len(ARCHIVES))
"""After how many were heard the moment is over."""


def federations(one: st.SearchStrategy[One]) -> st.SearchStrategy[Federation]:
    return st.builds(
        Federation,
        st.tuples(*[one] * len(ARCHIVES)),
        st.sampled_from(("", "", *ARCHIVES)),
        st.booleans(),
        st.frozensets(st.sampled_from(ARCHIVES), max_size=2),
        st.sampled_from((True, True, True, False)),
    ).map(lambda each: each if each.is_on_record else replace(each, owner=""))


def _searched(
    federation: Federation, asked: Question, order: tuple[str, ...], loss: int
) -> tuple[Decision, Evidence]:
    """Return what a reader was told, and what was heard in the end."""
    progress = SearchProgress(asked, federation.homes, RANKS)
    progress.add_question(asked)
    publishing = {name for name, one in federation.each() if one.publishes}
    found = candidates_for(
        federation.homes,
        federation.owner or None,
        set(ARCHIVES) - publishing,
        federation.listed,
    )
    owner = federation.of().owner
    progress.start(Beginning(owner, (), federation.is_on_record, found), ARCHIVES, now=0.0)
    _widen_if_needed(progress, now=0.0)
    told, left, heard, now = decide(asked, progress.evidence()), list(order), 0, 0.0
    while progress.awaits:
        if heard == loss:
            was_held = progress.evidence().others_held_back
            now = progress.grace_ends
            progress.pass_time(now)
            _widen_if_needed(progress, now)
            # Those who were held back have a moment of their own.
            assert progress.evidence().in_grace == (
                was_held and not progress.evidence().others_held_back
            )
        awaited = progress.evidence().awaited
        name = next(name for name in left if name in awaited)
        left.remove(name)
        if progress.add(dict(federation.each())[name].says(name), now):
            _widen_if_needed(progress, now)
        heard += 1
        if isinstance(told, Wait | Widen):
            told = decide(asked, progress.evidence())
    progress.end(ARCHIVES)
    return told, progress.evidence()


def _widen_if_needed(progress: SearchProgress, now: float) -> None:
    step = progress.next_ask()
    if step in {NextAsk.OTHERS, NextAsk.OTHERS_FOR_RECORD}:
        progress.widen(progress.held_back(ARCHIVES), now, has_readers=step is NextAsk.OTHERS)


def searched(
    federation: Federation, asked: Question, order: list[str], loss: int
) -> tuple[Decision, Evidence]:
    return _searched(federation, asked, tuple(order), loss)


def place(decision: Decision) -> tuple[object, ...]:
    """Return what a reader is told, and by whom."""
    by = decision.answer.archive if isinstance(decision, Redirect | Hop) else ""
    return type(decision), by


def possible(
    federation: Federation, asked: Question, evidence: Evidence
) -> set[tuple[object, ...]]:
    """Return all that a reader may be told if all are asked at once, whoever takes too long.

    Of copies the first is taken: those who were heard come in the order in which they were.
    """
    names = [answer.archive for answer in evidence.answers]
    names += [silence.archive for silence in evidence.silences]
    names += [name for name in ARCHIVES if name not in names]
    parts = product((False, True), repeat=len(names))
    decisions = (decide(asked, federation.of(*compress(names, part))) for part in parts)
    return {place(each) for each in decisions if not isinstance(each, Wait)}


@settings(max_examples=200)
@given(federations(ones), questions, orders, losses)
def test_old_and_lying_digests_cost_no_answer(
    federation: Federation, asked: Question, order: list[str], loss: int
) -> None:
    told, evidence = searched(federation, asked, order, loss)
    if isinstance(told, Redirect | Hop):
        assert place(told) in possible(federation, asked, evidence)
    else:
        assert type(told) is type(decide(asked, federation.of(*ARCHIVES)))
        assert len(evidence.answers) + len(evidence.silences) == len(ARCHIVES)
    have = {one.has for one in federation.archives}
    assert not (have & set(HAVING) and isinstance(told, NotFound))
    # A claim against an owner that deleted the item is not believed; and who requires the Original
    # is told that it was deleted, whoever has a copy.
    is_there = have & {copy, barren, leads} and not asked.original_required
    assert not (is_there and isinstance(told, Gone))
    after = owner_after(asked, evidence, 1)
    assert after in {evidence.owner, owner_after(asked, federation.of(*ARCHIVES), 1)}


@settings(max_examples=200)
@given(federations(truthful), questions, orders, losses)
def test_what_digests_tell_changes_nothing_but_who_is_asked(
    federation: Federation, asked: Question, order: list[str], loss: int
) -> None:
    assert all(one.is_truthful for one in federation.archives)
    told, evidence = searched(federation, asked, order, loss)
    final = decide(asked, federation.of(*ARCHIVES))
    if loss < len(ARCHIVES) or len(federation.homes) > 1:  # then it matters who was quicker
        assert place(told) in possible(federation, asked, evidence)
    else:
        assert type(told) is type(final)
        if isinstance(told, Redirect | Hop) and isinstance(final, Redirect | Hop):
            assert told.why == final.why
            assert told.why is Why.COPY or told.answer == final.answer
