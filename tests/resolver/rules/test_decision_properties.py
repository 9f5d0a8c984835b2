"""What a resolver decides does not depend on who was quicker, where it must not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.decision import (
    Gone,
    NotFound,
    Redirect,
    Unserved,
    Unsure,
    Wait,
    Why,
    decide,
)
from ibi.resolver.rules.evidence import Evidence, Standing
from ibi.resolver.rules.ownership import contention, owner_after
from ibi.wire.question import Question
from tests.support.extent import tried
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

ARCHIVES = ("a", "b", "c", "d")
SAYINGS = (original, copy, deleted, barren, unknown, leads, silent)

hearings = st.builds(
    lambda sayings, owner, homes, settled, listed: Evidence(
        answers=tuple(
            each
            for each in (say(name) for name, say in zip(ARCHIVES, sayings, strict=True))
            if isinstance(each, ArchiveReply)
        ),
        silences=tuple(silent(n) for n, s in zip(ARCHIVES, sayings, strict=True) if s is silent),
        owner=owned_by(owner, settled=settled) if owner else None,
        homes=frozenset(homes),
        listed=frozenset(listed),
        ranks={name: rank for rank, name in enumerate(ARCHIVES)},
    ),
    st.tuples(*[st.sampled_from(SAYINGS)] * len(ARCHIVES)),
    st.sampled_from(("", *ARCHIVES)),
    st.sets(st.sampled_from(ARCHIVES), max_size=2),
    st.booleans(),
    st.sets(st.sampled_from(ARCHIVES), max_size=2),
)
questions = st.builds(
    lambda modifiers, required: question(modifiers, required=required),
    st.sampled_from(("", "!")),
    st.booleans(),
)


@pytest.mark.many
@settings(max_examples=tried(500))
@given(hearings, questions, st.data())
def test_the_order_of_arrival_decides_only_between_copies(
    evidence: Evidence, asked: Question, data: st.DataObject
) -> None:
    shuffled = replace(
        evidence,
        answers=tuple(data.draw(st.permutations(evidence.answers))),
        silences=tuple(data.draw(st.permutations(evidence.silences))),
    )
    first, second = decide(asked, evidence), decide(asked, shuffled)
    assert type(first) is type(second)
    if isinstance(first, Redirect) and isinstance(second, Redirect):
        assert first.why == second.why
        assert first.why is Why.COPY or first.answer == second.answer
    assert contention(asked, evidence) == contention(asked, shuffled)
    assert owner_after(asked, evidence, 1) == owner_after(asked, shuffled, 1)


@pytest.mark.many
@settings(max_examples=tried(500))
@given(hearings, questions, st.data())
def test_who_is_believed_before_all_were_heard_would_be_believed_after(
    evidence: Evidence, asked: Question, data: st.DataObject
) -> None:
    """As long as there is patience. When it is over, readers of other archives do not wait."""
    arrived = data.draw(st.integers(0, len(evidence.answers)))
    early = replace(
        evidence,
        answers=evidence.answers[:arrived],
        awaited=frozenset(each.archive for each in evidence.answers[arrived:]),
        in_grace=True,
    )
    decision = decide(asked, early)
    if early.awaited and not isinstance(decision, Wait):
        assert decision == decide(asked, evidence)


@pytest.mark.many
@settings(max_examples=tried(500))
@given(hearings, questions)
def test_nobody_decides_for_an_archive_that_was_not_heard(
    evidence: Evidence, asked: Question
) -> None:
    decision = decide(asked, evidence)
    if evidence.silences:
        assert not isinstance(decision, NotFound)
        # Who deleted its own Original is asked for it by nobody else's leave.
        entitled = [
            each.archive for each in evidence.answers if each.listed and each.listed.deleted
        ]
        by_holder = any(evidence.standing(each) <= Standing.HOME for each in entitled)
        assert not isinstance(decision, Gone) or (asked.original_required and by_holder)
        is_there = any(each.listed and not each.listed.deleted for each in evidence.answers)
        assert not isinstance(decision, Unserved) or is_there
    assert not isinstance(decision, Wait)
    awaiting = decide(asked, replace(evidence, awaited=frozenset({"z"})))
    assert not isinstance(awaiting, NotFound | Gone | Unserved | Unsure)


@pytest.mark.many
@settings(max_examples=tried(500))
@given(hearings, st.booleans())
def test_nobody_is_sent_to_an_original_while_one_that_comes_before_it_claims_or_is_silent(
    evidence: Evidence,
    required: bool,  # noqa: FBT001  # drawn
) -> None:
    """The list of ADR 18, in other words: settled, owner, homes, digests, each by seniority."""
    listed = [
        *([evidence.owner.archive] if evidence.owner is not None else []),
        *sorted(evidence.homes),
        *sorted(evidence.listed),
    ]
    decision = decide(question(required=required), evidence)
    if not isinstance(decision, Redirect) or decision.served.related.state is State.COPY:
        return
    chosen = decision.answer.archive
    before = listed[: listed.index(chosen)] if chosen in listed else listed
    answers = {each.archive: each for each in evidence.answers}
    for each in before:
        assert each in answers
        assert answers[each] not in (original(each), deleted(each))
    after = owner_after(question(), evidence, 1)
    assert after in {evidence.owner, Owner(chosen, 1)}
    found = contention(question(), evidence)
    assert found is None or (found.answers[0].archive == chosen and not found.incumbents)
