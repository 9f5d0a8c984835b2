"""Follows the changes of other processes: of archives, and of items to drop from caches.

Changes are numbered without a gap. If some are missing, this process was away for longer than
changes are stored, or the database was restored: then everything is read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.resolver.ports.workers import FeedEntry, FeedStore
from ibi.resolver.registry.registry import Registry

INTERVAL: Final = 0.5
"""Seconds between two reads: a change in one process reaches all others after that, and the time
that it takes to read."""
PAGE: Final = 1000
"""Changes that are read at a time."""
_LOG: Final = structlog.get_logger()


class ChangeFeed:
    """Reads changes, until it is cancelled."""

    def __init__(
        self,
        store: FeedStore,
        registry: Registry,
        forget: Callable[[str], None],
        interval: float = INTERVAL,
    ) -> None:
        """Apply changes to a registry; `forget` is called with labels to drop from caches."""
        self._store = store
        self._registry = registry
        self._forget = forget
        self._interval = interval
        self.complete_at = -inf
        """A time of the event loop: every change that was made before it is applied."""
        self._fails = False
        self._looking = asyncio.Lock()
        # A thread of its own, so that other work in threads does not delay it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ibi-following")

    async def run(self) -> None:
        """Follow changes until cancelled."""
        try:
            while True:
                await asyncio.sleep(self._interval)
                await self.catch_up()
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def catch_up(self) -> None:
        """Apply all new changes; if the database fails, log that and continue without."""
        try:
            await self.apply_all()
        except IbiError as failure:
            # Logged once: all processes continue with what is in memory, perhaps for long.
            if not self._fails:
                _LOG.warning("changes cannot be read", error=str(failure))
            self._fails = True
        except Exception:  # noqa: BLE001  # others have to be followed after any failure
            _LOG.exception("changes were not applied")
        else:
            self._fails = False

    async def apply_all(self) -> None:
        """Apply all new changes; raise StorageError if they cannot be read."""
        async with self._looking:
            await self._apply_all()

    async def _apply_all(self) -> None:
        registry, now = self._registry, asyncio.get_running_loop().time
        registry.end_disputes()
        began = now()
        while (news := await self._news()) is not None:
            if not news or news[0].number != registry.followed + 1:
                await self._reload()
                return
            await registry.follow({each.archive for each in news if each.archive})
            for each in news:
                if each.label:
                    self._forget(each.label)
            registry.followed = news[-1].number
            began = now()
        self.complete_at = began

    async def _news(self) -> list[FeedEntry] | None:
        """Return the next changes; None if there are no new ones."""
        newest = await self._read(self._store.newest)
        if newest == self._registry.followed:
            return None
        if newest < self._registry.followed:
            return []
        loop, followed = asyncio.get_running_loop(), self._registry.followed
        return await loop.run_in_executor(self._thread, self._store.news, followed, PAGE)

    async def _reload(self) -> None:
        _LOG.warning(
            "changes are missing: all archives are read again", after=self._registry.followed
        )
        newest = await self._read(self._store.newest)
        await self._registry.reload()
        self._registry.followed = newest

    async def _read(self, read: Callable[[], int]) -> int:
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)
