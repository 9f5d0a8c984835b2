"""What becomes of a question: a pure function of what was heard so far (004, section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ibi.identifier.label import Label
from ibi.identifier.verbs import Verb
from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.evidence import Evidence, OfferedTarget, by_rank, of_one_item, offers_of
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
    """The same is asked again, from another item on, by the verbs that remain."""

    answer: ArchiveReply
    label: Label
    verbs: tuple[Verb, ...]
    why: Why


@dataclass(frozen=True, slots=True)
class Alert:
    """Two or more archives claim the Original that a reader wants: nobody is sent to any."""

    claimants: tuple[ArchiveReply, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """The item was deleted, and nobody else has it."""

    answers: tuple[ArchiveReply, ...]


@dataclass(frozen=True, slots=True)
class Unserved:
    """The item is there, but not what was asked of it."""

    answers: tuple[ArchiveReply, ...]


@dataclass(frozen=True, slots=True)
class NotFound:
    """No archive has the item: all have said so."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """Nobody has the item who answered, and not all have answered."""

    silences: tuple[NoReply, ...]
    doubted: tuple[ArchiveReply, ...] = ()
    """Claims that were not believed because the owner is silent."""


@dataclass(frozen=True, slots=True)
class Wait:
    """More has to be heard."""


@dataclass(frozen=True, slots=True)
class Widen:
    """Those who were held back have to be asked too."""


Decision: TypeAlias = Redirect | Hop | Alert | Gone | Unserved | NotFound | Unsure | Wait | Widen


def _taken(offer: OfferedTarget, why: Why) -> Redirect | Hop:
    if isinstance(offer.choice, Served):
        return Redirect(offer.answer, offer.choice, why)
    return Hop(offer.answer, offer.choice.label, offer.choice.verbs, why)


def decide(question: Question, evidence: Evidence) -> Decision:
    """Decide; Wait if what is awaited may change the outcome, Widen if those held back may."""
    offers = offers_of(question, evidence)
    if evidence.held:
        return _of_the_likely(question, evidence, offers)
    if question.original_required:
        return _original(question, evidence, offers)
    return _any(question, evidence, offers)


def _of_the_likely(
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> Decision:
    """Decide while others are held back: by whom they could not make doubtful, or by nobody.

    That nobody has the item takes the word of all, and so does it that only one has the Original.
    """
    if question.original_required:
        return Widen()
    decision = _any(question, evidence, offers)
    if not isinstance(decision, Wait):
        return decision if _is_conclusive(evidence, decision) else Widen()
    if evidence.patient and evidence.may_conclude:
        return decision
    # Somebody may be awaited only because he would be believed before one who is enough.
    so_far = _any(question, replace(evidence, awaited=frozenset()), offers)
    return decision if _is_conclusive(evidence, so_far) else Widen()


def _is_conclusive(evidence: Evidence, decision: Decision) -> bool:
    """Tell whether those held back need not be asked: the Original is where it is said to be.

    The owner and homes are believed whatever others say, and all of them were asked. So it is as
    good if they lead on, where they have not what was asked. But one of whom only a copy is left
    tells that the Original has moved. A stranger is believed if he has said beforehand that he has
    the item: it takes no foresight to claim whatever is asked for. If he leads on, it is not said
    whether he has the Original of what leads there.
    """
    if not isinstance(decision, Redirect | Hop):
        return False
    archive = decision.answer.archive
    claims = isinstance(decision, Redirect) and decision.served.related.state is State.ORIGINAL
    if evidence.is_owner(archive) or (evidence.owner is None and archive in evidence.homes):
        return claims or isinstance(decision, Hop)
    if archive in evidence.homes:
        return claims and not evidence.is_settled
    is_known_to_have_none = evidence.owner is None and evidence.is_on_record
    return claims and is_known_to_have_none and archive in evidence.listed


def _original(  # noqa: PLR0911  # as many as there are cases
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> Decision:
    """Look at every answer; exactly one archive must claim the Original."""
    if evidence.awaited:
        return Wait()
    claims = by_rank(evidence, [each for each in offers if each.claims])
    first = claims[0].answer.archive if claims else ""
    deleted = _deleted_by_owner(evidence)
    if deleted is not None and first not in evidence.homes and not question.verbs:
        return Gone((deleted,))
    if claims:
        is_owner = evidence.is_owner(first)
        if evidence.is_settled and is_owner and not question.verbs:
            return _taken(claims[0], Why.SETTLED)
        rivals = of_one_item(question, claims)
        if len(rivals) > 1:
            return Alert(tuple(each.answer for each in rivals))
        is_believed = evidence.may_others_claim or (
            first in evidence.homes and not evidence.is_settled
        )
        if question.verbs or is_owner or is_believed:
            return _taken(claims[0], Why.ONLY_ORIGINAL)
    heard = evidence.owner is None or evidence.of_owner is not None
    leads = [each for each in offers if isinstance(each.choice, Lead)]
    leads = [each for each in leads if heard or evidence.is_owner(each.answer.archive)]
    if leads:
        return _most_senior(evidence, leads)
    return _nothing(evidence, claims, is_enough=False)


def _any(  # noqa: PLR0911  # likewise
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> Decision:
    """Take the first answer that serves, of whoever is to be believed."""
    of_owner = [each for each in offers if evidence.is_owner(each.answer.archive)]
    if of_owner and evidence.is_settled:
        return _taken(of_owner[0], Why.SETTLED)
    of_homes = [each for each in offers if each.answer.archive in evidence.homes]
    if evidence.owner is not None:
        of_homes = [each for each in of_homes if each.claims]
    if of_homes and not evidence.is_settled:
        return _most_senior(evidence, of_homes)
    if evidence.awaited & evidence.homes and not evidence.is_settled:
        return Wait()
    if of_owner:
        return _taken(of_owner[0], Why.OWNER)
    believed = _believed(question, evidence, offers)
    if evidence.awaited and (evidence.patient or not believed):
        return Wait()
    if not believed:
        return _nothing(evidence, offers)
    claims = [each for each in believed if each.claims]
    # Who knows a label that leads on knows more than a copy that was made before.
    leads = [each for each in believed if isinstance(each.choice, Lead)]
    return (
        _most_senior(evidence, claims or leads)
        if claims or leads
        else _taken(believed[0], Why.COPY)
    )


def _believed(
    question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]
) -> list[OfferedTarget]:
    """Return what others than the owner offer, as far as it is believed.

    While the owner may still answer, only a copy is. If it is silent, related items are what
    others say that they are: the owner of this one does not own those.
    """
    is_awaited = evidence.owner is not None and evidence.owner.archive in evidence.awaited
    if is_awaited:
        return [each for each in offers if isinstance(each.choice, Served) and not each.claims]
    if question.verbs or evidence.may_others_claim:
        return list(offers)
    return [each for each in offers if not each.claims]


def _deleted_by_owner(evidence: Evidence) -> ArchiveReply | None:
    answer = evidence.of_owner
    return answer if answer is not None and answer.listed and answer.listed.deleted else None


def _most_senior(evidence: Evidence, offers: Sequence[OfferedTarget]) -> Redirect | Hop:
    first = by_rank(evidence, offers)[0]
    if first.answer.archive in evidence.homes:
        return _taken(first, Why.HOME)
    only = first.claims and sum(each.claims for each in offers) == 1
    return _taken(first, Why.ONLY_ORIGINAL if only else Why.SENIOR)


def _nothing(
    evidence: Evidence, doubted: Sequence[OfferedTarget], *, is_enough: bool = True
) -> Decision:
    """Say why nobody is sent anywhere: that nobody has the item takes everybody's word.

    `is_enough` says that it is settled where somebody has the item, and not what was asked of it.
    """
    claims = tuple(each.answer for each in doubted if each.claims)
    if claims and evidence.is_settled and evidence.of_owner is not None:
        return Alert(claims)
    known = [each for each in evidence.answers if each.listed is not None and each not in claims]
    deleted = tuple(each for each in known if each.listed and each.listed.deleted)
    there = tuple(each for each in known if each not in deleted)
    if evidence.silences and (claims or not there or not is_enough):
        return Unsure(evidence.silences, claims)
    if deleted and not (there and is_enough):
        return Gone(deleted)
    return Unserved(there) if there else NotFound()
