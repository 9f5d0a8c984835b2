"""Every combination of three archives, their places in the list of ADR 18, and their replies.

The expected facts are computed here from the text of the list alone, and not by the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

import pytest

from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.decision import Alert, Gone, NotFound, Redirect, Unsure, Wait, decide
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import contention, owner_after
from tests.support.values.archive_answers import (
    copy,
    deleted,
    original,
    owned_by,
    question,
    silent,
    unknown,
)

ARCHIVES: Final = ("a", "b", "c")
"""The most senior first."""
PLACES: Final = ("settled", "owner", "home", "listed", "claimant")
REPLIES: Final = {"claims": original, "copy": copy, "deleted": deleted, "no": unknown}
BLOCKING: Final = {"silent", "awaited", "deleted"}
"""Replies of an archive in places 1 to 4 after which no archive that comes later is trusted."""


@dataclass(frozen=True)
class Case:
    """The place of each archive, and its reply."""

    places: tuple[str, ...]
    replies: tuple[str, ...]

    @property
    def order(self) -> list[int]:
        """The archives in the order of the list."""
        return sorted(range(3), key=lambda each: (PLACES.index(self.places[each]), each))

    @property
    def claimants(self) -> list[int]:
        """The archives that claim the item, in the order of the list."""
        return [each for each in self.order if self.replies[each] == "claims"]

    def is_trusted(self, archive: int) -> bool:
        """Return whether no archive that comes before may have the Original."""
        before = self.order[: self.order.index(archive)]
        return not any(
            self.places[each] == "settled"
            or (self.places[each] != "claimant" and self.replies[each] in BLOCKING)
            for each in before
        )

    @property
    def trusted(self) -> str:
        """The archive whose claim is trusted; empty if there is none."""
        first = self.claimants[:1]
        return "".join(ARCHIVES[each] for each in first if self.is_trusted(each))

    def has(self, reply: str) -> bool:
        """Return whether an archive replied so."""
        return reply in self.replies

    def has_any(self, *replies: str) -> bool:
        """Return whether an archive gave one of these replies."""
        return not set(replies).isdisjoint(self.replies)

    def evidence(self, *, in_grace: bool) -> Evidence:
        """Return the same in the terms of the rules."""
        named = list(zip(ARCHIVES, self.places, self.replies, strict=True))
        owner = next((each for each in named if each[1] in {"settled", "owner"}), None)
        return Evidence(
            answers=tuple(REPLIES[reply](name) for name, _, reply in named if reply in REPLIES),
            silences=tuple(silent(name) for name, _, reply in named if reply == "silent"),
            awaited=frozenset(name for name, _, reply in named if reply == "awaited"),
            in_grace=in_grace,
            owner=owned_by(owner[0], settled=owner[1] == "settled") if owner else None,
            homes=frozenset(name for name, place, _ in named if place == "home"),
            listed=frozenset(name for name, place, _ in named if place == "listed"),
            ranks={name: rank for rank, name in enumerate(ARCHIVES)},
        )


def cases(*more: str) -> Iterator[Case]:
    for places in product(PLACES, repeat=3):
        if sum(each in {"settled", "owner"} for each in places) <= 1:
            for replies in product((*REPLIES, "silent", *more), repeat=3):
                yield Case(places, replies)


@pytest.mark.parametrize("in_grace", [False, True])
def test_the_reader_is_sent_by_the_list_alone(in_grace: bool) -> None:  # noqa: FBT001  # a column
    for case in cases("awaited"):
        decision = decide(question(), case.evidence(in_grace=in_grace))
        match decision:
            case Redirect(answer=answer, served=served) if served.related.state is State.ORIGINAL:
                assert answer.archive == case.trusted, case
                at = ARCHIVES.index(answer.archive)
                is_early = in_grace and case.has("awaited")
                assert not (case.places[at] == "claimant" and is_early), case
            case Redirect(answer=answer):
                at = ARCHIVES.index(answer.archive)
                assert case.replies[at] == "copy", case
                # Owner and home serve their own copy until the move of the Original is recorded.
                assert not case.trusted or case.places[at] in {"settled", "owner", "home"}, case
            case Wait():
                assert case.has("awaited"), case
                assert in_grace or not (case.trusted or case.has("copy")), case
            case NotFound():
                assert set(case.replies) == {"no"}, case
            case Gone():
                assert case.has("deleted"), case
                assert not case.trusted, case
                assert not case.has_any("awaited", "copy", "silent"), case
            case Unsure():
                assert case.has("silent"), case
                assert not case.trusted, case
                assert not case.has_any("awaited", "copy"), case
            case _:
                assert isinstance(decision, Alert), case
                assert "settled" in case.places, case


def test_a_required_original_is_given_by_the_list_alone() -> None:
    for case in cases():
        decision = decide(question(required=True), case.evidence(in_grace=False))
        is_settled = bool(case.trusted) and case.places[case.claimants[0]] == "settled"
        is_only = bool(case.trusted) and len(case.claimants) == 1
        assert isinstance(decision, Redirect) == (is_settled or is_only), case
        if isinstance(decision, Redirect):
            assert decision.answer.archive == case.trusted, case
            assert decision.served.related.state is State.ORIGINAL, case


def test_a_claim_against_the_list_is_a_conflict_and_makes_no_owner() -> None:
    for case in cases():
        evidence = case.evidence(in_grace=False)
        is_against = bool(case.claimants) and (len(case.claimants) > 1 or not case.trusted)
        assert (contention(question(), evidence) is not None) == is_against, case
        after = owner_after(question(), evidence, 2)
        if after != evidence.owner:
            assert after is not None, case
            assert after.archive == case.trusted, case
            assert "settled" not in case.places, case


def test_all_replies_are_read() -> None:
    """The cases are as many as they should be, and the evidence says what they say."""
    all_cases = list(cases("awaited"))
    assert len(all_cases) == (3**3 + 2 * 3 * 3**2) * 6**3
    for case in all_cases[::97]:
        evidence = case.evidence(in_grace=False)
        said: list[ArchiveReply | NoReply] = [*evidence.answers, *evidence.silences]
        assert len(said) + len(evidence.awaited) == len(ARCHIVES)
