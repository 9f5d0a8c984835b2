"""When an archive is taken for down, and when it is tried again (threats, row 13).

A circuit breaker as a value: what it becomes is a function of what was heard and of the time, in
nanoseconds of POSIX time. Nothing here waits or sends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.identifier.instant import Instant
from ibi.model.pace import Backoff
from ibi.model.registration import Outage, RegisteredArchive
from ibi.resolver.ports.outbound import NoReply

SECOND: Final = 1_000_000_000
SILENCES: Final = 3
"""In a row, after which an archive is taken for down: one or two may be the network's fault."""
FIRST_RETRY: Final = 1 * SECOND
LONGEST_RETRY: Final = 60 * SECOND
_RETRY: Final = Backoff(FIRST_RETRY, LONGEST_RETRY)


@dataclass(frozen=True, slots=True)
class Breaker:
    """What is held against an archive: silences in a row, and the outage that they led to."""

    silences: int = 0
    outage: Outage | None = None

    @classmethod
    def of(cls, archive: RegisteredArchive) -> Breaker:
        """Return the breaker of an archive as it is on record: silences alone are not."""
        outage = archive.outage
        return cls(outage.failures, outage) if outage is not None else cls()

    def after_silence(self, reason: str, now: int, jitter: float) -> Breaker:
        """Return it after a silence; `jitter`, a chance between 0 and 1, spreads the retries.

        A silence before the next try is due is of a question that was sent before the outage was
        noticed: it says nothing new.
        """
        if self.outage is not None and not is_due(self.outage, now):
            return self
        silences = self.silences + 1
        if silences < SILENCES:
            return Breaker(silences)
        outage = Outage(
            since=self.outage.since if self.outage is not None else now,
            failures=silences,
            next_try=now + _RETRY.jittered(silences - SILENCES, jitter),
            reason=reason,
        )
        return Breaker(silences, outage)


def is_due(outage: Outage, now: int) -> bool:
    """Tell whether to try again; nobody stays down longer because a clock was set back."""
    return not now < outage.next_try <= now + LONGEST_RETRY


def silence_of(archive: RegisteredArchive) -> NoReply:
    """Return what a search hears of an archive that is down, and is not asked therefore."""
    outage = archive.outage
    since = f" since {Instant(outage.since // SECOND)}" if outage is not None else ""
    return NoReply(archive.id, f"it is down{since}", asked=False)
