"""Parts of a resolver, as they are, but for that they show what they do to whoever judges it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.clock import Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.search.hops import HopResolver
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.web.redirect import RedirectEndpoint
from ibi.resolver.workers.change_feed import ChangeFeed


class WatchedDoor(RedirectEndpoint):
    """Shows by what a reader was answered."""

    known: CachedRedirect

    def _redirection(self, known: CachedRedirect, wanted: PersistentUrl) -> Response:
        self.known = known
        return super()._redirection(known, wanted)


class WatchedResolving(HopResolver):
    """Shows what became of every question that was asked of archives."""

    def __init__(
        self, searching: SearchPool, following: ChangeFeed, on_end: Callable[[Resolution], None]
    ) -> None:
        """Show it to whoever wants to know."""
        super().__init__(searching, following.catch_up)
        self._on_end = on_end

    async def resolve(self, *args: Any, **options: Any) -> Resolution:  # noqa: ANN401  # as it is
        """Resolve a question, and show what became of it."""
        resolution = await super().resolve(*args, **options)
        self._on_end(resolution)
        return resolution


class WatchedRegistry(Registry):
    """Shows what a process takes for what is on record, whenever it looks."""

    def __init__(
        self,
        store: SqlResolverStore,
        clock: Clock,
        jitter: Callable[[], float],
        on_show: Callable[[RegisteredArchive, dict[str, int]], None],
    ) -> None:
        """Show it to whoever wants to know, with what was shown before."""
        super().__init__(store.archives, store.feed, clock, jitter)
        self._on_show = on_show
        self._shown: dict[str, int] = {}

    def _show(self, name: str, archive: RegisteredArchive | None) -> None:
        super()._show(name, archive)
        if archive is not None:
            self._on_show(archive, self._shown)
