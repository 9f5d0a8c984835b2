"""What a resolver remembers: answers that are hot or last, and items that nobody has.

What is hot is given for a short while after it was asked for. Where the archive keeps a log of its
changes, and the log is read, an answer to a plain question lasts for as long as nothing is said of
its item there. Either way no reader is sent to a place that an item left for longer than the bound.
When an archive comes, goes or moves, all is forgotten; when archives contend for an item, or it
changes hands, what is remembered of it. What was for one client is given to the same alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from ibi.identifier.fingerprint import fingerprint
from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.resolver.rules.cached_redirect import CachedRedirect
from ibi.resolver.rules.decision import Gone, NotFound, Redirect, Unserved
from ibi.resolver.rules.lease import ENDED, Lease
from ibi.resolver.rules.ownership import is_sure
from ibi.resolver.rules.resolution import Chain, Resolution
from ibi.wire.question import Question, SearchKey

MOST: Final = 50_000
"""Then it is forgotten which items, and all answers that were asked for before may be old."""


class RecentChanges:
    """When there were news of an item, by the fingerprint of its label."""

    def __init__(self) -> None:
        """Know of no news."""
        self._news: dict[int, float] = {}
        self._all = float("-inf")

    def note(self, print_: int, now: float) -> None:
        """Note that there are news of an item."""
        if len(self._news) >= MOST:
            self._news.clear()
            self._all = now
        self._news[print_] = now

    def since(self, print_: int, began: float) -> bool:
        """Tell whether there may have been news of an item at a time, or since."""
        return began <= self._all or began <= self._news.get(print_, float("-inf"))


MOST_HOT: Final = 100_000
MOST_ABSENT: Final = 2_000
"""Fewer: each has the answers of all archives with it."""
MOST_KNOWN: Final = 1_000_000

Key: TypeAlias = tuple[SearchKey, bool, tuple[str, ...], tuple[str, ...]]
_Value = TypeVar("_Value", CachedRedirect, Resolution)


class Leases(Protocol):
    """Says how long answers of an archive last."""

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Return the lease of an answer that an archive was asked for; None if it does not last."""
        ...

    def release(self) -> None:
        """End all leases that were given."""
        ...


class NoLeases:
    """Nothing lasts."""

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Return none."""
        del archive, asked, now
        return None

    def release(self) -> None:
        """Have nothing to end."""


@dataclass(slots=True, eq=False)
class _Entry(Generic[_Value]):
    key: Key
    value: _Value
    lease: Lease
    labels: tuple[str, ...]
    """Of the items that it led by way of."""


class _Shelf(Generic[_Value]):
    """Holds what is remembered for one time, the oldest first."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: dict[Key, _Entry[_Value]] = {}
        self._order: deque[_Entry[_Value]] = deque()
        """Those among them that were dropped have no time left."""
        self._of: dict[str, set[Key]] = {}

    def find(self, key: Key, now: float) -> _Value | None:
        entry = self._kept.get(key)
        return entry.value if entry is not None and now < entry.lease.until else None

    def put(self, key: Key, value: _Value, resolution: Resolution, now: float) -> Lease:
        """Keep it, and return until when, counted from when it was asked for."""
        if not self._seconds:
            return ENDED
        before = self._kept.get(key)
        if before is not None:
            self._drop(before)
        while self._order and (len(self._order) >= self._most or now >= self._order[0].lease.until):
            self._drop(self._order.popleft())
        lease = Lease(resolution.began + self._seconds)
        labels = tuple({step.question.label.canonical for step in resolution.steps})
        self._kept[key] = entry = _Entry(key, value, lease, labels)
        self._order.append(entry)
        for label in labels:
            self._of.setdefault(label, set()).add(key)
        return lease

    def _drop(self, entry: _Entry[_Value]) -> None:
        entry.lease.until = 0.0
        if self._kept.get(entry.key) is not entry:
            return
        del self._kept[entry.key]
        for label in entry.labels:
            keys = self._of[label]
            keys.discard(entry.key)
            if not keys:
                del self._of[label]

    def forget(self, label: str) -> None:
        for key in list(self._of.get(label, ())):
            self._drop(self._kept[key])

    def clear(self) -> None:
        for entry in self._order:
            entry.lease.until = 0.0
        self._order.clear()
        self._kept.clear()
        self._of.clear()


