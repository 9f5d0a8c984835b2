"""The running searches, one at a time for one question (004, section 6.2).

A reader with the same question joins the running search. If the answer of an archive is for some
readers only, that archive is asked again for this reader.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from ibi.errors import OverloadError, TooManyRequestsError
from ibi.resolver.ports.outbound import ArchiveClient, NoReply, Reply
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.search_progress import LocationIndex
from ibi.resolver.search.archive_queries import ArchiveAsker, Weight
from ibi.resolver.search.archives_without_digest import UndigestedArchives
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.search import Charge, Search, SearchParts
from ibi.resolver.search.unfollowed_archives import UnfollowedArchives
from ibi.wire.question import Question, SearchKey
from ibi.wire.requests import UrlRequest

MAX_SEARCHES: Final = 256
"""Searches that may run at the same time."""
MAX_SEARCHES_PER_CLIENT: Final = 64
"""Searches of one quota: no client alone takes all slots, with however slow an archive."""


class SearchPool:
    """All running searches; for one event loop."""

    def __init__(  # noqa: PLR0913  # its collaborators
        self,
        registry: Registry,
        client: ArchiveClient,
        owners: Owners,
        on_end: Callable[[Search], None],
        *,
        seconds: float,
        locations: LocationIndex | None = None,
        unfollowed: UnfollowedArchives | None = None,
        on_silence: Callable[[str], object] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Ask the archives of a registry; each may take so many seconds.

        `locations` has the archives that probably have an item; without it all are asked at once.
        `unfollowed` has those whose digest does not stand for an answer; without it none does.
        `on_silence` is called with each archive that did not answer.
        `on_end` is called with every search that has ended.
        """
        self._registry = registry
        self._on_end = on_end
        undigested = UndigestedArchives(registry, locations.publishes) if locations else None
        asker = ArchiveAsker(client, registry, seconds, on_silence)
        self._parts = SearchParts(
            registry, owners, asker, locations, undigested, unfollowed, chance
        )
        self._running: dict[SearchKey, Search] = {}
        self._tasks: dict[Search, asyncio.Task[None]] = {}
        self._quotas: Counter[str] = Counter()
        self.begun = 0
        """How many searches were begun."""

    def __len__(self) -> int:
        """Return how many searches are running."""
        return len(self._running)

    @property
    def version(self) -> int:
        """The version of the archives that a search would ask now."""
        return self._registry.version

    def join(
        self,
        question: Question,
        charge: Charge,
        *,
        ask_all: bool = False,
    ) -> Search | None:
        """Join the running search for the same, if an archive is still awaited; else return None.

        A search that its readers could not pay for is not joined. If the question needs the
        archives that are held back, or with `ask_all`, they are asked too.
        """
        search = self._running.get(question.search)
        if search is None or not search.awaits or search.refusal is not None:
            return None
        if search.version != self._registry.version:
            return None
        search.listen(question, charge, ask_all=ask_all)
        return search

    def begin(
        self,
        question: Question,
        clients: tuple[str, ...],
        charge: Charge,
        quota_key: str = "",
        *,
        ask_all: bool = False,
    ) -> Search:
        """Begin a search, and join it; with a `quota_key` it counts against that quota.

        `ask_all` holds no archive back.
        """
        if quota_key and self._quotas[quota_key] >= MAX_SEARCHES_PER_CLIENT:
            raise TooManyRequestsError(1)
        if len(self._running) >= MAX_SEARCHES:
            self._evict()
        search = Search(self._parts, question, clients)
        search.listen(question, charge, ask_all=ask_all)
        key = question.search
        self._running[key] = search
        self.begun += 1
        self._quotas[quota_key] += 1
        task = asyncio.create_task(self._run(search, key))
        self._tasks[search] = task
        task.add_done_callback(partial(self._ended, search, quota_key))
        return search

    async def ask_again(self, name: str, request: UrlRequest) -> Reply:
        """Ask an archive that has answered a search once more, for another reader."""
        archive = self._registry.find(name)
        if archive is None:
            return NoReply(name, "it is not included", asked=False)
        refusal = self._parts.asker.refusal(archive)
        return refusal or await self._parts.asker.ask(archive, request, Weight.TRUSTED)

    def _evict(self) -> None:
        """Cancel the oldest search without readers; the replies that it has count."""
        for key, search in self._running.items():
            if search.is_started and not search.readers:
                del self._running[key]
                self._tasks[search].cancel()
                return
        raise OverloadError(1)

    async def _run(self, search: Search, key: SearchKey) -> None:
        try:
            await search.run()
        finally:
            if self._running.get(key) is search:
                del self._running[key]
            self._on_end(search)

    def _ended(self, search: Search, quota_key: str, _: asyncio.Task[None]) -> None:
        del self._tasks[search]
        self._quotas[quota_key] -= 1
        if not self._quotas[quota_key]:
            del self._quotas[quota_key]

    async def close(self) -> None:
        """Cancel all searches."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
