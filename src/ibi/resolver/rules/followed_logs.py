"""Archives that answer "No" by their digests, without being asked (docs/adr/0035).

An archive that notifies resolvers of changes says with each page of its digest: nothing changes
before you are notified. As long as this promise holds, a digest that was read to its end and does
not list an item is as good as an answer, and as fresh as a cached redirect: no older than
`seconds`. The promise ends when a notification came and the digest was not read again in half of
that time, when the archive is silent, and when a page has changes of which no notification came:
then notifications do not reach this resolver. Times are those of the event loop.

Of several processes of a resolver one follows logs, and relays to the others which. A relayed state
may be used for `relay_seconds` after it was true: a change is notified, then the promise ends, then
the relayed one, all within `seconds`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from math import inf
from typing import Final

from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.model.clock import SECOND
from ibi.resolver.rules.digest_paging import MAX_INTERVAL

PROMISE_SECONDS: Final = MAX_INTERVAL + 60.0
"""Seconds for which a promise holds: every digest is read again within an hour."""
_MINUTE: Final = 60
"""Seconds of a minute."""
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
        self.relay_seconds = seconds - self._grace - NOTIFY_SECONDS
        """Seconds for which a state that another process relays may be used."""
        self.is_relayed = False
        """Whether another process follows the logs, and this one is told which."""
        self._valid_until = inf
        self._until: dict[str, float] = {}
        self._ends: list[tuple[float, str]] = []
        """The ends of promises, the next first; those that were replaced count no more."""
        self._news: dict[str, float] = {}
        """When archives last sent a notification."""
        self._unheard: set[str] = set()
        """Archives whose notifications do not come."""
        self._changed: set[str] = set()
        self._unpublished: set[str] = set()

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

    def take_unpublished(self) -> set[str]:
        """Return the archives that came or went since the last call, for other processes."""
        unpublished, self._unpublished = self._unpublished, set()
        return unpublished

    def begin(self, *, is_relayed: bool) -> None:
        """Follow none, and begin anew in this process, or as another one relays."""
        self.keep_only(())
        self.is_relayed = is_relayed
        self._valid_until = -inf if is_relayed else inf

    def is_valid(self, now: float) -> bool:
        """Return whether the promises hold that are here: relayed ones end all at once."""
        return now < self._valid_until

    def note_relayed(self, archive: str, *, is_followed: bool) -> None:
        """Note whether the process that follows logs follows that of an archive."""
        if is_followed:
            self._follow(archive, inf)
        else:
            self.drop(archive)

    def extend(self, until: float) -> None:
        """Use what was relayed until a time."""
        self._valid_until = max(self._valid_until, until)

    def note_changes(self, archive: str) -> None:
        """Note that a page of a digest has changes: a notification came before, or none comes."""
        if archive in self._news:
            # Anybody can send a notification: only one that was followed by changes is proof.
            self._unheard.discard(archive)
        elif archive in self._until:
            self._unheard.add(archive)

    def note_page(self, archive: str, began: float, *, notifies: bool) -> bool:
        """Note that a digest was read to its end, by a request that began at a time.

        Return False if it has to be read again at once, because of a notification since.
        """
        if self.is_relayed:  # requested before another process took over
            return True
        news = self._news.get(archive)
        if news is not None and news > began:
            return False
        self._news.pop(archive, None)
        if notifies and self._is_used and archive not in self._unheard:
            self._follow(archive, began + PROMISE_SECONDS)
        else:
            self.drop(archive)
        return True

    def note_notification(self, archive: str, now: float, since: float | None = None) -> None:
        """Note that an archive has notified this resolver of a change, now or after `since`."""
        self._news[archive] = now
        end = (now if since is None else since) + self._grace
        until = self._until.get(archive)
        if until is not None and until > end:
            self._follow(archive, end)

    def drop(self, archive: str) -> bool:
        """Follow an archive no longer: it is silent, or gone; return whether it was followed."""
        is_followed = self._until.pop(archive, None) is not None
        if is_followed:
            self._note_change(archive)
        return is_followed

    def keep_only(self, archives: Collection[str]) -> None:
        """Forget all archives but these."""
        for gone in self._until.keys() - archives:
            self.drop(gone)
        self._news = {name: at for name, at in self._news.items() if name in archives}
        self._unheard.intersection_update(archives)

    def _follow(self, archive: str, until: float) -> None:
        if archive not in self._until:
            self._note_change(archive)
        self._until[archive] = until
        if until < inf:
            heappush(self._ends, (until, archive))

    def _note_change(self, archive: str) -> None:
        self._changed.add(archive)
        self._unpublished.add(archive)


def is_young(label: Label, now: int, seconds: float) -> bool:
    """Return whether an item may have come after the digests that stand for answers were read.

    The latest time at which its label can have been made is compared with the age that such an
    answer may have; `now` is in nanoseconds of POSIX time. A label of the future counts as young.
    """
    return _latest(label.instant) * SECOND > now - int(seconds * SECOND)


def _latest(instant: Instant) -> int:
    """Return the second by which a label of this instant was made.

    Subsystems shorten labels (Algorithm 4 of 003): one without seconds was made at any moment of
    its minute.
    """
    is_minute = not instant.fraction and instant.seconds % _MINUTE == 0
    return instant.seconds + (_MINUTE if is_minute else 1)
