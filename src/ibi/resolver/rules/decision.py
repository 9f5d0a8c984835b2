"""The decision about a question: a pure function of the replies so far (004, section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ibi.identifier.label import Label
from ibi.identifier.verbs import GetMetadata, Verb
from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.evidence import (
    Evidence,
    OfferedTarget,
    Standing,
    by_rank,
    of_one_item,
    offers_of,
)
from ibi.wire.answer_choice import Lead, Served
from ibi.wire.question import Question


class Why(StrEnum):
    """Why an answer was chosen."""

    OWNER = "owner"
    SETTLED = "settled"
    HOME = "home"
    ONLY_ORIGINAL = "only-original"
    SENIOR = "senior"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Redirect:
    """The reader is sent to a URL."""

    answer: ArchiveReply
    served: Served
    why: Why


@dataclass(frozen=True, slots=True)
class Hop:
    """Another item is asked for, with the remaining verbs."""

    answer: ArchiveReply
    label: Label
    verbs: tuple[Verb, ...]
    why: Why


@dataclass(frozen=True, slots=True)
class Alert:
    """Several archives claim the Original that a reader wants: none of them is used."""

    claimants: tuple[ArchiveReply, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """The item was deleted, and no other archive has it."""

    answers: tuple[ArchiveReply, ...]


@dataclass(frozen=True, slots=True)
class Unserved:
    """An archive has the item, but not what was asked of it."""

    answers: tuple[ArchiveReply, ...]


@dataclass(frozen=True, slots=True)
class NotFound:
    """No archive has the item: all archives have answered, or none can have it."""

    impossible: str = ""
    """The code of why no archive can have it (`rules.label_plausibility`); empty if all archives
    have answered."""
    silences: tuple[NoReply, ...] = ()
    """The archives that have not answered, if none can have it."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """No archive that answered has the item, and not all have answered."""

    silences: tuple[NoReply, ...]
    doubted: tuple[ArchiveReply, ...] = ()
    """Claims that were not trusted because an archive that comes before is silent, or may come
    before by a record that cannot be read."""
    is_unread: bool = False
    """Whether a claim was not trusted only because the record cannot be read."""


@dataclass(frozen=True, slots=True)
class Wait:
    """More replies are needed."""


@dataclass(frozen=True, slots=True)
class Widen:
    """The archives that were held back have to be asked too."""


Decision: TypeAlias = Redirect | Hop | Alert | Gone | Unserved | NotFound | Unsure | Wait | Widen


def _taken(offer: OfferedTarget, why: Why) -> Redirect | Hop:
    if isinstance(offer.choice, Served):
        return Redirect(offer.answer, offer.choice, why)
    return Hop(offer.answer, offer.choice.label, offer.choice.verbs, why)


def decide(question: Question, evidence: Evidence) -> Decision:
    """Decide; Wait if awaited replies may change the outcome, Widen if archives held back may."""
    offers = offers_of(question, evidence)
    if evidence.others_held_back:
        return _decide_candidates(question, evidence, offers)
    if question.original_required:
        return _original(question, evidence, offers)
    return _any(question, evidence, offers)


def _decide_candidates(
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> Decision:
    """Decide while others are held back, if their replies could not change the outcome.

    That no archive has the item needs the replies of all archives, and so does a request for the
    Original: only one archive may claim it.
    """
    if question.original_required:
        return Widen()
    decision = _any(question, evidence, offers)
    if not isinstance(decision, Wait):
        return decision if _is_conclusive(evidence, decision) else Widen()
    if evidence.in_grace and evidence.may_conclude:
        return decision
    # An archive may be awaited only because it would be preferred to another whose reply is enough.
    so_far = _any(question, replace(evidence, awaited=frozenset()), offers)
    return decision if _is_conclusive(evidence, so_far) else Widen()


def _is_conclusive(evidence: Evidence, decision: Decision) -> bool:
    """Return whether the archives held back need not be asked: the Original is where it should be.

    The owner and homes come before all others, and all of them were asked. If they do not have the
    item, the next item that they lead to is as good. But if one of them has only a copy, the
    Original has moved. Any other archive is trusted only if its digest listed the item before: any
    archive can claim whatever it is asked for. If such an archive leads on, it does not say whether
    it has the Original of the item that leads there.
    """
    if not isinstance(decision, Redirect | Hop):
        return False
    archive = decision.answer.archive
    claims = isinstance(decision, Redirect) and decision.served.related.state is State.ORIGINAL
    if evidence.is_owner(archive) or (evidence.owner is None and archive in evidence.homes):
        return claims or isinstance(decision, Hop)
    if archive in evidence.homes:
        return claims and evidence.is_trusted(archive)
    is_known_to_have_none = evidence.owner is None and evidence.is_on_record
    return claims and is_known_to_have_none and archive in evidence.listed


def _original(  # noqa: PLR0911  # as many as there are cases
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> Decision:
    """Check every answer; exactly one archive must claim the Original."""
    if evidence.awaited:
        return Wait()
    claims = by_rank(evidence, [each for each in offers if each.claims])
    deleted = _deleted_before(evidence, claims)
    if deleted is not None and not question.verbs:
        return Gone((deleted,))
    if claims:
        first = claims[0].answer.archive
        if evidence.standing(first) is Standing.SETTLED and not question.verbs:
            return _taken(claims[0], Why.SETTLED)
        rivals = of_one_item(question, claims)
        if len(rivals) > 1:
            return Alert(tuple(each.answer for each in rivals))
        if evidence.is_trusted(first):
            return _taken(claims[0], Why.ONLY_ORIGINAL)
        onward = _claimed_elsewhere(question, claims[0])
        if onward is not None and not _is_silent_before(evidence, first):
            return _taken(onward, Why.ONLY_ORIGINAL)
    leads = [each for each in offers if isinstance(each.choice, Lead)]
    leads = [each for each in leads if evidence.is_trusted(each.answer.archive)]
    if leads:
        return _most_senior(evidence, leads)
    return _nothing(evidence, claims, is_enough=False)


def _any(question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]) -> Decision:
    """Take the first answer that serves, of the archive that comes first in the list."""
    of_owner = [each for each in offers if evidence.is_owner(each.answer.archive)]
    if of_owner and (evidence.is_settled or not _is_copy(of_owner[0])):
        return _taken(of_owner[0], Why.SETTLED if evidence.is_settled else Why.OWNER)
    of_homes = [each for each in offers if _is_of_trusted_home(evidence, each)]
    if of_homes:
        return _most_senior(evidence, of_homes)
    if of_owner:
        # The Original has moved, perhaps to the home.
        is_early = evidence.in_grace and bool(evidence.awaited & evidence.homes)
        return Wait() if is_early else _taken(of_owner[0], Why.OWNER)
    trusted = _trusted(question, evidence, offers)
    if evidence.awaited and (evidence.in_grace or not trusted):
        return Wait()
    if not trusted:
        return _nothing(evidence, offers)
    claims = [each for each in trusted if each.claims]
    # An archive that has a label which leads on is more up to date than a copy made before.
    leads = [each for each in trusted if isinstance(each.choice, Lead)]
    return (
        _most_senior(evidence, claims or leads) if claims or leads else _taken(trusted[0], Why.COPY)
    )


def _is_of_trusted_home(evidence: Evidence, offer: OfferedTarget) -> bool:
    """Return whether a home offers it, and no archive that comes before may have the Original.

    If there is an owner, which does not have the item any more, a home is only trusted with a
    claim: its copy may be older than the Original that has moved.
    """
    archive = offer.answer.archive
    if evidence.standing(archive) is not Standing.HOME or not evidence.is_trusted(archive):
        return False
    return offer.claims or evidence.owner is None


def _trusted(
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> list[OfferedTarget]:
    """Return the offers that may be taken: copies of all archives, and the claims of trusted ones.

    Other archives lead on to related items once no archive of the list is awaited: those that hold
    this item do not hold its editions and translations.
    """
    may_lead_on = bool(question.verbs) and not evidence.holders & evidence.awaited
    taken: list[OfferedTarget] = []
    for each in offers:
        if _is_copy(each) or evidence.is_trusted(each.answer.archive):
            taken.append(each)
        elif may_lead_on and (onward := _claimed_elsewhere(question, each)) is not None:
            taken.append(onward)
    return taken


def _claimed_elsewhere(question: Question, offer: OfferedTarget) -> OfferedTarget | None:
    """Return the offer of an archive that is not trusted as a lead to the item that it claims.

    Which archive is trusted with that item, its own list decides. None if there is no such item:
    metadata belong to the item that they describe, and so does a claim to them.
    """
    if isinstance(offer.choice, Lead):
        return offer
    forms = offer.choice.related.forms
    if forms is None or not question.verbs or isinstance(question.verbs[0], GetMetadata):
        return None
    return OfferedTarget(offer.answer, Lead(forms.label, ()))


def _is_copy(offer: OfferedTarget) -> bool:
    return isinstance(offer.choice, Served) and not offer.claims


def _is_silent_before(evidence: Evidence, archive: str) -> bool:
    silent = {each.archive for each in evidence.silences}
    return not silent.isdisjoint(evidence.obstacles(archive))


def _deleted_before(evidence: Evidence, claims: Sequence[OfferedTarget]) -> ArchiveReply | None:
    """Return the answer by which the owner or a home deleted the item, if it comes first."""
    before = evidence.obstacles(claims[0].answer.archive if claims else "")
    if not before or evidence.standing(before[0]) > Standing.HOME:
        return None
    answer = next((each for each in evidence.answers if each.archive == before[0]), None)
    return answer if answer is not None and answer.listed and answer.listed.deleted else None


def _most_senior(evidence: Evidence, offers: Sequence[OfferedTarget]) -> Redirect | Hop:
    first = by_rank(evidence, offers)[0]
    if evidence.standing(first.answer.archive) is Standing.HOME:
        return _taken(first, Why.HOME)
    only = first.claims and sum(each.claims for each in offers) == 1
    return _taken(first, Why.ONLY_ORIGINAL if only else Why.SENIOR)


def _nothing(
    evidence: Evidence, doubted: Sequence[OfferedTarget], *, is_enough: bool = True
) -> Decision:
    """Return why the reader is sent nowhere; NotFound needs the replies of all archives.

    With `is_enough`, a trusted archive that has the item, but not what was asked of it, settles the
    matter although others are silent.
    """
    claims = tuple(each.answer for each in doubted if each.claims)
    if claims and evidence.is_settled and evidence.of_owner is not None:
        return Alert(claims)
    known = [each for each in evidence.answers if each.listed is not None and each not in claims]
    deleted = tuple(each for each in known if each.listed and each.listed.deleted)
    there = tuple(each for each in known if each not in deleted)
    is_settled = is_enough and any(evidence.is_trusted(each.archive) for each in there)
    is_unread = any(_is_in_doubt_only_unread(evidence, each.archive) for each in claims)
    if is_unread or (evidence.silences and (claims or not is_settled)):
        return Unsure(evidence.silences, claims, is_unread)
    if deleted and not (there and is_enough):
        return Gone(deleted)
    return Unserved(there) if there else NotFound()


def _is_in_doubt_only_unread(evidence: Evidence, archive: str) -> bool:
    return evidence.is_overruled_by_unread(archive) and not evidence.obstacles(archive)
