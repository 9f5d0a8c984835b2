"""When an archive counts as down, and when it is tried again (threats, row 13).

A circuit breaker as a value: its next state is a function of the last reply and the time, in
nanoseconds of POSIX time. Nothing here waits or sends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff
from ibi.model.registration import Outage, RegisteredArchive
from ibi.resolver.ports.outbound import NoReply

MAX_SILENCES: Final = 3
"""Silences in a row after which an archive counts as down: one or two may be a fault of the
network."""
FIRST_RETRY_DELAY: Final = 1 * SECOND
MAX_RETRY_DELAY: Final = 60 * SECOND
_RETRY: Final = Backoff(FIRST_RETRY_DELAY, MAX_RETRY_DELAY)


@dataclass(frozen=True, slots=True)
class Breaker:
    """The silences of an archive in a row, and the outage that they led to."""

    silences: int = 0
    outage: Outage | None = None

    @classmethod
    def of(cls, archive: RegisteredArchive) -> Breaker:
        """Return the breaker of a registered archive; silences without an outage are not stored."""
        outage = archive.outage
        return cls(outage.failures, outage) if outage is not None else cls()

    def after_silence(self, reason: str, now: int, jitter: float) -> Breaker:
        """Return the breaker after a silence; `jitter`, a random number from 0 to 1, spreads tries.

        A silence before the next try is due belongs to a question that was sent before the outage
        was noticed, and is not counted.
        """
        if self.outage is not None and not is_due(self.outage, now):
            return self
        silences = self.silences + 1
        if silences < MAX_SILENCES:
            return Breaker(silences)
        outage = Outage(
            since=self.outage.since if self.outage is not None else now,
            failures=silences,
            next_try=now + _RETRY.jittered(silences - MAX_SILENCES, jitter),
            reason=reason,
        )
        return Breaker(silences, outage)


def is_due(outage: Outage, now: int) -> bool:
    """Return whether to try again; a clock that was set back does not prolong the wait."""
    return not now < outage.next_try <= now + MAX_RETRY_DELAY


def silence_of(archive: RegisteredArchive) -> NoReply:
    """Return the reply of an archive that is down, and therefore is not asked."""
    outage = archive.outage
    since = f" since {Instant(outage.since // SECOND)}" if outage is not None else ""
    return NoReply(archive.id, f"it is down{since}", asked=False)
