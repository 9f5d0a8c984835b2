"""Resolutions as a resolver makes them, of what made-up archives say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ibi.identifier.label import parse
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.archive_record import UrlKey
from ibi.model.item import State
from ibi.model.label_pair import Forms
from ibi.model.registration import Inclusion, Outage, RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.decision import (
    Alert,
    Gone,
    Hop,
    NotFound,
    Redirect,
    Unserved,
    Unsure,
    decide,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.label_plausibility import Impossibility, with_impossibility
from ibi.resolver.rules.resolution import Chain, Resolution, ResolutionStep
from ibi.wire.question import Question
from ibi.wire.url_list import Related, UrlList

NOVEMBER = 1_700_000_000 * 10**9
KEY = "31415926535897"
FIRST, SECOND, THIRD = "J8LNKB5R7W/3FUQHC5", "J8LNKAN8RW/38CJJ5P", "LK47B6W/362SFKH"
ITEM, LATER = "8JMKD3MGP7W/3EPGUE5", "8JMKD3MGP8W/35MMLL8"


def archive(service: str, host: str, **more: object) -> RegisteredArchive:
    inclusion = Inclusion(
        address=host,
        ip="192.0.2.1",
        platform_version="1",
        administrator="secret@example.org",
        since=NOVEMBER,
        seen=NOVEMBER,
    )
    facts: dict[str, object] = {
        "service": parse(service),
        "key": "hashed",
        "administrator": "secret@example.org",
        "registered": NOVEMBER,
        "confirmed": NOVEMBER,
        "inclusion": inclusion,
    }
    return RegisteredArchive(**{**facts, **more})  # type: ignore[arg-type]  # made of names


ARCHIVES: Mapping[str, RegisteredArchive] = {
    each.id: each
    for each in (
        archive(FIRST, "first.example"),
        archive(SECOND, "second.example:8080"),
        archive(
            THIRD,
            "third.example",
            outage=Outage(since=NOVEMBER, failures=3, next_try=NOVEMBER, reason="down"),
        ),
    )
}


def question(text: str = ITEM) -> Question:
    return Question.of(PersistentUrl.parse(text), LanguagePreference())


def has(  # noqa: PLR0913  # what an answer may hold, by name
    service: str,
    state: State | None = State.ORIGINAL,
    *,
    url: str = "",
    next_edition: str = "",
    deleted: str = "",
    relation: str = "",
    seconds: float = 0.125,
    fault: str = "",
) -> ArchiveReply:
    """Return what an archive says that has the item; with a key, which nobody may see."""
    host = ARCHIVES[parse(service).canonical].address
    related = Related(None, url or f"http://{host}/col/x", None, state)
    nothing: dict[Relation, Related] = {}
    listed = UrlList(
        host,
        Forms.of(service),
        deleted=deleted,
        next_edition=Forms.of(next_edition) if next_edition else None,
        key=UrlKey(KEY),
        related={Relation.parse(relation): related} if state is not None else nothing,
    )
    return ArchiveReply(parse(service).canonical, listed, seconds, fault)


def has_not(service: str, seconds: float = 0.25) -> ArchiveReply:
    return ArchiveReply(parse(service).canonical, None, seconds)


def silent(service: str, reason: str = "it did not answer in time") -> NoReply:
    return NoReply(parse(service).canonical, reason, 2.0)


def evidence(
    *heard: ArchiveReply | NoReply, owner: str = "", home: str = "", settled: bool = False
) -> Evidence:
    return Evidence(
        answers=tuple(each for each in heard if isinstance(each, ArchiveReply)),
        silences=tuple(each for each in heard if isinstance(each, NoReply)),
        owner=Owner(parse(owner).canonical, NOVEMBER, settled) if owner else None,
        homes=frozenset({parse(home).canonical} if home else ()),
        ranks={name: rank for rank, name in enumerate(ARCHIVES)},
    )


def step(asked: Question, heard: Evidence, seconds: float = 0.5) -> ResolutionStep:
    request = asked.request(("192.0.2.7",))
    return ResolutionStep(asked, request, heard, decide(asked, heard), 1.0, seconds, UrlKey(KEY))


def resolution(text: str, *hearings: Evidence) -> Resolution:
    """Resolve as the resolver does, each hearing being that of the next hop."""
    asked = current = question(text)
    steps: list[ResolutionStep] = []
    for heard in hearings:
        steps.append(step(current, heard))
        decision = steps[-1].decision
        if isinstance(decision, (Redirect, Alert, Gone, Unserved, NotFound, Unsure)):
            return Resolution(asked, tuple(steps), decision)
        assert isinstance(decision, Hop)
        current = current.onward(decision.label, decision.verbs)
    labels = (*(each.question.label for each in steps), current.label)
    is_loop = current.search in {each.question.search for each in steps}
    return Resolution(asked, tuple(steps), Chain(labels, is_loop))


def impossible(unsure: Resolution, why: Impossibility) -> Resolution:
    """Return the resolution of a label that no archive can have, although one is silent."""
    decision = with_impossibility(unsure.last.decision, lambda: why)
    assert isinstance(decision, NotFound)
    steps = (*unsure.steps[:-1], replace(unsure.last, decision=decision))
    return replace(unsure, steps=steps, outcome=decision)


def redirected() -> Resolution:
    """By a hop, with all that archives can say."""
    return resolution(
        f"{ITEM}!",
        evidence(
            has(FIRST, None, next_edition=LATER),
            has_not(SECOND),
            silent(THIRD, "it is down since 2023-11-14T22:13:20Z"),
            owner=FIRST,
        ),
        evidence(
            has(SECOND, relation=".lastedition", seconds=0.0625),
            has(FIRST, State.COPY, relation=".lastedition"),
            silent(THIRD),
            home=SECOND,
        ),
    )


def all_outcomes() -> dict[str, Resolution]:
    """One of each, by name; names that are no outcome are cases of one."""
    gone = has(FIRST, None, deleted="2020-02-03T04:05:06Z")
    there, back = has(FIRST, None, next_edition=LATER), has(FIRST, None, next_edition=ITEM)
    original = f"{ITEM}?ibiurl.requireditemstatus=Original"
    return {
        "redirect": redirected(),
        "not-found": resolution(ITEM, evidence(has_not(FIRST), has_not(SECOND))),
        "gone": resolution(ITEM, evidence(gone, has_not(SECOND))),
        "original-gone": resolution(original, evidence(gone, has(SECOND, State.COPY))),
        "next-not-found": resolution(
            f"{ITEM}!", evidence(there), evidence(has_not(FIRST), has_not(SECOND))
        ),
        "unserved": resolution(f"{ITEM}+(fr)", evidence(has(FIRST, None), has_not(SECOND))),
        "406": resolution(f"{ITEM}:(marc)", evidence(has(FIRST, None), has_not(SECOND))),
        "conflict": resolution(original, evidence(has(FIRST), has(SECOND), has_not(THIRD))),
        "unsure": resolution(ITEM, evidence(has_not(FIRST), silent(SECOND), silent(THIRD))),
        "doubted": resolution(ITEM, evidence(has(SECOND), silent(FIRST), owner=FIRST)),
        "unread": resolution(ITEM, replace(evidence(has(SECOND)), is_on_record=False)),
        **{
            why.value: impossible(resolution(ITEM, evidence(has_not(FIRST), silent(SECOND))), why)
            for why in Impossibility
        },
        "loop": resolution(f"{ITEM}!", evidence(there), evidence(back)),
        "endless": resolution(f"{ITEM}!", evidence(there)),
    }
