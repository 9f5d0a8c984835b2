"""When an archive notifies its resolvers that its digest has changed.

A resolver that has read the digest to its end need not read it again before the archive notifies
it. Times are nanoseconds of a clock that cannot be set back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ibi.archive.rules.announcement import Link, LinkState
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff

SPACING: Final = SECOND
"""Nanoseconds between two notifications of one resolver: a resolver reads all changes at once."""
_RETRY: Final = Backoff(SECOND, 60 * SECOND)
_INCLUDED: Final[frozenset[LinkState]] = frozenset({"included", "unconfirmed"})


class LogPosition(NamedTuple):
    """The end of the log of an archive."""

    epoch: str
    last: int


class _Notified(NamedTuple):
    position: LogPosition | None
    """The position that the resolver was notified of; None if there is none."""
    next_at: int
    failures: int = 0


class Notifications:
    """Which resolver was notified of what; it neither waits nor sends."""

    def __init__(self) -> None:
        """Begin without a resolver that was notified: so each is notified after a start."""
        self._notified: dict[str, _Notified] = {}

    def due(self, links: Iterable[Link], position: LogPosition, now: int) -> list[Link]:
        """Return the links to the resolvers that are to be notified of a position now."""
        included = [link for link in links if link.state in _INCLUDED]
        self._notified = {
            link.resolver: self._notified.get(link.resolver, _Notified(None, now))
            for link in included
        }
        return [
            link
            for link in included
            if self._notified[link.resolver].position != position
            and self._notified[link.resolver].next_at <= now
        ]

    def delivered(self, resolver: str, position: LogPosition, now: int) -> None:
        """Note that a resolver was notified of a position."""
        self._notified[resolver] = _Notified(position, now + SPACING)

    def failed(self, resolver: str, now: int) -> None:
        """Note that a resolver could not be notified: it is tried again until it can."""
        before = self._notified.get(resolver, _Notified(None, now))
        wait = _RETRY.wait(before.failures)
        self._notified[resolver] = _Notified(before.position, now + wait, before.failures + 1)
