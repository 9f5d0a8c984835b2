"""Makes an explanation, which is public, of a resolution, which has keys and clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.item import State
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.decision import (
    Alert,
    Decision,
    Gone,
    Hop,
    NotFound,
    Redirect,
    Unserved,
    Unsure,
)
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.resolution import Chain, Resolution, ResolutionStep
from ibi.resolver.web.explanation import (
    DOUBTED,
    UNREAD,
    Asked,
    DecisionName,
    ExplainedStep,
    Explanation,
    Said,
    case_of,
    sentence,
)
from ibi.wire.answer_choice import Lead, Served, choose
from ibi.wire.question import Question

Find: TypeAlias = Callable[[str], RegisteredArchive | None]
"""Returns an archive by its id."""
NameOf: TypeAlias = Callable[[str], str]
"""Returns the name that an archive gives itself, by its id; "" if it is not known."""
NOT_AWAITED: Final = "its answer was not waited for"


@dataclass(frozen=True, slots=True)
class _Archives:
    """How archives are found and called."""

    find: Find
    name_of: NameOf

    def named(self, archive: str) -> tuple[str, str, str]:
        """Return the label of a service, the name and the address; for a removed one its id."""
        found = self.find(archive)
        if found is None:
            return archive, "", ""
        return found.service.spelling, self.name_of(archive), found.address


def explain(resolution: Resolution, find: Find, name_of: NameOf = lambda _: "") -> Explanation:
    """Explain a resolution; `find` and `name_of` take the ids of archives."""
    archives = _Archives(find, name_of)
    outcome = resolution.outcome
    name: DecisionName
    if isinstance(outcome, Chain):
        name, chain = ("loop" if outcome.is_loop else "endless"), outcome.labels
    else:
        name = _NAMES[type(outcome)]
        chain = tuple(step.question.label for step in resolution.steps)
    steps = tuple(_step(step, archives) for step in resolution.steps)
    return Explanation(
        asked=_short(resolution.question),
        label=resolution.question.label.spelling,
        outcome=name,
        because=sentence(case_of(name, steps)),
        location=outcome.served.related.url if isinstance(outcome, Redirect) else "",
        chain=tuple(label.spelling for label in chain),
        seconds=sum(step.seconds for step in resolution.steps),
        steps=steps,
    )


_NAMES: Final[dict[type[Decision], DecisionName]] = {
    Redirect: "redirect",
    Hop: "hop",
    Alert: "conflict",
    Gone: "gone",
    Unserved: "unserved",
    NotFound: "not-found",
    Unsure: "unsure",
}


def _short(question: Question) -> str:
    """Return a question as a persistent URL, without the preferred language, which is private."""
    wanted = PersistentUrl(
        question.label,
        question.verbs,
        question.file_list,
        question.path,
        question.original_required,
    )
    return wanted.at("")[1:]


def _step(step: ResolutionStep, archives: _Archives) -> ExplainedStep:
    decision, why = _NAMES[type(step.decision)], _why(step.decision)
    verbs = [*map(str, step.question.verbs), *(["GetFileList"] if step.question.file_list else [])]
    return ExplainedStep(
        question=_short(step.question),
        label=step.question.label.spelling,
        verbs=tuple(verbs),
        asked=tuple(_all_archives(step, archives)),
        decision=decision,
        why=why,
        because=sentence(why or decision),
        next=step.decision.label.spelling if isinstance(step.decision, Hop) else "",
        seconds=step.seconds,
    )


def _why(decision: Decision) -> str:
    if isinstance(decision, (Redirect, Hop)):
        return decision.why.value
    if isinstance(decision, NotFound):
        return decision.impossible
    if not isinstance(decision, Unsure) or not decision.doubted:
        return ""
    return UNREAD if decision.is_unread else DOUBTED


def _all_archives(step: ResolutionStep, archives: _Archives) -> Iterator[Asked]:
    evidence = step.evidence
    for answer in evidence.answers:
        yield _answered(answer, step, archives)
    for silence in evidence.silences:
        yield _silent(silence, evidence, archives)
    for archive in sorted(evidence.awaited):
        yield _silent(NoReply(archive, NOT_AWAITED), evidence, archives)


def _answered(answer: ArchiveReply, step: ResolutionStep, archives: _Archives) -> Asked:
    said, detail, leads_to = _said(answer, step.question)
    decision = step.decision
    chosen = isinstance(decision, (Redirect, Hop)) and decision.answer.archive == answer.archive
    service, name, address = archives.named(answer.archive)
    return Asked(
        archive=service,
        name=name,
        address=address,
        said=said,
        detail=detail,
        fault=answer.fault,
        next=leads_to,
        seconds=answer.seconds,
        is_owner=_is_owner(answer.archive, step.evidence),
        is_home=answer.archive in step.evidence.homes,
        is_likely=_is_likely(answer.archive, step.evidence),
        chosen=chosen,
    )


def _said(answer: ArchiveReply, question: Question) -> tuple[Said, str, str]:
    """Return what an answer means, its detail, and the label that it leads on to."""
    listed = answer.listed
    if listed is None:
        return "no", "", ""
    if listed.deleted:
        return "deleted", listed.deleted, ""
    choice = choose(listed, question)
    if isinstance(choice, Lead):
        return "has-it", "", choice.label.spelling
    if not isinstance(choice, Served):
        return "has-it", "", ""
    # Only an explicit state claims the Original.
    said: Said = "original" if choice.related.state is State.ORIGINAL else "copy"
    return said, choice.related.url, ""


def _silent(silence: NoReply, evidence: Evidence, archives: _Archives) -> Asked:
    service, name, address = archives.named(silence.archive)
    return Asked(
        archive=service,
        name=name,
        address=address,
        said="silent",
        detail=silence.reason,
        seconds=silence.seconds,
        is_owner=_is_owner(silence.archive, evidence),
        is_home=silence.archive in evidence.homes,
        is_likely=_is_likely(silence.archive, evidence),
    )


def _is_owner(archive: str, evidence: Evidence) -> bool:
    return evidence.owner is not None and evidence.owner.archive == archive


def _is_likely(archive: str, evidence: Evidence) -> bool:
    return evidence.asked_first is not None and archive in evidence.asked_first
