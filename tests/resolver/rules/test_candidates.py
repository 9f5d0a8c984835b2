"""Who is asked first, and whose word is enough while others are held back."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.decision import Hop, NotFound, Redirect, Unsure, Wait, Widen, decide
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import owner_after, waits_for_all
from ibi.resolver.rules.search_progress import candidates_for
from tests.support.values.archive_answers import (
    OTHER,
    barren,
    copy,
    deleted,
    leads,
    listing,
    original,
    owned_by,
    question,
    related,
    silent,
    unknown,
)

RANKS: Final = {name: rank for rank, name in enumerate("abcdho")}


def test_first_are_homes_the_owner_holders_and_who_publishes_nothing() -> None:
    found = candidates_for({"home"}, "owner", {"old", "strange"}, {"holder"})
    assert found.first == {"home", "owner", "old", "strange", "holder"}
    assert found.listed == {"holder"}
    assert candidates_for(set(), None, set(), set()).first == frozenset()


def heard(  # noqa: PLR0913  # what is on record, by name
    *sayings: ArchiveReply | NoReply,
    owner: str = "",
    settled: bool = False,
    home: str = "",
    listed: str = "",
    awaited: str = "",
    in_grace: bool = True,
) -> Evidence:
    """Return what was heard while others are held back."""
    return Evidence(
        answers=tuple(each for each in sayings if isinstance(each, ArchiveReply)),
        silences=tuple(each for each in sayings if isinstance(each, NoReply)),
        awaited=frozenset(awaited),
        in_grace=in_grace,
        owner=owned_by(owner, settled=settled) if owner else None,
        homes=frozenset(home),
        ranks=RANKS,
        others_held_back=True,
        listed=frozenset(listed),
    )


METADATA: Final = listing("h", {".metadata": related("h", State.ORIGINAL, OTHER)})
"""A home that claims the Original of what describes the item."""


ENOUGH: Final = {
    "the owner claims it": ("", heard(original("o"), owner="o")),
    "the owner that was settled claims it": (
        "",
        heard(original("o"), owner="o", settled=True, home="h", awaited="h"),
    ),
    "the owner leads on": ("!", heard(leads("o"), owner="o")),
    "the home claims it": ("", heard(original("h"), home="h")),
    "the home claims it from the owner": ("", heard(original("h"), copy("o"), owner="o", home="h")),
    "the owner claims it and the home is awaited": (
        "",
        heard(original("o"), owner="o", home="h", awaited="h"),
    ),
    "the home leads on and there is no owner": ("!", heard(leads("h"), home="h")),
    "a stranger claims it as his digest said": ("", heard(original("a"), listed="a")),
    "a stranger claims it and the home has it no more": (
        "",
        heard(original("a"), copy("b"), unknown("h"), home="h", listed="ab"),
    ),
    "the moment is over": (
        "",
        heard(original("a"), listed="a", awaited="b", in_grace=False),
    ),
}


@pytest.mark.parametrize("case", ENOUGH)
def test_the_word_of_one_is_enough(case: str) -> None:
    modifiers, evidence = ENOUGH[case]
    decision = decide(question(modifiers), evidence)
    assert isinstance(decision, Redirect | Hop)
    assert decision == decide(question(modifiers), replace(evidence, others_held_back=False))
    assert decide(question(modifiers, required=True), evidence) == Widen()


WIDENED: Final = {
    "nobody is likely to have it": ("", heard()),
    "nobody has it": ("", heard(unknown("a"), listed="a")),
    "somebody has a copy": ("", heard(copy("a"), listed="a")),
    "the owner has a copy": ("", heard(copy("o"), owner="o")),
    "the home has a copy": ("", heard(copy("h"), home="h")),
    "it was deleted": ("", heard(deleted("a"), listed="a")),
    "the owner deleted it": ("", heard(deleted("o"), owner="o")),
    "it is there, and not what was asked for": ("", heard(barren("o"), owner="o")),
    "the owner has it no more": ("", heard(unknown("o"), original("a"), owner="o", listed="a")),
    "the owner is silent": ("", heard(silent("o"), original("a"), owner="o", listed="a")),
    "the owner is silent, and a copy is there": (
        "",
        heard(silent("o"), copy("a"), owner="o", listed="a"),
    ),
    "the owner that was settled is silent, and the home claims": (
        ":",
        heard(silent("o"), METADATA, owner="o", settled=True, home="h"),
    ),
    "the owner is silent, and the home claims": (
        "",
        heard(original("h"), silent("o"), owner="o", home="h"),
    ),
    "the home is silent, and one claims whose digest said so": (
        "",
        heard(original("a"), silent("h"), home="h", listed="a"),
    ),
    "one is silent whose digest has it, and a junior one claims": (
        "",
        heard(original("b"), silent("a"), listed="ab"),
    ),
    "the home is awaited, and the owner is silent": (
        "",
        heard(silent("o"), owner="o", home="h", awaited="h"),
    ),
    "a stranger claims it whose digest did not say so": (
        "",
        heard(original("b"), unknown("a"), listed="a"),
    ),
    "a stranger leads on": ("!", heard(leads("a"), listed="a")),
    "a home leads on, and the owner has it no more": (
        "!",
        heard(leads("h"), unknown("o"), owner="o", home="h"),
    ),
    "who is likely to have it takes longer than a moment": (
        "",
        heard(owner="o", awaited="o", in_grace=False),
    ),
    "nobody is awaited who could be enough": ("", heard(unknown("a"), listed="a", awaited="b")),
    "an owner is awaited no more": ("", heard(unknown("o"), owner="o", awaited="b")),
}


def test_metadata_of_the_home_are_no_answer_while_the_settled_owner_is_silent() -> None:
    modifiers, evidence = WIDENED["the owner that was settled is silent, and the home claims"]
    decision = decide(question(modifiers), replace(evidence, others_held_back=False))
    assert isinstance(decision, Unsure)
    assert [each.archive for each in decision.doubted] == ["h"]


@pytest.mark.parametrize("case", WIDENED)
def test_the_others_are_asked_too(case: str) -> None:
    modifiers, evidence = WIDENED[case]
    assert decide(question(modifiers), evidence) == Widen()


def test_the_others_are_asked_too_where_it_cannot_be_read_who_is_the_owner() -> None:
    evidence = heard(original("a"), listed="a")
    assert decide(question(), replace(evidence, is_on_record=False)) == Widen()
    at_home = replace(heard(original("h"), home="h"), is_on_record=False)
    assert isinstance(decide(question(), at_home), Redirect)


WAITING: Final = {
    "the owner may answer": heard(owner="o", awaited="o"),
    "the home may answer": heard(home="h", awaited="h"),
    "the owner comes before the home": heard(original("h"), owner="o", home="h", awaited="o"),
    "the senior home comes first": heard(original("h"), home="ah", awaited="a"),
    "the home may have what the owner has a copy of": heard(
        copy("o"), owner="o", home="h", awaited="h"
    ),
    "one may answer whose digest has it": heard(listed="a", awaited="ab"),
    "others have a moment to speak up": heard(original("a"), listed="a", awaited="b"),
}


@pytest.mark.parametrize("case", WAITING)
def test_who_may_be_enough_is_waited_for(case: str) -> None:
    assert decide(question(), WAITING[case]) == Wait()


def test_nothing_is_widened_that_is_wide() -> None:
    assert decide(question(), replace(heard(unknown("a")), others_held_back=False)) == NotFound()
    assert isinstance(
        decide(question(), replace(heard(silent("a")), others_held_back=False)), Unsure
    )


def test_an_owner_is_put_on_record_after_all_were_asked_or_if_it_is_the_home() -> None:
    stranger = heard(original("a"), listed="a")
    assert owner_after(question(), stranger, 1) is None
    assert waits_for_all(question(), stranger)
    wide = replace(stranger, others_held_back=False)
    assert owner_after(question(), wide, 1) == owned_by("a")
    assert not waits_for_all(question(), wide)
    home = heard(original("h"), home="h")
    assert owner_after(question(), home, 1) == owned_by("h")
    assert not waits_for_all(question(), home)
    known = heard(original("o"), owner="o")
    assert owner_after(question(), known, 2) == owned_by("o")
    assert not waits_for_all(question(), known)
