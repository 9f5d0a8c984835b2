"""Archives that answer "No" by their digests, without being asked (docs/adr/0035).

An archive that notifies resolvers of changes says with each page of its digest: nothing changes
before you are notified. As long as this promise holds, a digest that was read to its end and does
not list an item is as good as an answer, and as fresh as a cached redirect: no older than
`seconds`. The promise ends when a notification came and the digest was not read again in half of
that time, when the archive is silent, and when a page has changes of which no notification came:
then notifications do not reach this resolver. Times are those of the event loop.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from typing import Final

from ibi.identifier.label import Label
from ibi.model.clock import SECOND
from ibi.resolver.rules.digest_paging import MAX_INTERVAL

PROMISE_SECONDS: Final = MAX_INTERVAL + 60.0
"""Seconds for which a promise holds: every digest is read again within an hour."""
NOTIFY_SECONDS: Final = 2.0
"""Seconds in which a notification comes after a change, at most. If answers may not be twice as
old, no digest stands for an answer."""


class FollowedLogs:
    """The archives whose digest is as good as their answer."""

    def __init__(self, seconds: float) -> None:
        """Follow none yet; answers may be so many seconds old."""
        self.seconds = seconds
        self._grace = seconds / 2
        self._is_used = seconds >= 2 * NOTIFY_SECONDS
        self._until: dict[str, float] = {}
        self._ends: list[tuple[float, str]] = []
        """The ends of promises, the next first; those that were replaced count no more."""
        self._news: dict[str, float] = {}
        """When archives last sent a notification."""
        self._unheard: set[str] = set()
        """Archives whose notifications do not come."""
        self._changed: set[str] = set()

    def __len__(self) -> int:
        """Return how many archives are followed."""
        return len(self._until)

    def names(self, now: float) -> AbstractSet[str]:
        """Return the archives whose promise holds."""
        while self._ends and self._ends[0][0] <= now:
            until, archive = heappop(self._ends)
            if self._until.get(archive) == until:
                self.drop(archive)
        return self._until.keys()

    def take_changed(self) -> set[str]:
        """Return the archives that came or went since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def note_page(self, archive: str, began: float, *, notifies: bool, has_changes: bool) -> bool:
        """Note that a digest was read to its end, by a request that began at a time.

        Return False if it has to be read again at once, because of a notification since.
        """
        if has_changes and archive in self._until and archive not in self._news:
            self._unheard.add(archive)
        news = self._news.get(archive)
        if has_changes and news is not None:
            # Anybody can send a notification: only one that was followed by changes is proof.
            self._unheard.discard(archive)
        if news is not None and news > began:
            return False
        self._news.pop(archive, None)
        if notifies and self._is_used and archive not in self._unheard:
            self._follow(archive, began + PROMISE_SECONDS)
        else:
            self.drop(archive)
        return True

    def note_notification(self, archive: str, now: float) -> None:
        """Note that an archive has notified this resolver of a change."""
        self._news[archive] = now
        until = self._until.get(archive)
        if until is not None and until > now + self._grace:
            self._follow(archive, now + self._grace)

    def drop(self, archive: str) -> None:
        """Follow an archive no longer: it is silent, or gone."""
        if self._until.pop(archive, None) is not None:
            self._changed.add(archive)

    def keep_only(self, archives: Collection[str]) -> None:
        """Forget all archives but these."""
        for gone in self._until.keys() - archives:
            self.drop(gone)
        self._news = {name: at for name, at in self._news.items() if name in archives}
        self._unheard.intersection_update(archives)

    def _follow(self, archive: str, until: float) -> None:
        if archive not in self._until:
            self._changed.add(archive)
        self._until[archive] = until
        heappush(self._ends, (until, archive))


def is_young(label: Label, now: int, seconds: float) -> bool:
    """Return whether an item may have come after the digests that stand for answers were read.

    The time of its label is compared with the age that such an answer may have; `now` is in
    nanoseconds of POSIX time. A label of the future counts as young.
    """
    return label.instant.seconds * SECOND > now - int(seconds * SECOND)
