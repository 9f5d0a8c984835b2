"""Sends the words of a reader to archives, and collects what they find.

The standard has no search. Archives of this software have one (`GET /api/v1/search`), as a public
document; others are skipped, and not asked again for a while. A search by words says nothing of
where an Original is, so its replies never become evidence, and a missing one is no outage.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import quote

from ibi.errors import OverloadError
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.documents import DocumentClient
from ibi.resolver.ports.outbound import NoReply
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.archive_documents import FoundItems, read_found_items
from ibi.resolver.rules.outage import silence_of
from ibi.resolver.rules.word_search import (
    ArchiveResults,
    SearchMemory,
    WordResults,
    chosen,
    normalized,
)
from ibi.resolver.search.search import Charge

SEARCH_PATH: Final = "api/v1/search"
MAX_SECONDS: Final = 3.0
"""Seconds that all archives together may take; one may take `archive_seconds` of the settings."""
MAX_SEARCHES: Final = 8
"""Searches by words that run at the same time; others wait for their turn."""
TURN_SECONDS: Final = 1.0
"""Seconds that a search waits for its turn."""
ORDER_SECONDS: Final = 30.0
"""Seconds for which the archives to ask are chosen: no search begins with a loop over all."""
NO_RESULTS: Final = "its answer makes no sense"
TOO_LATE: Final = "it did not answer in time"


class WordSearch:
    """Searches archives by words; for one event loop."""

    def __init__(
        self,
        registry: Registry,
        documents: DocumentClient,
        labels: Callable[[str], int],
        seconds: float,
    ) -> None:
        """Search the archives of a registry; each may take so many seconds.

        `labels` returns how many labels the digest of an archive lists.
        """
        self._registry = registry
        self._documents = documents
        self._labels = labels
        self._seconds = min(seconds, MAX_SECONDS)
        self._memory = SearchMemory()
        self._turns = asyncio.Semaphore(MAX_SEARCHES)
        self._order: tuple[list[RegisteredArchive], int] = ([], 0)
        self._order_version = -1
        self._order_due = 0.0

    def largest(self) -> list[RegisteredArchive]:
        """Return the archives that a search asks now, those with the most labels first."""
        return self._chosen(asyncio.get_running_loop().time())[0]

    async def find(self, text: str, charge: Charge) -> WordResults:
        """Return what archives find; `charge` is called with the messages before they are sent."""
        words = normalized(text)
        if not words:
            return WordResults("")
        async with self._turn():
            return await self._find(words, charge)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            raise OverloadError(1) from None
        try:
            yield
        finally:
            self._turns.release()

    async def _find(self, words: str, charge: Charge) -> WordResults:
        now = asyncio.get_running_loop().time()
        archives, not_asked = self._chosen(now)
        replies: dict[str, FoundItems | NoReply | None] = {}
        for archive in archives:
            if (known := self._memory.recall(words, archive, now)) is not None:
                replies[archive.id] = known
            elif not self._registry.is_asked(archive.id):
                replies[archive.id] = silence_of(archive)
        asked = [archive for archive in archives if archive.id not in replies]
        charge(len(asked))
        replies |= await self._ask_each(words, asked)
        return _results(words, archives, replies, not_asked)

    def _chosen(self, now: float) -> tuple[list[RegisteredArchive], int]:
        """Return the archives to ask, and how many others there are that may have a search."""
        if self._order_version != self._registry.version or now >= self._order_due:
            self._order_version = self._registry.version
            self._order_due = now + ORDER_SECONDS
            having = [
                each for each in self._registry.included() if self._memory.has_search(each, now)
            ]
            best = chosen(having, self._labels, self._registry.ranks())
            self._order = best, len(having) - len(best)
        # As they are now: an archive may be down since, or have no search.
        present = (self._registry.by_name.get(each.id) for each in self._order[0])
        return [
            each for each in present if each is not None and self._memory.has_search(each, now)
        ], self._order[1]

    async def _ask_each(
        self, words: str, archives: list[RegisteredArchive]
    ) -> dict[str, FoundItems | NoReply | None]:
        tasks = {archive.id: asyncio.create_task(self._ask(words, archive)) for archive in archives}
        if not tasks:
            return {}
        try:
            await asyncio.wait(tasks.values(), timeout=MAX_SECONDS)
            return {
                name: task.result() if task.done() else NoReply(name, TOO_LATE, MAX_SECONDS)
                for name, task in tasks.items()
            }
        finally:
            for task in tasks.values():
                task.cancel()

    async def _ask(self, words: str, archive: RegisteredArchive) -> FoundItems | NoReply | None:
        query = f"q={quote(words, safe='')}"
        reply = await self._documents.document(archive, SEARCH_PATH, query, self._seconds)
        now = asyncio.get_running_loop().time()
        if reply is None:
            self._memory.note_without_search(archive, now)
        if not isinstance(reply, bytes):
            return reply
        found = read_found_items(reply)
        if found is None:
            return NoReply(archive.id, NO_RESULTS, alive=True)
        self._memory.keep(words, archive, found, now)
        return found


def _results(
    words: str,
    archives: list[RegisteredArchive],
    replies: dict[str, FoundItems | NoReply | None],
    not_asked: int,
) -> WordResults:
    def those() -> Iterator[tuple[RegisteredArchive, FoundItems | NoReply | None]]:
        return ((archive, replies[archive.id]) for archive in archives)

    return WordResults(
        words,
        tuple(
            ArchiveResults(archive, reply)
            for archive, reply in those()
            if isinstance(reply, FoundItems) and reply.items
        ),
        tuple(
            archive
            for archive, reply in those()
            if isinstance(reply, FoundItems) and not reply.items
        ),
        tuple((archive, reply) for archive, reply in those() if isinstance(reply, NoReply)),
        not_asked,
    )
