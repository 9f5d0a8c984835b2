"""The replies to a question so far, and which archive is trusted before others.

One archive has the Original of an item, and every registered archive can claim to be the one. So an
archive that was known to have it is the item's *owner*; an archive whose service label was made
where the item's label was made is its *home*; and of two archives the one registered earlier is
*senior*. An owner that the operator has settled comes before a home that claims the item, and that
before any other owner. If there is none of these, other archives get a short time to claim the
item. A claim is not trusted against an owner that is silent or has deleted the item: then a copy is
served, or the reader is sent nowhere (docs/adr/0018).

Not all archives need to have been asked: candidates are asked first, and the others are held back
(docs/adr/0028). This does not change which archive is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.wire.answer_choice import Lead, Served, choose
from ibi.wire.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The replies to a question so far."""

    answers: tuple[ArchiveReply, ...] = ()
    """Answers, in the order in which they came."""
    silences: tuple[NoReply, ...] = ()
    """Archives that will not answer any more."""
    awaited: frozenset[str] = frozenset()
    """Archives that may still answer."""
    in_grace: bool = False
    """Whether other archives still have time to claim the item."""
    owner: Owner | None = None
    is_on_record: bool = True
    """Whether the recorded owner, or that there is none, could be read."""
    homes: frozenset[str] = frozenset()
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Seniority by archive; the lowest is the most senior."""
    others_held_back: bool = False
    """Whether other archives are held back, which were not asked yet."""
    asked_first: frozenset[str] | None = None
    """Archives that are asked first; None if all are."""
    listed: frozenset[str] = frozenset()
    """Archives whose digest has the item."""

    def with_answer(self, answer: ArchiveReply) -> Evidence:
        """Return the evidence with another answer of an archive, in the place of the one before."""
        answers = [answer if each.archive == answer.archive else each for each in self.answers]
        return replace(self, answers=tuple(answers))

    def is_owner(self, archive: str) -> bool:
        """Return whether an archive is the recorded owner."""
        return self.owner is not None and self.owner.archive == archive

    @property
    def is_settled(self) -> bool:
        """Whether the operator has settled which archive is the owner."""
        return self.owner is not None and self.owner.settled

    def rank(self, archive: str) -> tuple[bool, bool, bool, int]:
        """Return the sort key of archives, in the order that the module describes."""
        is_owner = self.is_owner(archive)
        last = len(self.ranks)
        return (
            not (is_owner and self.is_settled),
            archive not in self.homes,
            not is_owner,
            self.ranks.get(archive, last),
        )

    @property
    def may_conclude(self) -> bool:
        """Whether a reply is awaited that can be enough while others are held back."""
        if self.owner is not None and self.owner.archive in self.awaited:
            return True
        if self.homes & self.awaited and not self.is_settled:
            return True
        return self.owner is None and self.is_on_record and bool(self.listed & self.awaited)

    def may_be_overruled(self, archive: str) -> bool:
        """Return whether an archive that has not replied yet could come before an archive."""
        if self.is_owner(archive) or archive in self.homes:
            return False
        return self.others_held_back or any(
            self.rank(each) < self.rank(archive) for each in self.awaited
        )

    @property
    def of_owner(self) -> ArchiveReply | None:
        """The answer of the owner."""
        return next((each for each in self.answers if self.is_owner(each.archive)), None)

    @property
    def may_others_claim(self) -> bool:
        """Whether the owner no longer has the item, or none is recorded.

        An owner that deleted the item, or whose answer was rejected, still counts as the owner.
        """
        if self.owner is None:
            return True
        answer = self.of_owner
        if answer is None or self.is_settled or answer.fault:
            return False
        return answer.listed is None or not answer.listed.deleted


@dataclass(frozen=True, slots=True)
class OfferedTarget:
    """A choice that serves the question or leads on, with the answer that contains it."""

    answer: ArchiveReply
    choice: Served | Lead

    @property
    def claims(self) -> bool:
        """Whether the archive claims that it is the Original."""
        return isinstance(self.choice, Served) and self.choice.related.state is State.ORIGINAL

    def claimed(self, question: Question) -> Label:
        """Return the label of the item that is claimed."""
        forms = self.choice.related.forms if isinstance(self.choice, Served) else None
        return forms.label if question.verbs and forms is not None else question.label

    def is_of(self, question: Question, label: Label) -> bool:
        """Return whether the claim is for this item."""
        forms = self.choice.related.forms if isinstance(self.choice, Served) else None
        return not question.verbs or (forms is not None and label in tuple(forms))


def offers_of(question: Question, evidence: Evidence) -> list[OfferedTarget]:
    """Return the offers, in the order in which they came."""
    return [
        OfferedTarget(answer, choice)
        for answer in evidence.answers
        if answer.listed is not None
        and not answer.listed.deleted
        and (choice := choose(answer.listed, question)) is not None
    ]


def by_rank(evidence: Evidence, offers: Sequence[OfferedTarget]) -> list[OfferedTarget]:
    """Return offers, those of the most trusted archives first."""
    return sorted(offers, key=lambda each: evidence.rank(each.answer.archive))


def of_one_item(question: Question, claims: Sequence[OfferedTarget]) -> list[OfferedTarget]:
    """Return the claims to the same item as the first claim."""
    label = claims[0].claimed(question)
    return [each for each in claims if each.is_of(question, label)]
