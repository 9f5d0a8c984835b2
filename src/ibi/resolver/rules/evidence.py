"""The replies to a question so far, and which archive is trusted before others.

One archive has the Original of an item, and every registered archive can claim to be the one. The
first of this list that applies is trusted (docs/adr/0018):

1. the owner that the operator has settled;
2. the recorded owner: the archive that was known to have the Original;
3. a home of the label: an archive that controls the host and port in the label;
4. an archive whose digest lists the item;
5. the senior claimant, after a short time for others to claim the item.

Of several archives in one place of the list, the one registered earlier, by the order of the
database, is *senior* and comes first. While an archive of places 1 to 4 is silent, switched off or
awaited, no archive that comes later is trusted: a copy is served, or the reader is sent nowhere.
The same holds if it has deleted the item. While it cannot be read which archives are in places 1, 2
and 4, those that could come after one of them are not trusted either.

Not all archives need to have been asked: candidates are asked first, and the others are held back
(docs/adr/0028). This does not change which archive is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, auto

from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.wire.answer_choice import Lead, Served, choose
from ibi.wire.question import Question


class Standing(IntEnum):
    """The place of an archive in the list of this module; the lowest comes first."""

    SETTLED = auto()
    OWNER = auto()
    HOME = auto()
    LISTED = auto()
    CLAIMANT = auto()


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
    are_digests_read: bool = True
    """Whether it could be read which digests have the item."""
    homes: frozenset[str] = frozenset()
    """The homes of the label, also those that are switched off."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Seniority by archive; the lowest is the most senior."""
    others_held_back: bool = False
    """Whether other archives are held back, which were not asked yet."""
    asked_first: frozenset[str] | None = None
    """Archives that are asked first; None if all are."""
    listed: frozenset[str] = frozenset()
    """Archives whose digest has the item, also those that are switched off."""

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

    def standing(self, archive: str) -> Standing:
        """Return the place of an archive in the list of this module."""
        if self.is_owner(archive):
            return Standing.SETTLED if self.is_settled else Standing.OWNER
        if archive in self.homes:
            return Standing.HOME
        return Standing.LISTED if archive in self.listed else Standing.CLAIMANT

    def rank(self, archive: str) -> tuple[Standing, int]:
        """Return the sort key of archives, in the order of the list."""
        return self.standing(archive), self.seniority(archive)

    def seniority(self, archive: str) -> int:
        """Return the seniority of an archive; the lowest is the most senior."""
        return self.ranks.get(archive, len(self.ranks))

    @property
    def holders(self) -> frozenset[str]:
        """The archives that are in the list whether they claim the item or not."""
        return self._owners | self.homes | self.listed

    @property
    def _owners(self) -> frozenset[str]:
        return frozenset() if self.owner is None else frozenset({self.owner.archive})

    def obstacles(self, archive: str) -> tuple[str, ...]:
        """Return why an archive is not trusted: those before it that may still have the Original.

        They have not answered, or their answer does not free the item.
        """
        rank = self.rank(archive)
        before = [each for each in self.holders if self.rank(each) < rank]
        if not before:
            return ()
        answers = {each.archive: each for each in self.answers}
        kept = [each for each in before if not self._frees(each, answers.get(each))]
        return tuple(sorted(kept, key=self.rank))

    def _frees(self, archive: str, answer: ArchiveReply | None) -> bool:
        """Return whether an archive has answered that another one may have the Original.

        An archive that deleted the item, or whose answer was rejected, still counts as its holder;
        and the one that the operator has settled, whatever it answers.
        """
        if answer is None or answer.fault or self.standing(archive) is Standing.SETTLED:
            return False
        return answer.listed is None or not answer.listed.deleted

    def is_trusted(self, archive: str) -> bool:
        """Return whether no archive that comes before this one may have the Original."""
        return not self.obstacles(archive) and not self.is_overruled_by_unread(archive)

    def is_overruled_by_unread(self, archive: str) -> bool:
        """Return whether an archive may come before this one by a record that cannot be read.

        A home is trusted all the same: most items are where their labels were made, and a home
        whose Original has moved does not claim it.
        """
        standing = self.standing(archive)
        if standing <= Standing.HOME:
            return False
        return not self.is_on_record or (
            standing is Standing.CLAIMANT and not self.are_digests_read
        )

    @property
    def may_conclude(self) -> bool:
        """Whether a reply is awaited that can be enough while others are held back."""
        awaited = self.holders & self.awaited
        if self.owner is not None or not self.is_on_record:
            awaited -= self.listed - self.homes - self._owners
        return any(self.is_trusted(each) for each in awaited)

    def may_be_overruled(self, archive: str) -> bool:
        """Return whether an archive that has not replied yet could come before an archive.

        The digest of a senior archive may list the item soon, and no event announces that.
        """
        if self.standing(archive) <= Standing.HOME:
            return any(self.rank(each) < self.rank(archive) for each in self.awaited)
        return self.others_held_back or any(
            self.rank(each) < self.rank(archive) or self.seniority(each) < self.seniority(archive)
            for each in self.awaited
        )

    @property
    def of_owner(self) -> ArchiveReply | None:
        """The answer of the owner."""
        return next((each for each in self.answers if self.is_owner(each.archive)), None)


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
