"""The owner of an item after a search, and rival claims to it (docs/adr/0018)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ibi.identifier.label import Label
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.evidence import Evidence, by_rank, of_one_item, offers_of
from ibi.wire.question import Question


@dataclass(frozen=True, slots=True)
class Contention:
    """Rival claims to an item, or a claim against archives that come before the claimant."""

    label: Label
    answers: tuple[ArchiveReply, ...]
    """The answers that claim the item, the most trusted first."""
    incumbents: tuple[str, ...] = ()
    """Archives that come before all claimants, and do not claim the item in this search."""


def contention(question: Question, evidence: Evidence) -> Contention | None:
    """Return the claims to one item that contradict each other, or the list of docs/adr/0018.

    None if there are none. The list is about the item itself, not about its editions.
    """
    claims = by_rank(evidence, [each for each in offers_of(question, evidence) if each.claims])
    if not claims:
        return None
    contending = of_one_item(question, claims)
    before = () if question.verbs else evidence.obstacles(claims[0].answer.archive)
    if len(contending) == 1 and not before:
        return None
    return Contention(
        claims[0].claimed(question), tuple(each.answer for each in contending), before
    )


def owner_after(question: Question, evidence: Evidence, now: int) -> Owner | None:
    """Return the owner to record after a search that has ended.

    No new owner is recorded while the recorded owner claims the item, nor while an archive is
    silent that comes before the claimant, or still counts as the holder.
    """
    owner = evidence.owner
    if question.verbs or evidence.awaited or evidence.is_settled or not evidence.is_on_record:
        return owner
    claims = by_rank(evidence, [each for each in offers_of(question, evidence) if each.claims])
    if not claims:
        return owner
    first = claims[0].answer.archive
    if evidence.is_owner(first) or not evidence.is_trusted(first):
        return owner
    # All homes were asked, and no archive that is held back comes before one. But a senior archive
    # may be held back whose digest does not list the item yet: its claim has to be received first.
    if evidence.others_held_back and first not in evidence.homes:
        return owner
    if not _may_have_left_home(first, evidence):
        return owner
    return Owner(first, now) if is_sure(first, evidence) else owner


def _may_have_left_home(archive: str, evidence: Evidence) -> bool:
    """Return whether an archive can have the Original by a transfer from where the label was made.

    A home that does not know the item may not have deposited it yet: a stranger that claims a label
    before that must not be its owner afterwards. But the owner on record had it, and so had a home
    that has a copy.
    """
    if evidence.owner is not None or not evidence.homes or archive in evidence.homes:
        return True
    return any(
        each.archive in evidence.homes and each.listed is not None for each in evidence.answers
    )


def is_sure(archive: str, evidence: Evidence) -> bool:
    """Return whether all archives that would be trusted before this one have answered.

    Otherwise one of them may take precedence as soon as it is back, and no event announces that.
    """
    if not evidence.is_on_record:
        return False
    unheard = {*evidence.awaited, *(each.archive for each in evidence.silences)}
    return not any(evidence.rank(each) < evidence.rank(archive) for each in unheard)


def waits_for_all(question: Question, evidence: Evidence) -> bool:
    """Return whether a new owner is not recorded only because others are held back."""
    as_it_is = owner_after(question, evidence, 0)
    return evidence.others_held_back and as_it_is != owner_after(
        question, replace(evidence, others_held_back=False), 0
    )