class LastingRedirects:
    """Redirects that last, by the fingerprints of their labels; the first in are first out."""

    def __init__(self, most: int = MOST_KNOWN) -> None:
        """Hold none yet, and never more than `most`."""
        self._most = most
        self._changes = RecentChanges()
        self._kept: dict[int, CachedRedirect] = {}
        self._ring: list[int] = []
        """Every fingerprint that is kept has a place; one that is forgotten may have one too."""
        self._next = 0

    def find(self, label: Label, now: float) -> CachedRedirect | None:
        """Return the redirect of a label, if its lease runs."""
        known = self._kept.get(fingerprint(label.canonical))
        if known is None or now >= known.lease.until:
            return None
        # Two labels may have one fingerprint.
        return known if known.path[1:].decode() == label.canonical else None

    def put(self, print_: int, known: CachedRedirect) -> None:
        """Hold a redirect in the place of the one before."""
        before = self._kept.get(print_)
        if before is not None:
            before.lease = ENDED
        elif len(self._ring) < self._most:
            self._ring.append(print_)
        else:
            self.forget(self._ring[self._next])
            self._ring[self._next] = print_
            self._next = (self._next + 1) % self._most
        self._kept[print_] = known

    def forget(self, print_: int) -> None:
        """End the redirect of an item."""
        known = self._kept.pop(print_, None)
        if known is not None:
            known.lease = ENDED

    def note_change(self, print_: int, now: float) -> None:
        """End the redirect of an item that has changed, and hold none that was found before."""
        self.forget(print_)
        self._changes.note(print_, now)

    def changed_since(self, print_: int, began: float) -> bool:
        """Tell whether an item may have changed at a time, or since."""
        return self._changes.since(print_, began)


class RedirectCache:
    """Remembers resolutions."""

    def __init__(
        self,
        version: Callable[[], int],
        *,
        hot_seconds: float,
        absent_seconds: float,
        lasting: LastingRedirects | None = None,
        leases: Leases | None = None,
    ) -> None:
        """Remember nothing yet; `version` changes when archives come, go or move.

        `leases` says how long redirects last; without it none does. `lasting` holds those that do:
        whoever learns that an item has changed tells it.
        """
        self._version = version
        self._seen = version()
        self._forgotten = 0
        self._hot: _Shelf[CachedRedirect] = _Shelf(hot_seconds, MOST_HOT)
        self._absent: _Shelf[Resolution] = _Shelf(absent_seconds, MOST_ABSENT)
        self.lasting = LastingRedirects() if lasting is None else lasting
        self._leases: Leases = NoLeases() if leases is None else leases

    @property
    def version(self) -> tuple[int, int]:
        """What `keep` wants to know from before a resolution began."""
        return self._version(), self._forgotten

    def keep_up(self) -> None:
        """Forget everything if archives came, went or moved."""
        if self._version() != self._seen:
            self._hot.clear()
            self._absent.clear()
            self._leases.release()
            self._seen = self._version()

    def recall(
        self, question: Question, clients: tuple[str, ...], now: float
    ) -> CachedRedirect | Resolution | None:
        """Return what was resolved before and holds, for everybody or for these clients."""
        self.keep_up()
        key = _key(question)
        if key == ((question.label.canonical, (), False, ""), False, (), ()):
            lasting = self.lasting.find(question.label, now)
            if lasting is not None:
                return lasting
        for each in (_key(question, clients), key):
            found = self._hot.find(each, now) or self._absent.find(each, now)
            if found is not None:
                return found
        return None

    def keep(
        self, resolution: Resolution, resolver: str, version: tuple[int, int], now: float
    ) -> CachedRedirect | Resolution:
        """Return what is said of a resolution below an address, and remember it if that is well.

        For how long counts from its beginning; `version` is from before that, and `now` is after.
        """
        is_kept = version == self.version
        match resolution.outcome:
            case Redirect() as outcome:
                known = CachedRedirect.of(resolution, outcome, resolver)
                if is_kept:
                    self._keep(known, resolution, now)
                return known
            case NotFound() | Gone() | Unserved() | Chain() if is_kept:
                key = _key(resolution.question, resolution.only_for)
                self._absent.put(key, resolution, resolution, now)
        return resolution

    def _keep(self, known: CachedRedirect, resolution: Resolution, now: float) -> None:
        lease = self._lease(known, resolution, now)
        if lease is None:
            key = _key(resolution.question, known.only_for)
            lease = self._hot.put(key, known, resolution, now)
        else:
            self.lasting.put(fingerprint(resolution.question.label.canonical), known)
        known.lease = lease

    def _lease(self, known: CachedRedirect, resolution: Resolution, now: float) -> Lease | None:
        """Return the lease of what lasts: an Original that was asked for alone, beyond doubt."""
        if known.asked is not None or known.terms.state is not State.ORIGINAL:
            return None
        if not is_sure(known.terms.archive, resolution.last.evidence):
            return None
        print_ = fingerprint(resolution.question.label.canonical)
        if self.lasting.changed_since(print_, resolution.began):
            return None
        # A stranger's word is enough for now. Nobody tells when another would come before him.
        if resolution.last.evidence.may_be_overruled(known.terms.archive):
            return None
        return self._leases.lease(known.terms.archive, resolution.began, now)

    def forget(self, label: str) -> None:
        """Forget all that led by way of an item, and what is being found out of it."""
        self._forgotten += 1
        self._hot.forget(label)
        self._absent.forget(label)
        self.lasting.forget(fingerprint(label))


def _key(question: Question, only_for: tuple[str, ...] = ()) -> Key:
    ranges = question.preference.ranges if question.depends_on_reader else ()
    return question.search, question.original_required, ranges, only_for
