"""What archives offer of what was asked, and which of them claim the Original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.ports import Answer
from ibi.resolver.choice import Lead, Served, choose
from ibi.resolver.hearing import Hearing
from ibi.resolver.question import Question


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that serves or leads on, and whose answer it stands in."""

    answer: Answer
    choice: Served | Lead

    @property
    def claims(self) -> bool:
        """Whether it is said to be the Original."""
        return isinstance(self.choice, Served) and self.choice.related.state is State.ORIGINAL

    def claimed(self, question: Question) -> Label:
        """Return the label of the item that is claimed."""
        forms = self.choice.related.forms if isinstance(self.choice, Served) else None
        return forms.label if question.verbs and forms is not None else question.label

    def is_of(self, question: Question, label: Label) -> bool:
        """Tell whether this item is claimed."""
        forms = self.choice.related.forms if isinstance(self.choice, Served) else None
        return not question.verbs or (forms is not None and label in tuple(forms))


def offers_of(question: Question, hearing: Hearing) -> list[Offer]:
    """Return what is offered, in the order in which it came."""
    return [
        Offer(answer, choice)
        for answer in hearing.answers
        if answer.listed is not None
        and not answer.listed.deleted
        and (choice := choose(answer.listed, question)) is not None
    ]


def by_rank(hearing: Hearing, offers: Sequence[Offer]) -> list[Offer]:
    """Return offers, those first that are to be believed before others."""
    return sorted(offers, key=lambda each: hearing.rank(each.answer.archive))


def of_one_item(question: Question, claims: Sequence[Offer]) -> list[Offer]:
    """Return the claims to the item that the first one is to."""
    label = claims[0].claimed(question)
    return [each for each in claims if each.is_of(question, label)]
