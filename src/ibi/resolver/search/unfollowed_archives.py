"""The included archives that a search has to ask, because their digests stand for no answer.

Only what changed since the last search is looked at: no search among 100,000 archives begins with a
loop over all of them.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ibi.identifier.label import Label
from ibi.model.clock import Clock
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.followed_logs import FollowedLogs, is_young


class UnfollowedArchives:
    """The included archives whose logs are not followed."""

    def __init__(self, registry: Registry, followed: FollowedLogs, clock: Clock) -> None:
        """Begin with those of a registry."""
        self._registry = registry
        self._followed = followed
        self._clock = clock
        self._names: set[str] = set()
        self._version = -1

    def names(self, label: Label, now: float) -> AbstractSet[str] | None:
        """Return the archives to be asked for an item that no digest lists; None for all.

        All are asked for an item whose label is younger than an answer by a digest may be. `now` is
        by the clock of the event loop.
        """
        followed = self._followed.names(now)
        changed = self._followed.take_changed()
        included = self._registry.by_name
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._names = {name for name in included if name not in followed}
        else:
            self._names -= changed
            self._names |= {name for name in changed if name in included and name not in followed}
        is_old = not is_young(label, self._clock.wall(), self._followed.seconds)
        if not is_old or not self._followed.is_valid(now):
            return None
        return frozenset(self._names) if len(self._names) < len(included) else None
