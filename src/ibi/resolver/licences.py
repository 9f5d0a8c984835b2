"""Answers that are for one reader: an archive may choose by his address (004, 7.2, CriarParUrl).

By reason of a licence some get the item and others its metadata. Such an answer is never given to
another reader, who may have another right.
"""

from __future__ import annotations

from dataclasses import replace

from ibi.identifier.verbs import GetMetadata
from ibi.model.item import ContentType
from ibi.model.registration import RegisteredArchive
from ibi.ports import Answer
from ibi.resolver.acknowledgment import is_ours
from ibi.resolver.decision import Decision, Hop, Redirect, Unserved


def marked(answer: Answer, archive: RegisteredArchive) -> Answer:
    """Return an answer that says whether it is for one client.

    Our archives say so. Of others it is assumed where metadata are offered that nobody asked for.
    """
    if answer.personal or answer.listed is None or is_ours(archive):
        return answer
    unasked = any(
        related.content is ContentType.METADATA
        and not any(isinstance(step, GetMetadata) for step in relation.steps)
        for relation, related in answer.listed.related.items()
    )
    return replace(answer, personal=unasked)


def is_personal(decision: Decision) -> bool:
    """Tell whether a decision may be another for another reader."""
    match decision:
        case Redirect(answer=answer) | Hop(answer=answer):
            return answer.personal
        case Unserved(answers=answers):
            return any(answer.personal for answer in answers)
        case _:
            return False
