"""What becomes of a question: a pure function of what was heard so far (004, section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ibi.identifier.label import Label
from ibi.identifier.verbs import Verb
from ibi.model.item import State
from ibi.resolver.ports.outbound import Answer, Silence
from ibi.resolver.rules.evidence import Hearing, Offer, by_rank, of_one_item, offers_of
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

    answer: Answer
    served: Served
    why: Why


@dataclass(frozen=True, slots=True)
class Hop:
    """The same is asked again, from another item on, by the verbs that remain."""

    answer: Answer
    label: Label
    verbs: tuple[Verb, ...]
    why: Why


@dataclass(frozen=True, slots=True)
class Alert:
    """Two or more archives claim the Original that a reader wants: nobody is sent to any."""

    claimants: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """The item was deleted, and nobody else has it."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Unserved:
    """The item is there, but not what was asked of it."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class NotFound:
    """No archive has the item: all have said so."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """Nobody has the item who answered, and not all have answered."""

    silences: tuple[Silence, ...]
    doubted: tuple[Answer, ...] = ()
    """Claims that were not believed because the owner is silent."""


@dataclass(frozen=True, slots=True)
class Wait:
    """More has to be heard."""


@dataclass(frozen=True, slots=True)
class Widen:
    """Those who were held back have to be asked too."""


Decision: TypeAlias = Redirect | Hop | Alert | Gone | Unserved | NotFound | Unsure | Wait | Widen


def _taken(offer: Offer, why: Why) -> Redirect | Hop:
    if isinstance(offer.choice, Served):
        return Redirect(offer.answer, offer.choice, why)
    return Hop(offer.answer, offer.choice.label, offer.choice.verbs, why)


def decide(question: Question, hearing: Hearing) -> Decision:
    """Decide; Wait if what is awaited may change the outcome, Widen if those held back may."""
    offers = offers_of(question, hearing)
    if hearing.held:
        return _of_the_likely(question, hearing, offers)
    if question.original_required:
        return _original(question, hearing, offers)
    return _any(question, hearing, offers)


def _of_the_likely(question: Question, hearing: Hearing, offers: Sequence[Offer]) -> Decision:
    """Decide while others are held back: by whom they could not make doubtful, or by nobody.

    That nobody has the item takes the word of all, and so does it that only one has the Original.
    """
    if question.original_required:
        return Widen()
    decision = _any(question, hearing, offers)
    if not isinstance(decision, Wait):
        return decision if _is_conclusive(hearing, decision) else Widen()
    if hearing.patient and hearing.may_conclude:
        return decision
    # Somebody may be awaited only because he would be believed before one who is enough.
    so_far = _any(question, replace(hearing, awaited=frozenset()), offers)
    return decision if _is_conclusive(hearing, so_far) else Widen()


def _is_conclusive(hearing: Hearing, decision: Decision) -> bool:
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
    if hearing.is_owner(archive) or (hearing.owner is None and archive in hearing.homes):
        return claims or isinstance(decision, Hop)
    if archive in hearing.homes:
        return claims and not hearing.is_settled
    is_known_to_have_none = hearing.owner is None and hearing.is_on_record
    return claims and is_known_to_have_none and archive in hearing.listed


def _original(  # noqa: PLR0911  # as many as there are cases
    question: Question, hearing: Hearing, offers: Sequence[Offer]
) -> Decision:
    """Look at every answer; exactly one archive must claim the Original."""
    if hearing.awaited:
        return Wait()
    claims = by_rank(hearing, [each for each in offers if each.claims])
    first = claims[0].answer.archive if claims else ""
    deleted = _deleted_by_owner(hearing)
    if deleted is not None and first not in hearing.homes and not question.verbs:
        return Gone((deleted,))
    if claims:
        is_owner = hearing.is_owner(first)
        if hearing.is_settled and is_owner and not question.verbs:
            return _taken(claims[0], Why.SETTLED)
        rivals = of_one_item(question, claims)
        if len(rivals) > 1:
            return Alert(tuple(each.answer for each in rivals))
        is_believed = hearing.may_others_claim or (
            first in hearing.homes and not hearing.is_settled
        )
        if question.verbs or is_owner or is_believed:
            return _taken(claims[0], Why.ONLY_ORIGINAL)
    heard = hearing.owner is None or hearing.of_owner is not None
    leads = [each for each in offers if isinstance(each.choice, Lead)]
    leads = [each for each in leads if heard or hearing.is_owner(each.answer.archive)]
    if leads:
        return _most_senior(hearing, leads)
    return _nothing(hearing, claims, is_enough=False)


def _any(  # noqa: PLR0911  # likewise
    question: Question, hearing: Hearing, offers: Sequence[Offer]
) -> Decision:
    """Take the first answer that serves, of whoever is to be believed."""
    of_owner = [each for each in offers if hearing.is_owner(each.answer.archive)]
    if of_owner and hearing.is_settled:
        return _taken(of_owner[0], Why.SETTLED)
    of_homes = [each for each in offers if each.answer.archive in hearing.homes]
    if hearing.owner is not None:
        of_homes = [each for each in of_homes if each.claims]
    if of_homes and not hearing.is_settled:
        return _most_senior(hearing, of_homes)
    if hearing.awaited & hearing.homes and not hearing.is_settled:
        return Wait()
    if of_owner:
        return _taken(of_owner[0], Why.OWNER)
    believed = _believed(question, hearing, offers)
    if hearing.awaited and (hearing.patient or not believed):
        return Wait()
    if not believed:
        return _nothing(hearing, offers)
    claims = [each for each in believed if each.claims]
    # Who knows a label that leads on knows more than a copy that was made before.
    leads = [each for each in believed if isinstance(each.choice, Lead)]
    return (
        _most_senior(hearing, claims or leads) if claims or leads else _taken(believed[0], Why.COPY)
    )


def _believed(question: Question, hearing: Hearing, offers: Sequence[Offer]) -> list[Offer]:
    """Return what others than the owner offer, as far as it is believed.

    While the owner may still answer, only a copy is. If it is silent, related items are what
    others say that they are: the owner of this one does not own those.
    """
    is_awaited = hearing.owner is not None and hearing.owner.archive in hearing.awaited
    if is_awaited:
        return [each for each in offers if isinstance(each.choice, Served) and not each.claims]
    if question.verbs or hearing.may_others_claim:
        return list(offers)
    return [each for each in offers if not each.claims]


def _deleted_by_owner(hearing: Hearing) -> Answer | None:
    answer = hearing.of_owner
    return answer if answer is not None and answer.listed and answer.listed.deleted else None


def _most_senior(hearing: Hearing, offers: Sequence[Offer]) -> Redirect | Hop:
    first = by_rank(hearing, offers)[0]
    if first.answer.archive in hearing.homes:
        return _taken(first, Why.HOME)
    only = first.claims and sum(each.claims for each in offers) == 1
    return _taken(first, Why.ONLY_ORIGINAL if only else Why.SENIOR)


def _nothing(hearing: Hearing, doubted: Sequence[Offer], *, is_enough: bool = True) -> Decision:
    """Say why nobody is sent anywhere: that nobody has the item takes everybody's word.

    `is_enough` says that it is settled where somebody has the item, and not what was asked of it.
    """
    claims = tuple(each.answer for each in doubted if each.claims)
    if claims and hearing.is_settled and hearing.of_owner is not None:
        return Alert(claims)
    known = [each for each in hearing.answers if each.listed is not None and each not in claims]
    deleted = tuple(each for each in known if each.listed and each.listed.deleted)
    there = tuple(each for each in known if each not in deleted)
    if hearing.silences and (claims or not there or not is_enough):
        return Unsure(hearing.silences, claims)
    if deleted and not (there and is_enough):
        return Gone(deleted)
    return Unserved(there) if there else NotFound()
