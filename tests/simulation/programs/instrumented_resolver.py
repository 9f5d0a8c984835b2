"""Services of a resolver that report what they do to the judge."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from starlette.responses import Response

from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.clock import Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.followed_logs import FollowedLogs
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.search.hops import HopResolver
from ibi.resolver.search.plausibility import Plausibility
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.web.redirect import RedirectEndpoint
from ibi.resolver.workers.change_feed import ChangeFeed


class InstrumentedRedirect(RedirectEndpoint):
    """Keeps the cache entry by which the last reader was answered."""

    known: CachedRedirect

    def _redirection(self, known: CachedRedirect, wanted: PersistentUrl) -> Response:
        self.known = known
        return super()._redirection(known, wanted)


class InstrumentedFollowedLogs(FollowedLogs):
    """Keeps when a search last found that the digest of an archive stands for its answer."""

    def __init__(self, seconds: float) -> None:
        """Follow none yet."""
        super().__init__(seconds)
        self.found_at: dict[str, float] = {}

    def names(self, now: float) -> AbstractSet[str]:
        """Return the archives whose promise holds, and keep the time."""
        names = super().names(now)
        self.found_at |= dict.fromkeys(names, now)
        return names


class InstrumentedHopResolver(HopResolver):
    """Reports the resolution of every question."""

    def __init__(
        self,
        searching: SearchPool,
        following: ChangeFeed,
        plausibility: Plausibility,
        on_end: Callable[[Resolution], None],
    ) -> None:
        """Call `on_end` with every resolution."""
        super().__init__(searching, following.catch_up, plausibility)
        self._on_end = on_end

    async def resolve(self, *args: Any, **options: Any) -> Resolution:  # noqa: ANN401  # as it is
        """Resolve a question, and report the resolution."""
        resolution = await super().resolve(*args, **options)
        self._on_end(resolution)
        return resolution


class InstrumentedRegistry(Registry):
    """Reports each record of an archive that a process begins to use."""

    def __init__(
        self,
        store: SqlResolverStore,
        clock: Clock,
        jitter: Callable[[], float],
        on_show: Callable[[RegisteredArchive, dict[str, int]], None],
    ) -> None:
        """Call `on_show` with each record, and the versions of those before."""
        super().__init__(store.archives, store.feed, clock, jitter)
        self._on_show = on_show
        self._shown: dict[str, int] = {}

    def _show(self, name: str, archive: RegisteredArchive | None) -> None:
        super()._show(name, archive)
        if archive is not None:
            self._on_show(archive, self._shown)
