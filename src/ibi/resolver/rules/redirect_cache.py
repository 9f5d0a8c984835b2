"""The cache of resolutions: recent redirects, lasting redirects, and items that were not found.

A recent (hot) redirect is valid for a short time after its question. If the archive keeps a log of
its changes, and the log is read, the answer to a plain question lasts until the log has a change of
its item. Either way no reader is sent to a place that an item left longer ago than the bound. When
an archive is included, excluded or moves, everything is dropped; when the claimants of an item or
its owner change, the entries of that item are, and no other ones. When a log has a change of an
item, those are that do not lead to an Original: they rest on what other archives do not have, by
digests that may have been read before. An answer for one client is given
to the same client only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from ibi.identifier.label import Label
from ibi.model.item import State
from ibi.resolver.rules.decision import Gone, NotFound, Redirect, Unserved
from ibi.resolver.rules.ownership import is_sure
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.redirect_lease import ENDED, Lease
from ibi.resolver.rules.resolution import Chain, Resolution
from ibi.wire.digest import fingerprint
from ibi.wire.question import Question, SearchKey

MAX_CHANGES: Final = 50_000
"""Changed items in memory. If there are more, they are dropped, and every item counts as
changed."""


class RecentChanges:
    """When items changed, by the fingerprints of their labels."""

    def __init__(self) -> None:
        """Begin without changes."""
        self._news: dict[int, float] = {}
        self._all = float("-inf")

    def note(self, print_: int, now: float) -> None:
        """Record that an item has changed."""
        if len(self._news) >= MAX_CHANGES:
            self._news.clear()
            self._all = now
        self._news[print_] = now

    def since(self, print_: int, began: float) -> bool:
        """Return whether an item may have changed at a time, or since."""
        return began <= self._all or began <= self._news.get(print_, float("-inf"))


class LabelVersions:
    """The versions of items: forgetting one item does not affect resolutions of others."""

    def __init__(self) -> None:
        """Begin without an item that was forgotten."""
        self.current = 0
        """The number of times that an item was forgotten."""
        self._forgotten: dict[str, int] = {}
        self._all = 0
        """Below this version, every item counts as forgotten."""

    def forget(self, label: str) -> None:
        """Begin a new version of an item."""
        self.current += 1
        if len(self._forgotten) >= MAX_CHANGES:
            self._forgotten.clear()
            self._all = self.current
        self._forgotten[label] = self.current

    def is_current(self, labels: Iterable[str], version: int) -> bool:
        """Return whether none of the items was forgotten after a version was read."""
        latest = max((self._forgotten.get(label, 0) for label in labels), default=0)
        return version >= max(latest, self._all)


MAX_HOT: Final = 100_000
"""Recent redirects in memory."""
MAX_ABSENT: Final = 2_000
"""Resolutions without a redirect in memory; fewer, because each has the replies of all archives."""
MAX_LASTING: Final = 1_000_000
"""Lasting redirects in memory."""

Key: TypeAlias = tuple[SearchKey, bool, tuple[str, ...], tuple[str, ...]]
_Value = TypeVar("_Value", CachedRedirect, Resolution)


class Leases(Protocol):
    """Gives leases to redirects."""

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Return the lease of an answer by the time of its question; None if it does not last."""
        ...

    def release(self) -> None:
        """End all leases that were given."""
        ...


class NoLeases:
    """Gives no leases."""

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Return None."""
        del archive, asked, now
        return None

    def release(self) -> None:
        """Do nothing."""


@dataclass(slots=True, eq=False)
class _Entry(Generic[_Value]):
    key: Key
    value: _Value
    lease: Lease
    prints: tuple[int, ...]
    """Fingerprints of the labels of the items that it led by way of."""


class _TimedCache(Generic[_Value]):
    """Holds values for the same time each, the oldest first."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: dict[Key, _Entry[_Value]] = {}
        self._order: deque[_Entry[_Value]] = deque()
        """Entries in the order of their end; those that were dropped have none left."""
        self._of: dict[int, set[Key]] = {}

    def find(self, key: Key, now: float) -> _Value | None:
        entry = self._kept.get(key)
        return entry.value if entry is not None and now < entry.lease.until else None

    def put(self, key: Key, value: _Value, resolution: Resolution, now: float) -> Lease:
        """Store a value, and return its lease, which counts from the start of the resolution."""
        if not self._seconds:
            return ENDED
        before = self._kept.get(key)
        if before is not None:
            self._drop(before)
        while self._order and (len(self._order) >= self._most or now >= self._order[0].lease.until):
            self._drop(self._order.popleft())
        lease = Lease(resolution.began + self._seconds)
        prints = tuple(map(fingerprint, resolution.labels))
        self._kept[key] = entry = _Entry(key, value, lease, prints)
        self._order.append(entry)
        for print_ in prints:
            self._of.setdefault(print_, set()).add(key)
        return lease

    def _drop(self, entry: _Entry[_Value]) -> None:
        entry.lease.until = 0.0
        if self._kept.get(entry.key) is not entry:
            return
        del self._kept[entry.key]
        for print_ in entry.prints:
            keys = self._of[print_]
            keys.discard(entry.key)
            if not keys:
                del self._of[print_]

    def forget(self, print_: int, chosen: Callable[[_Value], bool] = lambda _: True) -> None:
        """Drop the chosen values that led by way of an item."""
        for entry in [self._kept[key] for key in self._of.get(print_, ())]:
            if chosen(entry.value):
                self._drop(entry)

    def clear(self) -> None:
        for entry in self._order:
            entry.lease.until = 0.0
        self._order.clear()
        self._kept.clear()
        self._of.clear()


