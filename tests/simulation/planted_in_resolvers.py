"""Bugs planted in resolvers: in what they believe, say and remember."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ibi.model.registration import RegisteredArchive
from ibi.ports import Owner, Silence
from ibi.resolver import decision, roster
from ibi.resolver.decision import Decision
from ibi.resolver.hearing import Hearing
from ibi.resolver.known import Known
from ibi.resolver.lease import ArchiveLeases
from ibi.resolver.memory import Memory
from ibi.resolver.offer import Offer
from ibi.resolver.question import Question
from ibi.resolver.running_search import RunningSearch
from ibi.resolver.searching import Searching
from ibi.resolver.vigil import Vigil
from ibi.web.warm_path import WarmAnswers
from simulation.mutation import Mutation

_nothing: Final = decision._nothing  # noqa: SLF001  # what is changed
_original: Final = decision._original  # noqa: SLF001
_owner: Final = Searching._owner  # noqa: SLF001
_read_on: Final = Vigil._read_on  # noqa: SLF001
_standing: Final = roster._standing  # noqa: SLF001


def _sure(hearing: Hearing, doubted: Sequence[Offer], *, is_enough: bool = True) -> Decision:
    return _nothing(replace(hearing, silences=()), doubted, is_enough=is_enough)


def _first_claim(question: Question, claims: Sequence[Offer]) -> list[Offer]:
    del question
    return [claims[0]]


def _no_rivals(question: Question, hearing: Hearing) -> None:
    del question, hearing


def _content(question: Question, hearing: Hearing, offers: Sequence[Offer]) -> Decision:
    """Ask nobody else: those who are likely to know were asked."""
    del offers
    return decision.decide(question, replace(hearing, held=False))


class _LongMemory(Memory):
    def __init__(self, *args: Any, hot_seconds: float, **options: Any) -> None:  # noqa: ANN401  # as it is
        super().__init__(*args, hot_seconds=10 * hot_seconds, **options)


def _unforgetting(self: Memory, print_: int, now: float) -> None:
    del self, print_, now


def _unmoved(self: Memory) -> None:
    del self


async def _trusting(self: Vigil, name: str, leases: ArchiveLeases) -> bool:
    """Take silence for the news that there are none."""
    goes_on = await _read_on(self, name, leases)
    for lease, ends in leases._given:  # noqa: SLF001
        lease.until = ends
    return goes_on


def _only_who_answers(archive: RegisteredArchive | None) -> object:
    """Count those who are down as switched off."""
    return None if archive is None or archive.outage is not None else _standing(archive)


async def _only_who_is_on(
    self: Searching, running: RunningSearch
) -> tuple[Owner | None, Silence | None, bool]:
    owner, silence, is_read = await _owner(self, running)
    return (None, None, True) if silence is not None else (owner, silence, is_read)


def _impatient(question: Question, hearing: Hearing, offers: Sequence[Offer]) -> Decision:
    claims = [each for each in offers if each.claims]
    return _original(question, replace(hearing, awaited=frozenset()) if claims else hearing, offers)


def _unlearned(question: Question, hearing: Hearing, now: int) -> Owner | None:
    del question, now
    return hearing.owner


def _warm_for_ever(self: WarmAnswers, target: bytes, now: float) -> Known | None:
    del now
    return self._targets.known.get(target)


IN_RESOLVERS: Final = (
    Mutation(
        "a resolver says that nobody has it while one is silent",
        {"ibi.resolver.decision._nothing": _sure},
    ),
    Mutation(
        "a resolver takes the first of two claims",
        {"ibi.resolver.decision.of_one_item": _first_claim},
    ),
    Mutation(
        "a resolver asks nobody but those who are likely to know",
        {"ibi.resolver.decision._of_the_likely": _content},
    ),
    Mutation(
        "a rival is not recorded",
        {"ibi.resolver.bookkeeping.rivals": _no_rivals},
    ),
    Mutation(
        "a claim is believed while the owner is silent",
        {"ibi.resolver.hearing.Hearing.may_others_claim": True},
        within=200,
    ),
    Mutation(
        "an answer is remembered for too long",
        {"simulation.resolvers.Memory": _LongMemory},
    ),
    Mutation(
        "an answer lasts although the log tells of its item",
        {"ibi.resolver.memory.Memory.forget_lasting": _unforgetting},
    ),
    Mutation(
        "an answer lasts although its archive has moved",
        {"ibi.resolver.memory.Memory.keep_up": _unmoved},
    ),
    Mutation(
        "an answer lasts although its archive is silent",
        {"ibi.resolver.vigil.Vigil._read_on": _trusting},
    ),
    Mutation(
        "an archive that is down counts as none",
        {"ibi.resolver.roster._standing": _only_who_answers},
    ),
    Mutation(
        "an owner that is switched off counts as none",
        {"ibi.resolver.searching.Searching._owner": _only_who_is_on},
    ),
    Mutation(
        "a claim is believed before all were heard",
        {"ibi.resolver.decision._original": _impatient},
    ),
    Mutation(
        "nobody is put on record as the owner",
        {"ibi.resolver.bookkeeping.owner_after": _unlearned},
    ),
    Mutation(
        "what an operator has settled is not believed",
        {"ibi.resolver.hearing.Hearing.is_settled": False},
    ),
    Mutation(
        "a warm answer is given for ever",
        {"ibi.web.warm_path.WarmAnswers.find": _warm_for_ever},
    ),
)
