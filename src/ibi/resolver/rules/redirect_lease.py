"""Leases of cached redirects: a redirect is valid until the log of its archive has a change.

An archive that publishes a digest keeps a log of its changes. If a page of that log has no entry
for an item, the answer of the archive about the item was still true when the page was requested. So
all redirects to one archive are valid for `seconds` after the last such request: none is older than
an answer that is cached without a lease may be, however long the lease is extended.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from ibi.wire.digest import DigestPage

SHARES: Final = 8
"""Parts of the longest time: redirects to one archive that were found in the same eighth of it end
together."""


class Lease:
    """The time until which redirects are valid, by the clock of the event loop; many share one."""

    __slots__ = ("until",)

    def __init__(self, until: float = 0.0) -> None:
        """Set the end of the lease."""
        self.until = until


ENDED: Final = Lease()
"""The lease of redirects that were dropped from the cache; it is never renewed."""


class ArchiveLeases:
    """The leases of the redirects to one archive, and the place in its log that was read last."""

    def __init__(
        self, epoch: str, last: int, begun: float, *, seconds: float, longest: float
    ) -> None:
        """Begin at a place in the log that had been reached by `begun`.

        Redirects are valid for `seconds` after each read, and for no longer than `longest` in all.
        """
        self.epoch = epoch
        self.last = last
        self.begun = begun
        self.answers = 0
        """Leases that were requested."""
        self._seconds = seconds
        self._longest = longest
        self._until = 0.0
        self._wanted = begun
        self._given: deque[tuple[Lease, float]] = deque()
        """Leases, each with the time of the first question answered by it, about in that order."""

    def lease(self, asked: float, now: float) -> Lease | None:
        """Return a lease for an answer; None while the changes since the question are not known.

        Changes between the question and the next read of the log have not been read yet.
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
        """Return whether a page continues where the last one ended."""
        return page.epoch == self.epoch and page.after == self.last

    def advance(self, page: DigestPage, began: float) -> bool:
        """Advance to the end of a page that was requested at `began`; renew if there are no more.

        The caller has dropped the items of the page from the cache. Returns False if the page does
        not follow the last one: the log began anew, and anything may have changed.
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
        """Return whether no lease was requested in the longest time: then no valid one is left."""
        return now > self._wanted + self._longest

    def release(self) -> None:
        """End the leases that were given; new ones are given as before."""
        for lease, _ in self._given:
            lease.until = 0.0
        self._given.clear()

    def end(self) -> None:
        """End all leases, and give no new ones."""
        self.release()
        self._until = 0.0