class LastingRedirects:
    """Redirects that last, by the fingerprints of their labels; the first in are first out."""

    def __init__(self, most: int = MAX_LASTING) -> None:
        """Begin empty; never hold more than `most`."""
        self._most = most
        self._changes = RecentChanges()
        self._kept: dict[int, CachedRedirect] = {}
        self._ring: list[int] = []
        """Every stored fingerprint has a place here; one that was dropped may have one too."""
        self._next = 0

    def find(self, label: Label, now: float) -> CachedRedirect | None:
        """Return the redirect of a label, if its lease has not ended."""
        known = self._kept.get(fingerprint(label.canonical))
        if known is None or now >= known.lease.until:
            return None
        # Two labels may have one fingerprint.
        return known if known.path[1:].decode() == label.canonical else None

    def put(self, print_: int, known: CachedRedirect) -> None:
        """Store a redirect instead of the one before."""
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
        """Drop the redirect of an item, and end it."""
        known = self._kept.pop(print_, None)
        if known is not None:
            known.lease = ENDED

    def note_change(self, print_: int, now: float) -> None:
        """Drop the redirect of an item that has changed, and accept none that was found before."""
        self.forget(print_)
        self._changes.note(print_, now)

    def changed_since(self, print_: int, began: float) -> bool:
        """Return whether an item may have changed at a time, or since."""
        return self._changes.since(print_, began)


class RedirectCache:
    """Caches resolutions."""

    def __init__(
        self,
        version: Callable[[], int],
        *,
        hot_seconds: float,
        absent_seconds: float,
        lasting: LastingRedirects | None = None,
        leases: Leases | None = None,
    ) -> None:
        """Begin empty; `version` changes when archives are included, excluded or move.

        `leases` says how long redirects last; without it none does. `lasting` holds those that do.
        `note_change` is to be called with every change of an item that a log has.
        """
        self._version = version
        self._seen = version()
        self._labels = LabelVersions()
        self._hot: _TimedCache[CachedRedirect] = _TimedCache(hot_seconds, MAX_HOT)
        self._absent: _TimedCache[Resolution] = _TimedCache(absent_seconds, MAX_ABSENT)
        self.lasting = LastingRedirects() if lasting is None else lasting
        self._leases: Leases = NoLeases() if leases is None else leases

    @property
    def version(self) -> tuple[int, int]:
        """The version to pass to `keep`, read before the resolution begins."""
        return self._version(), self._labels.current

    def drop_stale(self) -> None:
        """Drop everything if archives were included, excluded or moved."""
        if self._version() != self._seen:
            self._hot.clear()
            self._absent.clear()
            self._leases.release()
            self._seen = self._version()

    def recall(
        self, question: Question, clients: Iterable[tuple[str, ...]], now: float
    ) -> CachedRedirect | Resolution | None:
        """Return a valid earlier resolution, for all clients or for one of these."""
        self.drop_stale()
        key = _key(question)
        if key == ((question.label.canonical, (), False, ""), False, (), ()):
            lasting = self.lasting.find(question.label, now)
            if lasting is not None:
                return lasting
        for each in (*(_key(question, only_for) for only_for in clients), key):
            found = self._hot.find(each, now) or self._absent.find(each, now)
            if found is not None:
                return found
        return None

    def keep(
        self, resolution: Resolution, resolver: str, version: tuple[int, int], now: float
    ) -> CachedRedirect | Resolution:
        """Return the answer of a resolution below an address, and cache it if nothing has changed.

        Its age counts from the beginning of the resolution; `version` was read before that, and
        `now` is after it.
        """
        archives, labels = version
        is_kept = archives == self._version() and self._labels.is_current(resolution.labels, labels)
        match resolution.outcome:
            case Redirect() as outcome:
                known = CachedRedirect.of(resolution, outcome, resolver)
                if is_kept and (_is_original(known) or not self._has_news_of(resolution)):
                    self._keep(known, resolution, now)
                return known
            case NotFound(impossible="") | Gone() | Unserved() | Chain() if is_kept and (
                not self._has_news_of(resolution)
            ):
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
        """Return the lease of a lasting redirect: an Original, asked for alone, without doubt."""
        if known.asked is not None or not _is_original(known):
            return None
        if not is_sure(known.terms.archive, resolution.last.evidence):
            return None
        print_ = fingerprint(resolution.question.label.canonical)
        if self.lasting.changed_since(print_, resolution.began):
            return None
        # The claim of another archive than owner or home is enough for now. But no event announces
        # that another archive would come before it.
        if resolution.last.evidence.may_be_overruled(known.terms.archive):
            return None
        return self._leases.lease(known.terms.archive, resolution.began, now)

    def forget(self, label: str) -> None:
        """Drop what led by way of an item, and cache no resolution of it that is in progress."""
        print_ = fingerprint(label)
        self._labels.forget(label)
        self._hot.forget(print_)
        self._absent.forget(print_)
        self.lasting.forget(print_)

    def note_change(self, print_: int, now: float) -> None:
        """Drop what may be wrong since a log has a change of an item, or will be found so."""
        self._hot.forget(print_, lambda known: not _is_original(known))
        self._absent.forget(print_)
        self.lasting.note_change(print_, now)

    def _has_news_of(self, resolution: Resolution) -> bool:
        """Return whether a log had a change meanwhile of an item that it led by way of."""
        prints = map(fingerprint, resolution.labels)
        return any(self.lasting.changed_since(each, resolution.began) for each in prints)


def _is_original(known: CachedRedirect) -> bool:
    return known.terms.state is State.ORIGINAL


def _key(question: Question, only_for: tuple[str, ...] = ()) -> Key:
    ranges = question.preference.ranges if question.depends_on_reader else ()
    return question.search, question.original_required, ranges, only_for
