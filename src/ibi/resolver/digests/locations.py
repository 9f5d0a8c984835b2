"""Which archives hold an item, by the digests that archives publish.

A resolver asks the archives first that hold an item. A digest is a hint: it may be old, and an
archive may publish anything. So a reader is never told on this ground that an item does not exist,
and an archive whose digest is not stored, or was not confirmed for long, is asked as if it had
none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.identifier.label import Label
from ibi.model.clock import SECOND, Clock
from ibi.resolver.ports.store import DigestProgress, LocationStore
from ibi.wire.digest import fingerprint

MAX_AGE: Final = 7200 * SECOND
"""Nanoseconds after which a digest that was not confirmed is ignored: twice the longest interval
between two fetches."""
READ_TIMEOUT_SECONDS: Final = 0.5
"""Seconds that a reader waits for the store."""
RETRY_SECONDS: Final = 1.0
"""Seconds for which a store that failed is not asked."""
THREADS: Final = 4
"""Threads that read the store, if it is not quick."""

_LOG: Final = structlog.get_logger()


class Locations:
    """The archives that hold an item, by their digests; for one event loop."""

    def __init__(
        self,
        store: LocationStore,
        clock: Clock,
        *,
        quick: bool,
        on_change: Callable[[int, float], None] | None = None,
    ) -> None:
        """Read from a store; `quick` if it can be read in the thread of the event loop.

        `on_change` is called with each fingerprint that changed in a digest, and the loop's time.
        """
        self._on_change = on_change
        self._store = store
        self._clock = clock
        self._quick = quick
        self._digests: dict[str, DigestProgress] = {}
        self._archives: dict[int, str] = {}
        """Archives by the numbers of their digests."""
        self._pins: dict[str, int] = {}
        """The numbers of the digests that stand for answers by the word of another process."""
        self._pinned: dict[int, str] = {}
        """Archives by these numbers."""
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ibi-locations")
        self._rests_until = 0.0

    def publishes(self, archive: str) -> bool:
        """Return whether the whole digest of an archive is stored, and is not old."""
        digest = self._digests.get(archive)
        if digest is None:
            return archive in self._pins
        if not digest.whole:
            return False
        return self._clock.wall() - digest.confirmed <= MAX_AGE

    async def holders(self, label: Label) -> frozenset[str] | None:
        """Return the archives whose digests have an item; None if that cannot be read.

        If the store is down or slow, a reader waits for READ_TIMEOUT_SECONDS, and the next readers
        do not wait at all for RETRY_SECONDS.
        """
        wanted = fingerprint(label.canonical)
        loop = asyncio.get_running_loop()
        try:
            if self._quick:
                return self._named(self._store.holders(wanted))
            if loop.time() < self._rests_until:
                return None
            reading = loop.run_in_executor(self._threads, self._store.holders, wanted)
            return self._named(await asyncio.wait_for(reading, READ_TIMEOUT_SECONDS))
        except (IbiError, TimeoutError) as failure:
            self._rests_until = loop.time() + RETRY_SECONDS
            _LOG.warning("locations cannot be read", error=str(failure) or "it takes too long")
            return None

    async def listed(self, fingerprints: Sequence[int]) -> frozenset[int]:
        """Return which of the fingerprints are in a digest; none if that cannot be read in time."""
        loop = asyncio.get_running_loop()
        if not fingerprints or loop.time() < self._rests_until:
            return frozenset()
        reading = loop.run_in_executor(self._threads, self._store.holders_of_each, fingerprints)
        try:
            found = await asyncio.wait_for(reading, READ_TIMEOUT_SECONDS)
        except (IbiError, TimeoutError):
            return frozenset()
        return frozenset(each for each, number in found if self._named([number]))

    def _named(self, numbers: Iterable[int]) -> frozenset[str]:
        """Return the ids of archives; an unknown number belonged to a digest that was dropped."""
        names = (self._archives.get(number) or self._pinned.get(number) for number in numbers)
        return frozenset(name for name in names if name is not None)

    def digest(self, archive: str) -> DigestProgress | None:
        """Return how much of an archive's digest is stored."""
        return self._digests.get(archive)

    def digest_read(self, archive: str) -> int:
        """Return when an archive's digest was last read to its end, in POSIX seconds; or 0."""
        digest = self._digests.get(archive)
        return digest.confirmed // SECOND if digest is not None and digest.whole else 0

    def count(self, archive: str) -> int:
        """Return how many names the digest of an archive lists; 0 if there is none."""
        digest = self._digests.get(archive)
        return 0 if digest is None else digest.count

    def digests(self) -> tuple[DigestProgress, ...]:
        """Return how much of each digest is stored."""
        return tuple(self._digests.values())

    @property
    def whole(self) -> int:
        """The number of digests that are complete."""
        return sum(digest.whole for digest in self._digests.values())

    @property
    def names(self) -> int:
        """The number of fingerprints."""
        return sum(digest.count for digest in self._digests.values())

    @property
    def age(self) -> float:
        """Seconds since the last confirmation of the digest that was confirmed longest ago."""
        confirmed = (digest.confirmed for digest in self._digests.values() if digest.whole)
        now = self._clock.wall()
        return (now - min(confirmed, default=now)) / SECOND

    def replace_all(self, digests: Iterable[DigestProgress]) -> None:
        """Replace all digests by these."""
        self._digests = {digest.archive: digest for digest in digests}
        self._archives = {digest.number: archive for archive, digest in self._digests.items()}

    def put(self, digest: DigestProgress) -> None:
        """Store the current progress of one digest."""
        self.forget(digest.archive)
        self._digests[digest.archive] = digest
        self._archives[digest.number] = digest.archive

    def forget(self, archive: str) -> None:
        """Remove the digest of an archive."""
        before = self._digests.pop(archive, None)
        if before is not None:
            self._archives.pop(before.number, None)

    def pin(self, archive: str, number: int) -> None:
        """Know the number of a digest that stands for answers, whatever `replace_all` says.

        0 if none does.
        """
        self._pinned.pop(self._pins.pop(archive, 0), None)
        if number:
            self._pins[archive] = number
            self._pinned[number] = archive

    def unpin_all(self) -> None:
        """Forget all numbers that `pin` was called with."""
        self._pins.clear()
        self._pinned.clear()

    def notify(self, fingerprints: Iterable[int]) -> None:
        """Call `on_change` with fingerprints that changed in a digest."""
        if self._on_change is None:
            return
        now = asyncio.get_running_loop().time()
        for each in fingerprints:
            self._on_change(each, now)

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
