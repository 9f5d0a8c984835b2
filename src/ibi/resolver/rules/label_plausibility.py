"""Labels that no archive can have, whatever the archives say that have not answered.

That no archive has an item needs the replies of all archives (004, 6.2). In a large federation
one of them is always silent, and every mistyped label would be "not found yet". So two kinds of
labels are not found although an archive is silent:

- A label whose date has not come yet. Labels are made of the time at which they are given out.
- A label of a host at which this resolver never knew an archive. An archive may adopt labels of
  other hosts, and receive items from other archives; but then its digest lists them. So this holds
  only if the digest of each silent archive was read to its end after the label was made, and none
  lists the label.

Neither holds if anything speaks for the item: a recorded owner, a digest that lists it, an archive
that has it or had it, or a record that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.identifier.repository_name import RepositoryName
from ibi.resolver.rules.decision import Decision, NotFound, Unsure
from ibi.resolver.rules.evidence import Evidence

CLOCK_TOLERANCE: Final = 86_400
"""Seconds by which the clocks of a minter and a resolver may differ: a day, as for a clock that was
set to local time."""


class Impossibility(StrEnum):
    """Why no archive can have a label."""

    IN_THE_FUTURE = "in-the-future"
    UNKNOWN_HOST = "unknown-host"


def impossibility(
    label: Label,
    evidence: Evidence,
    now: Instant,
    knows_host: Callable[[str], bool],
    digest_read: Callable[[str], int],
) -> Impossibility | None:
    """Return why no archive can have a label; None if a silent archive may have it.

    `knows_host` returns whether an archive is or was at a host or IP address, `digest_read` when
    the digest of an archive was last read to its end, in seconds of POSIX time; 0 if never.
    """
    if _is_evident(evidence):
        return None
    if label.instant.seconds > now.seconds + CLOCK_TOLERANCE:
        return Impossibility.IN_THE_FUTURE
    host = _host_of(label)
    if not host or evidence.homes or knows_host(host):
        return None
    made = label.instant.seconds + CLOCK_TOLERANCE
    are_read = all(made <= digest_read(silence.archive) for silence in evidence.silences)
    return Impossibility.UNKNOWN_HOST if are_read else None


def with_impossibility(decision: Decision, reason: Callable[[], Impossibility | None]) -> Decision:
    """Return NotFound in the place of Unsure, if there is a reason why no archive has the item."""
    if not isinstance(decision, Unsure) or decision.doubted or decision.is_unread:
        return decision
    why = reason()
    return decision if why is None else NotFound(why.value, decision.silences)


def _is_evident(evidence: Evidence) -> bool:
    """Return whether anything speaks for an item, or might."""
    if evidence.awaited or evidence.others_held_back:
        return True
    if not evidence.is_on_record or not evidence.are_digests_read:
        return True
    has_holder = evidence.owner is not None or bool(evidence.listed)
    return has_holder or any(answer.listed is not None for answer in evidence.answers)


def _host_of(label: Label) -> str:
    """Return the host or IP address that a label names; "" for a legacy label."""
    if isinstance(label, RepositoryName):
        return label.host
    return label.ip if isinstance(label, Ibip) else ""
