"""Who has which Original, as far as was seen: learned at every search, kept a moment later.

No reader waits for it to be kept. What a crash loses of it is learned again at the next search.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.resolver.ports.store import Owner, OwnerStore

FLUSH: Final = 0.5
"""Seconds."""
MOMENT: Final = 0.5
"""Seconds that a reader waits for the store."""
REST: Final = 1.0
"""Seconds for which a store that failed is not asked."""
THREADS: Final = 4
MOST: Final = 100_000
"""Learned and not kept; more are forgotten, while the store fails."""

_LOG: Final = structlog.get_logger()


class Owners:
    """The owners on record; of one event loop."""

    def __init__(self, store: OwnerStore, *, quick: bool) -> None:
        """Keep them in a store; `quick` says that it can be read in the thread of the loop."""
        self._store = store
        self._quick = quick
        self._learned: dict[str, Owner] = {}
        self._settled: set[str] = set()
        """Labels whose owner was settled since the start."""
        # Its own: threads that are lost to a store that hangs are nobody else's.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ibi-owners")
        self._rests_until = 0.0
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to keep what is learned."""
        self._task = asyncio.create_task(self._keep(), name="ibi-owners")

    async def close(self) -> None:
        """Keep what is not kept yet."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._flush()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def owner(self, label: str) -> tuple[Owner | None, bool]:
        """Return the owner of an item by its canonical label, and whether that could be read.

        Without it nobody is told from a rogue. But readers are not to blame if the store is down
        or slow: they wait for a moment, and then for none until a while has passed.
        """
        loop = asyncio.get_running_loop()
        try:
            if self._quick:
                return self._newer(label, self._store.owner(label)), True
            if loop.time() < self._rests_until:
                return self._unread(label)
            reading = loop.run_in_executor(self._threads, self._store.owner, label)
            return self._newer(label, await asyncio.wait_for(reading, MOMENT)), True
        except (IbiError, TimeoutError) as failure:
            self._rests_until = loop.time() + REST
            _LOG.warning("owners cannot be read", error=str(failure) or "it takes too long")
            return self._unread(label)

    def _newer(self, label: str, kept: Owner | None) -> Owner | None:
        """Return what was learned last; but whoever was settled, by whichever process, stays."""
        learned = self._learned.get(label)
        is_settled = kept is not None and kept.settled
        return kept if learned is None or (is_settled and not learned.settled) else learned

    def _unread(self, label: str) -> tuple[Owner | None, bool]:
        learned = self._learned.get(label)
        return learned, learned is not None

    def learn(self, label: str, owner: Owner) -> None:
        """Put an owner on record; who was settled is replaced only by another who is."""
        if owner.settled:
            self._settled.add(label)
        elif label in self._settled:
            return  # by a search that began before
        if len(self._learned) < MOST:
            self._learned[label] = owner

    async def keep(self) -> None:
        """Keep what was learned now, as far as the store takes it."""
        await self._flush()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(FLUSH)
            await self._flush()

    async def _flush(self) -> None:
        learned = dict(self._learned)
        if not learned:
            return
        try:
            await asyncio.to_thread(self._store.keep_owners, list(learned.items()))
        except IbiError as failure:
            _LOG.warning("owners cannot be kept", error=str(failure))
            return
        for label, owner in learned.items():
            if self._learned.get(label) is owner:
                del self._learned[label]
