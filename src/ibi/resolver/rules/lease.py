"""For how long answers hold: as long as the archive that they lead to says nothing else.

An archive that publishes a digest keeps a log of its changes. Whoever reads on in that log, and
finds nothing of an item, knows that what the archive said of it was still true when the reading
began. So all answers of one archive hold until a bound after the last such reading; the bound is
that of an answer which was just asked for, and nothing is older than it, however long it is given.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from ibi.wire.digest import DigestPage

SHARES: Final = 8
"""Answers of one archive that were found in the same eighth of the longest time end together."""


class Lease:
    """Until when answers hold, by the clock of the event loop; many share one."""

    __slots__ = ("until",)

    def __init__(self, until: float = 0.0) -> None:
        """Hold until then."""
        self.until = until


ENDED: Final = Lease()
"""That of answers which are forgotten; nobody renews it."""


class ArchiveLeases:
    """The leases of one archive's answers, and the place in its log up to which it was read."""

    def __init__(
        self, epoch: str, last: int, begun: float, *, seconds: float, longest: float
    ) -> None:
        """Begin at a place in the log that had been reached by `begun`.

        Answers hold for `seconds` after each reading, and for no longer than `longest` in all.
        """
        self.epoch = epoch
        self.last = last
        self.begun = begun
        self.answers = 0
        """Leases that were asked for."""
        self._seconds = seconds
        self._longest = longest
        self._until = 0.0
        self._wanted = begun
        self._given: deque[tuple[Lease, float]] = deque()
        """With when the first answer of each was asked for, about in that order."""

    def lease(self, asked: float, now: float) -> Lease | None:
        """Return a lease for an answer; None while it is not known what has changed.

        What changed between when it was asked for and when the reading began, nobody has read.
        """
        self.answers += 1
        self._wanted = now
        if asked <= self.begun or now >= self._until:
            return None
        if self._given:
            lease, first = self._given[-1]
            if first <= asked < first + self._longest / SHARES:
                return lease
        lease = Lease(min(self._until, asked + self._longest))
        self._given.append((lease, asked))
        return lease

    def follows(self, page: DigestPage) -> bool:
        """Tell whether a page goes on where the log was read before."""
        return page.epoch == self.epoch and page.after == self.last

    def heard(self, page: DigestPage, began: float) -> bool:
        """Go on to the end of a page that was asked for at `began`; renew if there is no more.

        Whoever calls this has forgotten what stands in the page. False if it does not follow on
        what was read before: the log began anew, and anything may have changed.
        """
        if not self.follows(page):
            self.end()
            return False
        self.last = page.last
        if not page.more:
            self._until = max(self._until, began + self._seconds)
            for lease, first in self._given:
                lease.until = min(self._until, first + self._longest)
        while self._given and self._given[0][1] + self._longest <= began:
            self._given.popleft()
        return True

    def is_idle(self, now: float) -> bool:
        """Tell whether none was asked for in the longest time: then none is left that lasts."""
        return now > self._wanted + self._longest

    def release(self) -> None:
        """End the leases that were given; new ones are given as before."""
        for lease, _ in self._given:
            lease.until = 0.0
        self._given.clear()

    def end(self) -> None:
        """End all leases, and give none."""
        self.release()
        self._until = 0.0
