"""The owners of items, learned in every search, and stored shortly after.

No reader waits for the write. Owners that a crash loses are learned again in the next search.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.resolver.ports.store import Owner, OwnerStore

FLUSH_SECONDS: Final = 0.5
"""Seconds between two writes of learned owners."""
READ_TIMEOUT_SECONDS: Final = 0.5
"""Seconds that a reader waits for the store."""
RETRY_SECONDS: Final = 1.0
"""Seconds for which a store that failed is not asked."""
THREADS: Final = 4
"""Threads that read the store, if it is not quick."""
MAX_LEARNED: Final = 100_000
"""Owners that are learned and not stored yet; more are dropped while the store fails."""

_LOG: Final = structlog.get_logger()


class Owners:
    """The recorded owners; for one event loop."""

    def __init__(self, store: OwnerStore, *, quick: bool) -> None:
        """Store owners; `quick` if the store can be read in the thread of the event loop."""
        self._store = store
        self._quick = quick
        self._learned: dict[str, Owner] = {}
        self._settled: set[str] = set()
        """Labels whose owner was settled since the start."""
        # Threads of its own, so that a store that hangs blocks no other work.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ibi-owners")
        self._rests_until = 0.0
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to store learned owners."""
        self._task = asyncio.create_task(self._keep(), name="ibi-owners")

    async def close(self) -> None:
        """Store the remaining owners, and stop."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._flush()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def owner(self, label: str) -> tuple[Owner | None, bool]:
        """Return the owner of an item by its canonical label, and whether that could be read.

        Without the owner, a false claim cannot be recognized. But if the store is down or slow, a
        reader waits for READ_TIMEOUT_SECONDS, and the next readers do not wait at all for
        RETRY_SECONDS.
        """
        loop = asyncio.get_running_loop()
        try:
            if self._quick:
                return self._newer(label, self._store.owner(label)), True
            if loop.time() < self._rests_until:
                return self._unread(label)
            reading = loop.run_in_executor(self._threads, self._store.owner, label)
            return self._newer(label, await asyncio.wait_for(reading, READ_TIMEOUT_SECONDS)), True
        except (IbiError, TimeoutError) as failure:
            self._rests_until = loop.time() + RETRY_SECONDS
            _LOG.warning("owners cannot be read", error=str(failure) or "it takes too long")
            return self._unread(label)

    def _newer(self, label: str, kept: Owner | None) -> Owner | None:
        """Return the owner learned last; a settled one, by any process, takes precedence."""
        learned = self._learned.get(label)
        is_settled = kept is not None and kept.settled
        return kept if learned is None or (is_settled and not learned.settled) else learned

    def _unread(self, label: str) -> tuple[Owner | None, bool]:
        learned = self._learned.get(label)
        return learned, learned is not None

    def learn(self, label: str, owner: Owner) -> None:
        """Record an owner; a settled one is replaced only by another settled one."""
        if owner.settled:
            self._settled.add(label)
        elif label in self._settled:
            return  # learned in a search that began before
        if len(self._learned) < MAX_LEARNED:
            self._learned[label] = owner

    async def keep(self) -> None:
        """Store the learned owners now; a failure of the store is logged."""
        await self._flush()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self._flush()

    async def _flush(self) -> None:
        learned = dict(self._learned)
        if not learned:
            return
        try:
            await asyncio.to_thread(self._store.keep_owners, list(learned.items()))
        except IbiError as failure:
            _LOG.warning("owners cannot be stored", error=str(failure))
            return
        for label, owner in learned.items():
            if self._learned.get(label) is owner:
                del self._learned[label]
