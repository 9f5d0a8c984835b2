"""The choice of a URL, or of a label to continue from, in an archive's answer (004, 6.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ibi.identifier.label import Label
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.verbs import GetLastEdition, GetMetadata, GetTranslation, Verb
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire.question import Question
from ibi.wire.url_list import Related, UrlList


@dataclass(frozen=True, slots=True)
class Served:
    """A URL that answers the whole question."""

    relation: Relation
    related: Related


@dataclass(frozen=True, slots=True)
class Lead:
    """A label from which to continue, with the verbs that remain to be followed there."""

    label: Label
    verbs: tuple[Verb, ...]


_Candidates: TypeAlias = Mapping[Relation, Related]


def choose(listed: UrlList, question: Question) -> Served | Lead | None:
    """Return the best entry of the list for the question; None if there is none."""
    verbs = question.verbs
    candidates: _Candidates = {
        relation: related
        for relation, related in listed.related.items()
        if _follows(relation, verbs) and (related.url or related.forms)
    }
    for step, verb in enumerate(verbs):
        if isinstance(verb, GetTranslation):
            best = _in_best_language(candidates, step, verb, question.preference, listed.forms)
            if best is None:
                return _untranslated(question, step)
            candidates = best
    return _served(candidates, verbs) or _lead(candidates, listed, question)


def _served(candidates: _Candidates, verbs: Sequence[Verb]) -> Served | None:
    for relation, related in candidates.items():
        if related.url and len(relation.steps) == len(verbs):
            return Served(relation, related)
    return None


def _lead(candidates: _Candidates, listed: UrlList, question: Question) -> Lead | None:
    verbs = question.verbs
    longest_first = sorted(candidates.items(), key=lambda each: -len(each[0].steps))
    for relation, related in longest_first:
        if relation.steps and related.forms is not None:
            return Lead(related.forms.label, _remaining(verbs, len(relation.steps)))
    if listed.next_edition is not None and verbs and isinstance(verbs[0], GetLastEdition):
        return Lead(listed.next_edition.label, verbs)
    for step, verb in enumerate(verbs):
        if isinstance(verb, GetTranslation) and verb.language is None:
            return _untranslated(question, step)
    return None


def _untranslated(question: Question, step: int) -> Lead:
    """Continue with the question for the untranslated item, for want of a fitting translation."""
    return Lead(question.label, (*question.verbs[:step], *question.verbs[step + 1 :]))


def _follows(relation: Relation, verbs: Sequence[Verb]) -> bool:
    return len(relation.steps) <= len(verbs) and all(
        _is_step_of(step, verb) for step, verb in zip(relation.steps, verbs, strict=False)
    )


def _is_step_of(step: Verb, verb: Verb) -> bool:
    if isinstance(step, GetTranslation) and isinstance(verb, GetTranslation):
        wanted, offered = verb.language, step.language
        # An archive may offer pt where pt-BR was asked for.
        return wanted is None or offered is None or wanted.code == offered.code
    return step == verb


def _in_best_language(
    candidates: _Candidates,
    step: int,
    verb: GetTranslation,
    preference: LanguagePreference,
    itself: Forms | None,
) -> _Candidates | None:
    """Return the candidates in the language wanted; the item itself if none is better.

    Candidates that end before this step are kept: they have no language yet. Returns None if the
    item itself is not among the candidates, because after another step it cannot be recognised.
    """
    short = {each: related for each, related in candidates.items() if len(each.steps) <= step}
    steps = {each: each.steps[step] for each in candidates if len(each.steps) > step}
    languages = [
        each.language
        for each in steps.values()
        if isinstance(each, GetTranslation) and each.language is not None
    ]
    wanted = (
        preference if verb.language is None else LanguagePreference((str(verb.language).lower(),))
    )
    best = wanted.look_up(languages)
    if best is not None:
        in_best = GetTranslation(best)
        return short | {each: candidates[each] for each, at in steps.items() if at == in_best}
    rest = {each: candidates[each] for each in steps}
    own = {
        each: related
        for each, related in rest.items()
        if itself is not None and related.forms is not None and related.forms.names(itself)
    }
    # A metadata item in several languages is itself in each of them: none is better than others.
    if not rest or len({related.url for related in own.values()}) == 1:
        return short | own
    return None if verb.language is None else short | rest


def _remaining(verbs: Sequence[Verb], followed: int) -> tuple[Verb, ...]:
    """Return the verbs that remain, with the format of metadata, which no step has applied yet.

    A metadata item that is asked for metadata returns itself in that format.
    """
    formats = [verb for verb in verbs[:followed] if isinstance(verb, GetMetadata) and verb.format]
    return (*formats[-1:], *verbs[followed:])
