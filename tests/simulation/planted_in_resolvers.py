"""Bugs planted in resolvers: in what they believe, say, remember and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ibi.ports import PendingAcknowledgment
from ibi.resolver import decision
from ibi.resolver.acknowledgment_queue import AcknowledgmentQueue
from ibi.resolver.decision import Decision
from ibi.resolver.following import Following
from ibi.resolver.hearing import Hearing
from ibi.resolver.lease import ArchiveLeases
from ibi.resolver.memory import Memory
from ibi.resolver.offer import Offer
from ibi.resolver.question import Question
from ibi.resolver.vigil import Vigil
from simulation.mutation import Mutation

_nothing: Final = decision._nothing  # noqa: SLF001  # what is changed
_read_on: Final = Vigil._read_on  # noqa: SLF001


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


async def _key_in_mind(
    self: AcknowledgmentQueue, row: PendingAcknowledgment, acknowledgment: str, most: int
) -> tuple[PendingAcknowledgment, None]:
    del self, most
    return replace(row, acknowledgment=acknowledgment), None


def _any_key(key: object, good: tuple[str, str]) -> str:
    del key
    return good[0]


def _uses(execute: object, access: object) -> bool:
    del execute, access
    return True


async def _deaf(self: Following) -> None:
    del self


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
        "a process does not follow what another puts on record",
        {"ibi.resolver.following.Following.look": _deaf},
    ),
    Mutation(
        "a key is used without being written down",
        {"ibi.resolver.acknowledgment_queue.AcknowledgmentQueue.key": _key_in_mind},
    ),
    Mutation(
        "an archive counts a key twice",
        {"ibi.adapters.sql_statistics._use": _uses},
    ),
    Mutation(
        "an archive is included by any key",
        {"ibi.resolver.inclusion._fitting": _any_key},
    ),
)
