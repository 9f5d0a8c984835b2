"""What was heard of a question, and who of those who speak is believed before others.

One archive has the Original of an item, and whoever is registered
can say that it is the one. So an archive that was known to have it is the item's *owner*; an
archive whose service label was made where the item's label was made is its *home*; and of two
archives the one registered earlier is *senior*. An owner that the operator has settled comes
before a home that claims the item, and that before any other owner. Where none of them is, others
get a moment to speak up. A claim is not believed against an owner that is silent or has deleted
the item: copies are served then, or nobody is sent anywhere (docs/adr/0018).

Not all need to have been asked: those who are likely to have the item are asked first, and the
others are held back (docs/adr/0028). It changes nothing of who is believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.wire.answer_choice import Lead, Served, choose
from ibi.wire.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was heard of a question so far."""

    answers: tuple[ArchiveReply, ...] = ()
    """In the order in which they came."""
    silences: tuple[NoReply, ...] = ()
    """Who will not answer any more."""
    awaited: frozenset[str] = frozenset()
    """Who may still answer."""
    patient: bool = False
    """Whether there is still a moment for others to speak up."""
    owner: Owner | None = None
    is_on_record: bool = True
    """Whether it could be read who the owner is, if there is one."""
    homes: frozenset[str] = frozenset()
    ranks: Mapping[str, int] = field(default_factory=dict)
    """By archive; the lowest is the most senior."""
    held: bool = False
    """Whether others are held back, who were not asked yet."""
    likely: frozenset[str] | None = None
    """Who is asked first; None if all are."""
    listed: frozenset[str] = frozenset()
    """Who said before it was asked, by its digest, that it has the item."""

    def is_owner(self, archive: str) -> bool:
        """Tell whether an archive is on record as the owner."""
        return self.owner is not None and self.owner.archive == archive

    @property
    def is_settled(self) -> bool:
        """Whether the operator has said who the owner is."""
        return self.owner is not None and self.owner.settled

    def rank(self, archive: str) -> tuple[bool, bool, bool, int]:
        """Return what archives are sorted by, as the module says."""
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
        """Whether one is awaited whose word can be enough while others are held back."""
        if self.owner is not None and self.owner.archive in self.awaited:
            return True
        if self.homes & self.awaited and not self.is_settled:
            return True
        return self.owner is None and self.is_on_record and bool(self.listed & self.awaited)

    def may_be_overruled(self, archive: str) -> bool:
        """Tell whether one who was not heard yet could come before an archive."""
        if self.is_owner(archive) or archive in self.homes:
            return False
        return self.held or any(self.rank(each) < self.rank(archive) for each in self.awaited)

    @property
    def of_owner(self) -> ArchiveReply | None:
        """What the owner answered."""
        return next((each for each in self.answers if self.is_owner(each.archive)), None)

    @property
    def may_others_claim(self) -> bool:
        """Whether the owner has let go of the item, or there is none on record.

        One that deleted it, or whose answer was set aside, has not.
        """
        if self.owner is None:
            return True
        answer = self.of_owner
        if answer is None or self.is_settled or answer.fault:
            return False
        return answer.listed is None or not answer.listed.deleted


@dataclass(frozen=True, slots=True)
class OfferedTarget:
    """Something that serves or leads on, and whose answer it stands in."""

    answer: ArchiveReply
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


def offers_of(question: Question, evidence: Evidence) -> list[OfferedTarget]:
    """Return what is offered, in the order in which it came."""
    return [
        OfferedTarget(answer, choice)
        for answer in evidence.answers
        if answer.listed is not None
        and not answer.listed.deleted
        and (choice := choose(answer.listed, question)) is not None
    ]


def by_rank(evidence: Evidence, offers: Sequence[OfferedTarget]) -> list[OfferedTarget]:
    """Return offers, those first that are to be believed before others."""
    return sorted(offers, key=lambda each: evidence.rank(each.answer.archive))


def of_one_item(question: Question, claims: Sequence[OfferedTarget]) -> list[OfferedTarget]:
    """Return the claims to the item that the first one is to."""
    label = claims[0].claimed(question)
    return [each for each in claims if each.is_of(question, label)]
