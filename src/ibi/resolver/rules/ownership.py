"""The owner of an item after a search, and rival claims to it (docs/adr/0018)."""

from __future__ import annotations

from dataclasses import replace

from ibi.identifier.label import Label
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.evidence import Evidence, by_rank, of_one_item, offers_of
from ibi.wire.question import Question


def rivals(question: Question, evidence: Evidence) -> tuple[Label, tuple[ArchiveReply, ...]] | None:
    """Return the item with rival claims and the answers that claim it, the most trusted first.

    A claim to the item itself is also a rival of an owner that still counts as the owner. None if
    there are no rival claims.
    """
    claims = by_rank(evidence, [each for each in offers_of(question, evidence) if each.claims])
    if not claims:
        return None
    contending = of_one_item(question, claims)
    by_owner = any(evidence.is_owner(each.answer.archive) for each in contending)
    against_owner = not question.verbs and not by_owner and not evidence.may_others_claim
    if len(contending) == 1 and not against_owner:
        return None
    return claims[0].claimed(question), tuple(each.answer for each in contending)


def owner_after(question: Question, evidence: Evidence, now: int) -> Owner | None:
    """Return the owner to record after a search that has ended.

    No new owner is recorded while an archive is silent that would come before it; nor while the
    recorded owner claims the item, or still counts as its owner, unless a home claims it.
    """
    owner = evidence.owner
    if question.verbs or evidence.awaited or evidence.is_settled or not evidence.is_on_record:
        return owner
    claims = [
        each.answer.archive
        for each in by_rank(
            evidence, [each for each in offers_of(question, evidence) if each.claims]
        )
    ]
    if not claims or evidence.is_owner(claims[0]):
        return owner
    first = claims[0]
    is_home = first in evidence.homes
    if not is_home and not evidence.may_others_claim:
        return owner
    # All homes were asked, and no archive that is held back comes before one. But a senior archive
    # may be held back whose digest does not list the item yet: its claim has to be received first.
    if evidence.others_held_back and not is_home:
        return owner
    return Owner(first, now) if is_sure(first, evidence) else owner


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
