"""Follows what other processes put on record: archives, and items of which no memory holds.

News are numbered without a gap. Whoever finds that some are missing was away for longer than news
are kept, or the database was set back: then all is read anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.resolver.ports.workers import FeedEntry, FeedStore
from ibi.resolver.registry.registry import Registry

INTERVAL: Final = 0.5
"""Seconds between two looks: what changes in one process is known in all after that, and the time
that it takes to read."""
PAGE: Final = 1000
_LOG: Final = structlog.get_logger()


class ChangeFeed:
    """Looks for news, until it is cancelled."""

    def __init__(
        self,
        store: FeedStore,
        registry: Registry,
        forget: Callable[[str], None],
        interval: float = INTERVAL,
    ) -> None:
        """Bring news to a registry; `forget` is told of labels of which no memory holds."""
        self._store = store
        self._registry = registry
        self._forget = forget
        self._interval = interval
        self._fails = False
        self._looking = asyncio.Lock()
        # Its own: no thread that waits for something else keeps it from looking.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ibi-following")

    async def run(self) -> None:
        """Follow."""
        try:
            while True:
                await asyncio.sleep(self._interval)
                await self.catch_up()
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def catch_up(self) -> None:
        """Bring all news that there are; without the database, go on with what is known."""
        try:
            await self.look()
        except IbiError as failure:
            # Once: everybody goes on with what is in memory, and that may be for long.
            if not self._fails:
                _LOG.warning("news cannot be read", error=str(failure))
            self._fails = True
        except Exception:  # noqa: BLE001  # whatever it is, others have to be followed
            _LOG.exception("news were not followed")
        else:
            self._fails = False

    async def look(self) -> None:
        """Bring all news that there are; StorageError if they cannot be read."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        registry = self._registry
        registry.end_disputes()
        while (news := await self._news()) is not None:
            if not news or news[0].number != registry.followed + 1:
                await self._begin_anew()
                return
            await registry.follow({each.archive for each in news if each.archive})
            for each in news:
                if each.label:
                    self._forget(each.label)
            registry.followed = news[-1].number

    async def _news(self) -> list[FeedEntry] | None:
        """Return the next news; None if all are known."""
        newest = await self._read(self._store.newest)
        if newest == self._registry.followed:
            return None
        if newest < self._registry.followed:
            return []
        loop, followed = asyncio.get_running_loop(), self._registry.followed
        return await loop.run_in_executor(self._thread, self._store.news, followed, PAGE)

    async def _begin_anew(self) -> None:
        _LOG.warning("news are missing: all is read anew", after=self._registry.followed)
        newest = await self._read(self._store.newest)
        await self._registry.begin_anew()
        self._registry.followed = newest

    async def _read(self, read: Callable[[], int]) -> int:
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)
