"""What a resolver makes of what it heard: every case, in a table (spec part 5, Resolution)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ibi.identifier.verbs import read_modifiers
from ibi.model.item import State
from ibi.model.label_pair import Forms
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.decision import (
    Alert,
    Decision,
    Gone,
    Hop,
    Redirect,
    Unserved,
    Unsure,
    decide,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import contention, owner_after
from tests.support.values.archive_answers import (
    NEXT,
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
    url_of,
)

A, B, C = "a", "b", "c"
RANKS = {A: 0, B: 1, C: 2}


def heard(
    *heard: ArchiveReply | NoReply,
    awaited: str = "",
    in_grace: bool = False,
    owner: Owner | None = None,
    homes: str = "",
    listed: str = "",
) -> Evidence:
    return Evidence(
        answers=tuple(each for each in heard if isinstance(each, ArchiveReply)),
        silences=tuple(each for each in heard if isinstance(each, NoReply)),
        awaited=frozenset(awaited),
        in_grace=in_grace,
        owner=owner,
        homes=frozenset(homes),
        listed=frozenset(listed),
        ranks=RANKS,
    )


def shown(decision: Decision) -> str:
    """Write a decision in a word or two."""
    match decision:
        case Redirect(answer=answer, why=why):
            return f"redirect {answer.archive} {why}"
        case Hop(answer=answer, why=why):
            return f"hop {answer.archive} {why}"
        case Alert(claimants=answers):
            return "alert " + " ".join(each.archive for each in answers)
        case Gone(answers=answers) | Unserved(answers=answers):
            name = type(decision).__name__.lower()
            return f"{name} " + " ".join(each.archive for each in answers)
        case Unsure(silences=silences, doubted=doubted):
            named = " ".join(each.archive for each in silences)
            return f"unsure {named}" + "".join(f" not {each.archive}" for each in doubted)
        case _:
            return type(decision).__name__.lower()


ANY: dict[str, tuple[Evidence, str]] = {
    "nobody is included": (heard(), "notfound"),
    "nobody has it": (heard(unknown(A), unknown(B)), "notfound"),
    "nobody has it who answered": (heard(unknown(A), silent(B)), "unsure b"),
    "nobody answered": (heard(silent(A), silent(B)), "unsure a b"),
    "one is awaited": (heard(unknown(A), awaited=B), "wait"),
    "the only one has it": (heard(original(A)), "redirect a only-original"),
    "others may speak up": (heard(original(B), awaited=A, in_grace=True), "wait"),
    "a copy waits for the Original too": (heard(copy(B), awaited=A, in_grace=True), "wait"),
    "others did not speak up": (heard(original(B), awaited=A), "redirect b only-original"),
    "others are silent": (heard(original(B), silent(A)), "redirect b only-original"),
    "the home is believed at once": (
        heard(original(B), awaited="ac", in_grace=True, homes=B),
        "redirect b home",
    ),
    "the home is believed against one that was faster": (
        heard(original(A), original(B), homes=B),
        "redirect b home",
    ),
    "the home is waited for": (heard(original(A), awaited=B, homes=B), "wait"),
    "a claim against a silent home is not believed": (
        heard(original(A), silent(B), homes=B),
        "unsure b not a",
    ),
    "a copy serves while the home is silent": (
        heard(original(A), copy(C), silent(B), homes=B),
        "redirect c copy",
    ),
    "a copy serves while the home is late": (
        heard(original(A), copy(C), awaited=B, homes=B),
        "redirect c copy",
    ),
    "the home does not have it": (
        heard(original(A), unknown(B), homes=B),
        "redirect a only-original",
    ),
    "the home has only a copy of it": (heard(original(A), copy(B), homes=B), "redirect b home"),
    "nobody is believed against a home that deleted it": (
        heard(original(A), deleted(B), homes=B),
        "gone b",
    ),
    "the senior home is waited for": (heard(original(B), awaited=A, homes="ab"), "wait"),
    "the junior home is not believed while the senior one is silent": (
        heard(original(B), silent(A), homes="ab"),
        "unsure a not b",
    ),
    "the senior home does not wait for the junior one": (
        heard(original(A), awaited=B, homes="ab", in_grace=True),
        "redirect a home",
    ),
    "the junior home after the senior one": (
        heard(original(B), unknown(A), homes="ab"),
        "redirect b home",
    ),
    "who lists it is believed against a senior who does not": (
        heard(original(A), original(B), listed=B),
        "redirect b senior",
    ),
    "who lists it is waited for": (heard(original(A), awaited=B, listed=B), "wait"),
    "a claim against one who lists it and is silent is not believed": (
        heard(original(A), silent(B), listed=B),
        "unsure b not a",
    ),
    "of two who list it the senior is waited for": (
        heard(original(B), awaited=A, listed="ab"),
        "wait",
    ),
    "one who lists it is not believed while a senior is silent": (
        heard(original(B), silent(A), listed="ab"),
        "unsure a not b",
    ),
    "one who lists it does not depend on a junior": (
        heard(original(A), silent(B), listed="ab"),
        "redirect a only-original",
    ),
    "who lists it has a copy": (heard(original(A), copy(B), listed=B), "redirect a only-original"),
    "the home before one who lists it": (
        heard(original(A), original(B), homes=B, listed=A),
        "redirect b home",
    ),
    "the home's copy serves": (heard(copy(B), awaited=A, homes=B), "redirect b home"),
    "the owner is believed at once": (
        heard(original(C), awaited="ab", in_grace=True, owner=owned_by(C)),
        "redirect c owner",
    ),
    "the owner is believed against a home that claims": (
        heard(original(C), original(A), owner=owned_by(C), homes=A),
        "redirect c owner",
    ),
    "so the owner does not wait for the home": (
        heard(original(C), awaited=A, owner=owned_by(C), homes=A, in_grace=True),
        "redirect c owner",
    ),
    "but the home for the owner": (
        heard(original(A), awaited=C, owner=owned_by(C), homes=A),
        "wait",
    ),
    "a home is not believed while the owner is silent": (
        heard(original(A), silent(C), owner=owned_by(C), homes=A),
        "unsure c not a",
    ),
    "the home claims what the owner has a copy of": (
        heard(original(A), copy(C), owner=owned_by(C), homes=A),
        "redirect a home",
    ),
    "the owner's copy does not wait for a home that is late": (
        heard(copy(C), awaited=A, owner=owned_by(C), homes=A),
        "redirect c owner",
    ),
    "but gives it a moment": (
        heard(copy(C), awaited=A, owner=owned_by(C), homes=A, in_grace=True),
        "wait",
    ),
    "the owner before the copy of its home": (
        heard(copy(A), original(C), owner=owned_by(C), homes=A),
        "redirect c owner",
    ),
    "who was settled is believed against its home": (
        heard(original(A), original(C), owner=owned_by(C, settled=True), homes=A),
        "redirect c settled",
    ),
    "and does not wait for it": (
        heard(original(C), awaited=A, owner=owned_by(C, settled=True), homes=A),
        "redirect c settled",
    ),
    "nobody is believed against who was settled, though it has it no more": (
        heard(original(A), unknown(C), owner=owned_by(C, settled=True)),
        "alert a",
    ),
    "nobody is believed against an owner that deleted it": (
        heard(original(A), deleted(C), owner=owned_by(C)),
        "gone c",
    ),
    "nor against an owner whose answer was set aside": (
        heard(
            replace(barren(C), fault="it gave a URL that is not on its own host"),
            original(A),
            silent(B),
            owner=owned_by(C),
        ),
        "unsure b not a",
    ),
    "the owner is waited for, whatever others claim": (
        heard(original(A), awaited=C, owner=owned_by(C)),
        "wait",
    ),
    "while the owner is late a copy serves": (
        heard(original(A), copy(B), awaited=C, owner=owned_by(C)),
        "redirect b copy",
    ),
    "but not at once": (heard(copy(B), awaited=C, owner=owned_by(C), in_grace=True), "wait"),
    "a claim against a silent owner is not believed": (
        heard(original(A), silent(C), owner=owned_by(C)),
        "unsure c not a",
    ),
    "a copy serves while the owner is silent": (
        heard(original(A), copy(B), silent(C), owner=owned_by(C)),
        "redirect b copy",
    ),
    "the owner has it no more: it moved": (
        heard(unknown(C), original(A), owner=owned_by(C)),
        "redirect a only-original",
    ),
    "the owner has only a copy of it now": (
        heard(copy(C), original(A), owner=owned_by(C)),
        "redirect c owner",
    ),
    "settled by the operator": (
        heard(original(A), original(C), owner=owned_by(C, settled=True)),
        "redirect c settled",
    ),
    "of two strangers the senior": (heard(original(B), original(A)), "redirect a senior"),
    "an Original before a copy": (heard(copy(A), original(B)), "redirect b only-original"),
    "the first of two copies": (heard(copy(B), copy(A)), "redirect b copy"),
    "deleted, and a copy elsewhere": (heard(deleted(A), copy(B)), "redirect b copy"),
    "deleted by its owner, and a copy elsewhere": (
        heard(deleted(A), copy(B), owner=owned_by(A)),
        "redirect b copy",
    ),
    "deleted everywhere": (heard(deleted(A), unknown(B), deleted(C)), "gone a c"),
    "deleted, and one is silent": (heard(deleted(A), silent(B)), "unsure b"),
    "there, but not what was asked": (heard(barren(A), unknown(B)), "unserved a"),
    "there, whoever is silent": (heard(barren(A), silent(B)), "unserved a"),
}


@pytest.mark.parametrize("name", ANY)
def test_any_state(name: str) -> None:
    evidence, expected = ANY[name]
    assert shown(decide(question(), evidence)) == expected


REQUIRED: dict[str, tuple[Evidence, str]] = {
    "all are heard first, the owner too": (
        heard(original(A), awaited=B, owner=owned_by(A), homes=A),
        "wait",
    ),
    "exactly one claims": (heard(original(A), copy(B), unknown(C)), "redirect a only-original"),
    "one claims, another is silent": (
        heard(original(A), silent(B)),
        "redirect a only-original",
    ),
    "two claim": (heard(original(B), original(A)), "alert a b"),
    "two claim, one of them the owner": (
        heard(original(A), original(C), owner=owned_by(C)),
        "alert c a",
    ),
    "two claim, and the operator has settled it": (
        heard(original(A), original(C), owner=owned_by(C, settled=True)),
        "redirect c settled",
    ),
    "settled for one who claims no more": (
        heard(original(A), unknown(C), owner=owned_by(C, settled=True)),
        "alert a",
    ),
    "settled for one who is silent": (
        heard(original(A), silent(C), owner=owned_by(C, settled=True)),
        "unsure c not a",
    ),
    "the owner has deleted it, whatever others claim or are silent": (
        heard(original(A), deleted(C), silent(B), owner=owned_by(C)),
        "gone c",
    ),
    "even if the home claims it": (
        heard(original(A), deleted(C), owner=owned_by(C), homes=A),
        "gone c",
    ),
    "the home has deleted it": (heard(original(A), deleted(C), homes=C), "gone c"),
    "the home has deleted it, and the owner is silent": (
        heard(original(A), deleted(C), silent(B), owner=owned_by(B), homes=C),
        "unsure b not a",
    ),
    "the home claims, the owner is silent": (
        heard(original(A), silent(C), owner=owned_by(C), homes=A),
        "unsure c not a",
    ),
    "one claims what a silent home may have": (
        heard(original(A), silent(C), homes=C),
        "unsure c not a",
    ),
    "one claims what a silent archive has listed": (
        heard(original(A), silent(C), listed=C),
        "unsure c not a",
    ),
    "one claims what a silent owner has": (
        heard(original(A), silent(C), owner=owned_by(C)),
        "unsure c not a",
    ),
    "copies only": (heard(copy(A), unknown(B)), "unserved a"),
    "copies only, and one is silent": (heard(copy(A), silent(B)), "unsure b"),
    "a deleted Original, a live copy": (heard(deleted(A), copy(B)), "gone a"),
    "nobody has it": (heard(unknown(A)), "notfound"),
}


@pytest.mark.parametrize("name", REQUIRED)
def test_original_required(name: str) -> None:
    evidence, expected = REQUIRED[name]
    assert shown(decide(question(required=True), evidence)) == expected


def has_last_edition(archive: str, state: State, forms: Forms = NEXT) -> ArchiveReply:
    return listing(archive, {".lastedition": related(archive, state, forms)})


EDITIONS: dict[str, tuple[Evidence, str]] = {
    "a next edition leads on": (heard(leads(A)), "hop a senior"),
    "others may have the last one": (heard(leads(A), awaited=B, in_grace=True), "wait"),
    "the home leads on at once": (heard(leads(A), awaited=B, in_grace=True, homes=A), "hop a home"),
    "who has the last one serves": (
        heard(leads(A), has_last_edition(B, State.ORIGINAL)),
        "redirect b only-original",
    ),
    "a stale copy does not hide the next edition": (
        heard(has_last_edition(B, State.COPY, Forms.of(str(question().label))), leads(A)),
        "hop a senior",
    ),
    "while the owner may answer nobody else leads on": (
        heard(leads(A), awaited=C, owner=owned_by(C)),
        "wait",
    ),
    "if the owner is silent others lead on": (
        heard(leads(A), silent(C), owner=owned_by(C)),
        "hop a senior",
    ),
    "a claim to an edition is decided by the edition's own list while the owner is silent": (
        heard(has_last_edition(A, State.ORIGINAL), silent(C), owner=owned_by(C)),
        "hop a senior",
    ),
    "a copy of an edition serves while the owner is silent": (
        heard(has_last_edition(A, State.COPY), silent(C), owner=owned_by(C)),
        "redirect a copy",
    ),
    "one who knows the item settles nothing while its home is silent": (
        heard(barren(A), silent(C), homes=C),
        "unsure c",
    ),
    "two archives, two last editions": (
        heard(has_last_edition(B, State.ORIGINAL, OTHER), has_last_edition(A, State.ORIGINAL)),
        "redirect a senior",
    ),
}


@pytest.mark.parametrize("name", EDITIONS)
def test_last_edition(name: str) -> None:
    evidence, expected = EDITIONS[name]
    assert shown(decide(question("!"), evidence)) == expected


def test_claims_to_different_items_are_no_rivals() -> None:
    evidence = heard(
        has_last_edition(A, State.ORIGINAL), has_last_edition(B, State.ORIGINAL, OTHER)
    )
    decision = decide(question("!", required=True), evidence)
    assert shown(decision) == "redirect a only-original"
    rival = heard(has_last_edition(A, State.ORIGINAL), has_last_edition(B, State.ORIGINAL))
    assert shown(decide(question("!", required=True), rival)) == "alert a b"


def test_whoever_requires_the_original_is_led_on_by_the_owner_alone() -> None:
    required = question("!", required=True)
    assert shown(decide(required, heard(leads(A), silent(C), owner=owned_by(C)))) == "unsure c"
    assert shown(decide(required, heard(leads(C), silent(A), owner=owned_by(C)))) == "hop c senior"


def test_the_owner_of_an_item_does_not_judge_who_claims_its_edition() -> None:
    required = question("!", required=True)
    gone = heard(deleted(C), has_last_edition(A, State.ORIGINAL), owner=owned_by(C))
    decision = decide(required, gone)
    assert isinstance(decision, Hop)
    assert (decision.answer.archive, decision.label, decision.verbs) == (A, NEXT.label, ())
    mute = heard(silent(C), has_last_edition(A, State.ORIGINAL), owner=owned_by(C))
    assert shown(decide(required, mute)) == "unsure c not a"
    both = heard(
        has_last_edition(C, State.ORIGINAL),
        has_last_edition(A, State.ORIGINAL),
        owner=owned_by(C, settled=True),
    )
    assert shown(decide(required, both)) == "alert c a"


def test_a_hop_goes_on_with_all_verbs_from_the_next_edition() -> None:
    decision = decide(question("!:(oai_dc)"), heard(leads(A)))
    assert isinstance(decision, Hop)
    assert (decision.label, decision.verbs) == (NEXT.label, read_modifiers("!:(oai_dc)")[0])


LEADS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a translation elsewhere": ("+(pt)", {".translation(pt)": None}, NEXT.label.spelling, ""),
    "and its metadata": (
        "+(pt):(oai_dc)",
        {".translation(pt)": None},
        NEXT.label.spelling,
        ":(oai_dc)",
    ),
    "the last edition of a translation": (
        "+(pt)!",
        {".translation(pt)": None},
        NEXT.label.spelling,
        "!",
    ),
    "metadata elsewhere": (":", {".metadata": None}, NEXT.label.spelling, ""),
    "metadata elsewhere, in a format": (
        "!:(oai_dc)",
        {".lastedition.metadata(oai_dc)": None},
        NEXT.label.spelling,
        ":(oai_dc)",
    ),
    "metadata elsewhere, in a format, translated": (
        ":(oai_dc)+(pt)",
        {".metadata(oai_dc)": None},
        NEXT.label.spelling,
        ":(oai_dc)+(pt)",
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_verbs_that_remain(name: str) -> None:
    modifiers, offered, label, remaining = LEADS[name]
    answer = listing(A, {relation: related(A, None, NEXT) for relation in offered})
    decision = decide(question(modifiers), heard(answer))
    assert isinstance(decision, Hop)
    assert decision.label.spelling == label
    assert "".join(verb.modifier for verb in decision.verbs) == remaining


def translated(archive: str, *languages: str, elsewhere: tuple[str, ...] = ()) -> ArchiveReply:
    """Offer translations, and the item itself in English."""
    offered = {".translation(en)": related(archive, State.ORIGINAL, name="en")}
    for language in languages:
        offered[f".translation({language})"] = related(archive, State.ORIGINAL, OTHER, language)
    for language in elsewhere:
        offered[f".translation({language})"] = related(archive, None, NEXT)
    return listing(archive, offered)


PREFERENCES: dict[str, tuple[str, str]] = {
    "pt-BR": ("pt-br,fr;q=0.8", url_of(A, "pt-BR")),
    "falls back from a country": ("pt-AO,fr;q=0.8", url_of(A, "pt")),
    "the next best": ("de,fr;q=0.8", url_of(A, "fr")),
    "the item itself if nothing fits": ("de", url_of(A, "en")),
    "the item itself if nothing is preferred": ("", url_of(A, "en")),
    "never what is refused": ("fr;q=0,de", url_of(A, "en")),
}


@pytest.mark.parametrize("name", PREFERENCES)
def test_translation_without_parameter(name: str) -> None:
    """RFC 4647 look-up; Example 6.8 has pt-br,fr;q=0.8,en;q=0.5,pt;q=0.3."""
    languages, expected = PREFERENCES[name]
    answer = translated(A, "pt", "pt-BR", "fr")
    decision = decide(question("+", languages=languages), heard(answer))
    assert isinstance(decision, Redirect)
    assert decision.served.related.url == expected


@pytest.mark.parametrize("languages", ["pt", "pt-PT", "en;q=0.1,pt;q=0.9", "de,pt,en"])
def test_a_translation_for_one_country_serves_all_readers_of_its_language(languages: str) -> None:
    decision = decide(question("+", languages=languages), heard(translated(A, "fr", "pt-BR")))
    assert isinstance(decision, Redirect)
    assert decision.served.related.url == url_of(A, "pt-BR")


def test_the_best_translation_may_be_elsewhere() -> None:
    answer = translated(A, "fr", elsewhere=("pt",))
    decision = decide(question("+", languages="pt,fr;q=0.5"), heard(answer))
    assert isinstance(decision, Hop)
    assert (decision.label, decision.verbs) == (NEXT.label, ())


UNTRANSLATED = {
    "the last edition": ("!+", ".lastedition.translation(en)", "!"),
    "metadata": ("+:", ".translation(en).metadata", ":"),
    "a format": ("+:(oai_dc)", ".translation(en).metadata(oai_dc)", ":(oai_dc)"),
}


@pytest.mark.parametrize("name", UNTRANSLATED)
def test_what_is_not_translated_is_asked_for_if_nothing_fits_better(name: str) -> None:
    """After another step an archive does not say which of them is the item itself."""
    modifiers, relation, remaining = UNTRANSLATED[name]
    answer = listing(A, {relation: related(A, State.ORIGINAL, OTHER)})
    decision = decide(question(modifiers, languages="de"), heard(answer))
    assert isinstance(decision, Hop)
    assert decision.label == question().label
    assert "".join(verb.modifier for verb in decision.verbs) == remaining
    served = decide(question(modifiers, languages="en"), heard(answer))
    assert isinstance(served, Redirect)


def test_an_item_without_translations_is_itself() -> None:
    decision = decide(question("+", languages="pt"), heard(barren(A)))
    assert isinstance(decision, Hop)
    assert (decision.label, decision.verbs) == (question().label, ())
    elsewhere = decide(question("!+", languages="pt"), heard(leads(A)))
    assert isinstance(elsewhere, Hop)
    assert (elsewhere.label, len(elsewhere.verbs)) == (NEXT.label, 2)


def test_a_country_that_was_not_asked_for_serves_if_the_archive_says_so() -> None:
    decision = decide(question("+(pt-AO)"), heard(translated(A, "pt")))
    assert isinstance(decision, Redirect)
    assert decision.served.related.url == url_of(A, "pt")


def test_relations_that_nobody_asked_for_do_not_serve() -> None:
    answer = listing(A, {".metadata(oai_dc)": related(A, State.ORIGINAL)})
    assert shown(decide(question(":(bibtex)"), heard(answer))) == "unserved a"
    assert shown(decide(question(), heard(answer))) == "unserved a"


RIVALS: dict[str, tuple[Evidence, str]] = {
    "one claims": (heard(original(A), copy(B)), ""),
    "two claim, the senior first": (heard(original(B), original(A)), "a b"),
    "two claim, the owner first": (heard(original(A), original(C), owner=owned_by(C)), "c a"),
    "one claims against a silent owner": (
        heard(original(A), silent(C), owner=owned_by(C)),
        "(c) a",
    ),
    "one claims against a silent home": (heard(original(A), silent(C), homes=C), "(c) a"),
    "one claims what a silent archive has listed": (
        heard(original(A), silent(C), listed=C),
        "(c) a",
    ),
    "one claims against three": (
        heard(
            original(A), silent(B), silent(C), silent("d"), owner=owned_by("d"), homes=C, listed=B
        ),
        "(d) (c) (b) a",
    ),
    "nobody claims against a silent owner": (heard(copy(A), silent(C), owner=owned_by(C)), ""),
    "it moved": (heard(original(A), copy(C), owner=owned_by(C)), ""),
    "it left its home": (heard(original(A), copy(C), homes=C), ""),
    "one claims what its owner has deleted": (
        heard(original(A), deleted(C), owner=owned_by(C)),
        "(c) a",
    ),
    "one claims against who was settled": (
        heard(original(A), unknown(C), owner=owned_by(C, settled=True)),
        "(c) a",
    ),
    "the home claims, and the owner": (
        heard(original(A), original(C), owner=owned_by(C), homes=A),
        "c a",
    ),
}


@pytest.mark.parametrize("name", RIVALS)
def test_rivals(name: str) -> None:
    evidence, expected = RIVALS[name]
    found = contention(question(), evidence)
    if found is None:
        assert not expected
        return
    named = [f"({each})" for each in found.incumbents]
    assert " ".join([*named, *(each.archive for each in found.answers)]) == expected
    assert found.label == question().label


def test_rivals_for_an_edition_contend_for_the_edition() -> None:
    both = heard(has_last_edition(B, State.ORIGINAL), has_last_edition(A, State.ORIGINAL))
    found = contention(question("!"), both)
    assert found is not None
    assert found.label == NEXT.label
    assert [each.archive for each in found.answers] == [A, B]
    assert found.incumbents == ()
    alone = heard(has_last_edition(A, State.ORIGINAL), silent(C), owner=owned_by(C))
    assert contention(question("!"), alone) is None


OWNERS: dict[str, tuple[Evidence, str]] = {
    "nobody claims": (heard(copy(A)), ""),
    "one claims, all were heard": (heard(original(B), unknown(A)), B),
    "one claims, a senior was not heard": (heard(original(B), silent(A)), ""),
    "one claims, a junior was not heard": (heard(original(B), silent(C)), B),
    "one claims, the home was not heard": (heard(original(B), silent(C), homes=C), ""),
    "the home claims, not all were heard": (heard(original(B), silent(A), homes=B), B),
    "one is awaited": (heard(original(B), awaited=A), ""),
    "of two, the senior": (heard(original(B), original(A)), A),
    "the owner stays": (heard(original(A), original(C), owner=owned_by(C)), C),
    "a silent owner stays": (heard(original(A), silent(C), owner=owned_by(C)), C),
    "it moved": (heard(original(A), unknown(C), owner=owned_by(C)), A),
    "the owner stays against the home": (
        heard(original(A), original(C), owner=owned_by(C), homes=A),
        C,
    ),
    "the home claims it, the owner is silent": (
        heard(original(A), silent(C), owner=owned_by(C), homes=A),
        C,
    ),
    "the home has it back": (heard(original(A), copy(C), owner=owned_by(C), homes=A), A),
    "one claims what the home does not know yet": (heard(original(B), unknown(C), homes=C), ""),
    "one claims what the home has a copy of": (heard(original(B), copy(C), homes=C), B),
    "one claims what the home had as the owner": (
        heard(original(B), unknown(C), owner=owned_by(C), homes=C),
        B,
    ),
    "one claims, who lists it was not heard": (heard(original(A), silent(C), listed=C), ""),
    "one claims, who lists it has it no more": (heard(original(A), unknown(C), listed=C), A),
    "who lists it claims it, a senior was not heard": (
        heard(original(B), silent(A), listed=B),
        B,
    ),
    "it was deleted: nobody else owns it": (heard(original(A), deleted(C), owner=owned_by(C)), C),
    "who was settled stays": (heard(original(A), unknown(C), owner=owned_by(C, settled=True)), C),
    "who was settled stays against the home": (
        heard(original(A), unknown(C), owner=owned_by(C, settled=True), homes=A),
        C,
    ),
    "it is nowhere: who had it last stays": (heard(unknown(A), unknown(C), owner=owned_by(C)), C),
}


@pytest.mark.parametrize("name", OWNERS)
def test_owner_after(name: str) -> None:
    evidence, expected = OWNERS[name]
    owner = owner_after(question(), evidence, 7)
    assert (owner.archive if owner else "") == expected


def test_nobody_becomes_an_owner_while_the_record_cannot_be_read() -> None:
    evidence = replace(heard(original(A)), is_on_record=False)
    assert owner_after(question(), evidence, 7) is None
    assert owner_after(question(), replace(evidence, is_on_record=True), 7) is not None


UNREAD_OWNER = {
    "a claim": (heard(original(A), unknown(C)), "unsure  not a"),
    "a claim of an archive whose digest lists it": (heard(original(A), listed=A), "unsure  not a"),
    "a claim of the home": (heard(original(A), original(B), homes=B), "redirect b home"),
    "a claim, and a copy": (heard(original(A), copy(C)), "redirect c copy"),
    "a claim that the home does not know": (
        heard(original(A), unknown(B), homes=B),
        "unsure  not a",
    ),
    "a claim to what the home deleted": (heard(original(A), deleted(B), homes=B), "gone b"),
    "no claim": (heard(unknown(A), unknown(B)), "notfound"),
}


@pytest.mark.parametrize("name", UNREAD_OWNER)
def test_while_the_owner_cannot_be_read_only_a_home_is_trusted(name: str) -> None:
    evidence, expected = UNREAD_OWNER[name]
    unread = replace(evidence, is_on_record=False)
    assert shown(decide(question(), unread)) == expected
    if "claim of the home" not in name and "copy" not in name:
        assert shown(decide(question(required=True), unread)) == expected


def test_while_digests_cannot_be_read_an_archive_that_only_claims_is_not_trusted() -> None:
    claim = replace(heard(original(A)), are_digests_read=False)
    assert shown(decide(question(), claim)) == "unsure  not a"
    assert shown(decide(question(), replace(claim, homes=frozenset(A)))) == "redirect a home"
    owned = replace(claim, owner=owned_by(A))
    assert shown(decide(question(), owned)) == "redirect a owner"
    assert owner_after(question(), claim, 7) is None


def test_nobody_becomes_an_owner_by_a_relation() -> None:
    evidence = heard(has_last_edition(A, State.ORIGINAL))
    assert owner_after(question("!"), evidence, 7) is None
