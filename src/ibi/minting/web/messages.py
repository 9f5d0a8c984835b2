"""The messages of the minting API as types, which validate requests and describe the API."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ibi.identifier.instant import instant_of
from ibi.minting.label_binding import LONGEST_TARGET, MOST_A_REQUEST
from ibi.minting.ports import LabelRecord
from ibi.minting.rules.label_generator import Minted
from ibi.minting.stretch_allocator import MinterHealth


class MintRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels wanted; an empty body asks for one."""

    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_A_REQUEST)] = 1
    target: Annotated[str, msgspec.Meta(max_length=LONGEST_TARGET)] = ""
    reserve: bool = False


class MintedLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """The labels of one item; a form that the subsystem does not have is left out."""

    instant: str
    rep: str | None = None
    ibip: str | None = None


class MintAnswer(msgspec.Struct, frozen=True):
    """The labels that were minted."""

    labels: list[MintedLabel]


class BindRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reserved label is to be bound to."""

    target: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TARGET)]


class Recorded(msgspec.Struct, frozen=True, omit_defaults=True):
    """A label that was reserved, and what it is bound to."""

    instant: str
    recorded: str
    rep: str | None = None
    ibip: str | None = None
    target: str = ""


class UnboundAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Labels that were reserved and never bound; `next` continues the list."""

    labels: list[Recorded]
    next: str = ""


class GranularityRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The granularity from now on."""

    granularity: str


class SubsystemAnswer(msgspec.Struct, frozen=True):
    """The state of the subsystem. Times are in seconds."""

    prefixes: list[str]
    granularity: str
    given: int
    waiting: int
    clock_distance: float
    ledger_latency: float
    trouble: str


def minted_label(minted: Minted) -> MintedLabel:
    """Return a label as a message."""
    return MintedLabel(minted.instant.iso8601, minted.rep, minted.ibip)


def recorded(minted: Minted, record: LabelRecord) -> Recorded:
    """Return the record of a label as a message."""
    return Recorded(
        minted.instant.iso8601,
        instant_of(record.recorded).iso8601,
        minted.rep,
        minted.ibip,
        record.target,
    )


def subsystem_answer(
    prefixes: tuple[str, ...], health: MinterHealth, waiting: int
) -> SubsystemAnswer:
    """Return the state of a subsystem as a message."""
    return SubsystemAnswer(
        list(prefixes),
        str(health.granularity),
        health.given,
        health.waiting + waiting,
        health.clock_distance / 1e9,
        health.ledger_latency / 1e9,
        "" if health.trouble is None else str(health.trouble),
    )
