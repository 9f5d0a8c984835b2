"""Who owns an item after a hearing, and who contends for it (docs/adr/0018)."""

from __future__ import annotations

from dataclasses import replace

from ibi.identifier.label import Label
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.evidence import Evidence, by_rank, of_one_item, offers_of
from ibi.wire.question import Question


def rivals(question: Question, evidence: Evidence) -> tuple[Label, tuple[ArchiveReply, ...]] | None:
    """Return the item that archives contend for and their answers, the incumbent's first.

    A claim to the item itself is also in rivalry with an owner that did not let go of it. None if
    nobody contends.
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
    """Return who is to be on record as the owner after a hearing that has ended.

    Nobody new is put on record while one is silent who would come before; nor while the owner
    claims the item, or has not let go of it, unless its home claims it.
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
    # All homes were asked, and nobody who is held back comes before one. But a senior may be held
    # back whose digest does not tell yet that he has the item: his claim has to be heard first.
    if evidence.held and not is_home:
        return owner
    return Owner(first, now) if is_sure(first, evidence) else owner


def is_sure(archive: str, evidence: Evidence) -> bool:
    """Tell whether nobody has yet to speak, or is silent, who would be believed before an archive.

    Otherwise it is another's turn as soon as he is back, of which nobody tells.
    """
    if not evidence.is_on_record:
        return False
    unheard = {*evidence.awaited, *(each.archive for each in evidence.silences)}
    return not any(evidence.rank(each) < evidence.rank(archive) for each in unheard)


def waits_for_all(question: Question, evidence: Evidence) -> bool:
    """Tell whether a new owner is not put on record only because others are held back."""
    as_it_is = owner_after(question, evidence, 0)
    return evidence.held and as_it_is != owner_after(question, replace(evidence, held=False), 0)
