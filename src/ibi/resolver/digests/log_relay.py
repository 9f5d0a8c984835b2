"""Relays which digests stand for answers, from the process that fetches digests to the others.

The process that fetches digests publishes in the database which archives it follows, and counts its
publications; the others read both. Machines have different clocks, so a reader finds out by its own
how old a published state may be: the process that publishes looks at its state after it has
published the one before. So the state with count N was true later than any read that did not see
N - 1 yet, and is used for `relay_seconds` from the last such read on. If a process is stopped, or
the database is slow, nothing is read in time: then archives are asked.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.resolver.digests.locations import Locations
from ibi.resolver.ports.workers import FollowedLogStore
from ibi.resolver.rules.followed_logs import FollowedLogs

MAX_INTERVAL: Final = 2.0
"""Seconds between two publications, or reads, at most."""
READS_PER_RELAY: Final = 6
"""How often a state is published and read in the time for which it may be used."""
MIN_SECONDS: Final = 1.0
"""Seconds for which a relayed state must be usable: else none is relayed."""

_LOG: Final = structlog.get_logger()


class LogRelay:
    """Publishes which logs this process follows, or reads what another one published."""

    def __init__(
        self,
        store: FollowedLogStore,
        followed: FollowedLogs,
        locations: Locations,
        publisher: Callable[[], str],
        catch_up: Callable[[], Awaitable[None]],
    ) -> None:
        """Relay by a store what is followed here.

        `publisher` returns the name of this process, or "" while there is no other. `catch_up`
        applies all notifications that other processes received, or raises StorageError.
        """
        self._store = store
        self._followed = followed
        self._locations = locations
        self._publisher = publisher
        self._catch_up = catch_up
        self._is_begun = False
        """Whether a whole state was published since this process follows logs."""
        self._pending: set[str] = set()
        self._seen = -1
        self._reads: deque[tuple[int, float]] = deque()
        """Counts that were read, each with the time at which its last read began."""
        self._fails = False

    async def run(self) -> None:
        """Publish or read until cancelled."""
        seconds = self._followed.relay_seconds
        while seconds >= MIN_SECONDS:
            await asyncio.sleep(min(seconds / READS_PER_RELAY, MAX_INTERVAL))
            try:
                await self.relay()
            except IbiError as failure:
                if not self._fails:
                    _LOG.warning("followed logs cannot be relayed", error=str(failure))
                self._fails = True
            except Exception:  # noqa: BLE001  # logs have to be relayed after any failure
                _LOG.exception("followed logs were not relayed")
            else:
                self._fails = False

    async def relay(self) -> None:
        """Publish what this process follows, or read what another one does."""
        if self._followed.is_relayed:
            self._is_begun = False
            await self._read()
            return
        self._forget()
        publisher = self._publisher()
        if publisher:
            await self._publish(publisher)

    async def _publish(self, publisher: str) -> None:
        await self._catch_up()
        names = self._followed.names(asyncio.get_running_loop().time())
        self._pending |= self._followed.take_unpublished()
        if not self._is_begun:
            self._pending.update(names)
        digests = {name: self._number(name) if name in names else 0 for name in self._pending}
        is_anew = not self._is_begun
        if await asyncio.to_thread(self._store.publish, publisher, digests, anew=is_anew):
            self._is_begun = True
            self._pending -= digests.keys()

    def _number(self, archive: str) -> int:
        digest = self._locations.digest(archive)
        return 0 if digest is None else digest.number

    async def _read(self) -> None:
        began = asyncio.get_running_loop().time()
        count, digests = await asyncio.to_thread(self._store.published, self._seen)
        if not self._followed.is_relayed:
            return
        if count < self._seen:  # the database was set back
            self._followed.begin(is_relayed=True)
            self._forget()
            return
        for archive, number in digests:
            self._locations.pin(archive, number)
            self._followed.note_relayed(archive, is_followed=bool(number))
        self._seen = count
        self._extend(count, began)

    def _extend(self, count: int, began: float) -> None:
        """Use the state with a count for as long as a read permits that saw neither of the last."""
        reads = self._reads
        if reads and reads[-1][0] == count:
            reads.pop()
        reads.append((count, began))
        while len(reads) > 1 and reads[1][0] <= count - 2:
            reads.popleft()
        before, at = reads[0]
        if before <= count - 2:
            self._followed.extend(at + self._followed.relay_seconds)

    def _forget(self) -> None:
        """Forget what was read."""
        self._locations.unpin_all()
        self._reads.clear()
        self._seen = -1
