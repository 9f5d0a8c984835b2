"""Where items are, as far as the archives that publish a digest say.

A resolver that knows who holds an item asks them first. What stands here is a hint: it may be old,
and an archive may lie. So nobody is told that an item is nowhere for what stands here, and an
archive whose digest is not here, or was not confirmed for long, is asked as if there were none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.identifier.fingerprint import fingerprint
from ibi.identifier.label import Label
from ibi.model.clock import Clock
from ibi.resolver.ports.store import DigestProgress, LocationStore

SECOND: Final = 1_000_000_000
BOUND: Final = 7200 * SECOND
"""After which a digest that was not confirmed counts no more: twice the longest that one waits."""
MOMENT: Final = 0.5
"""Seconds that a reader waits for the store."""
REST: Final = 1.0
"""Seconds for which a store that failed is not asked."""
THREADS: Final = 4

_LOG: Final = structlog.get_logger()


class Locations:
    """The archives that hold an item, by their digests; of one event loop."""

    def __init__(
        self,
        store: LocationStore,
        clock: Clock,
        *,
        quick: bool,
        on_change: Callable[[int, float], None] | None = None,
    ) -> None:
        """Look in a store; `quick` says that it can be read in the thread of the loop.

        `on_change` takes each fingerprint that a digest has news of, and the loop's time.
        """
        self._on_change = on_change
        self._store = store
        self._clock = clock
        self._quick = quick
        self._digests: dict[str, DigestProgress] = {}
        self._archives: dict[int, str] = {}
        """By the numbers of their digests."""
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ibi-locations")
        self._rests_until = 0.0

    def publishes(self, archive: str) -> bool:
        """Return whether the whole digest of an archive is here, and is not old."""
        digest = self._digests.get(archive)
        if digest is None or not digest.whole:
            return False
        return self._clock.wall() - digest.confirmed <= BOUND

    async def holders(self, label: Label) -> frozenset[str] | None:
        """Return the archives whose digests have an item; None if that cannot be read.

        Readers are not to blame if the store is down or slow: they wait for a moment, and then for
        none until a while has passed.
        """
        wanted = fingerprint(label.canonical)
        loop = asyncio.get_running_loop()
        try:
            if self._quick:
                return self._named(self._store.holders(wanted))
            if loop.time() < self._rests_until:
                return None
            reading = loop.run_in_executor(self._threads, self._store.holders, wanted)
            return self._named(await asyncio.wait_for(reading, MOMENT))
        except (IbiError, TimeoutError) as failure:
            self._rests_until = loop.time() + REST
            _LOG.warning("locations cannot be read", error=str(failure) or "it takes too long")
            return None

    def _named(self, numbers: Iterable[int]) -> frozenset[str]:
        """Name archives; a number that stands for none belonged to a digest that is forgotten."""
        return frozenset(self._archives[number] for number in numbers if number in self._archives)

    def digest(self, archive: str) -> DigestProgress | None:
        """Return how much of an archive's digest is here."""
        return self._digests.get(archive)

    def digests(self) -> tuple[DigestProgress, ...]:
        """Return how much is here of all."""
        return tuple(self._digests.values())

    @property
    def whole(self) -> int:
        """How many digests are here as a whole."""
        return sum(digest.whole for digest in self._digests.values())

    @property
    def names(self) -> int:
        """How many fingerprints are here."""
        return sum(digest.count for digest in self._digests.values())

    @property
    def age(self) -> float:
        """Seconds since the digest was confirmed that was not for longest."""
        confirmed = (digest.confirmed for digest in self._digests.values() if digest.whole)
        now = self._clock.wall()
        return (now - min(confirmed, default=now)) / SECOND

    def take(self, digests: Iterable[DigestProgress]) -> None:
        """Know these digests, and no others."""
        self._digests = {digest.archive: digest for digest in digests}
        self._archives = {digest.number: archive for archive, digest in self._digests.items()}

    def learn(self, digest: DigestProgress) -> None:
        """Know one digest as it is by now."""
        self.forget(digest.archive)
        self._digests[digest.archive] = digest
        self._archives[digest.number] = digest.archive

    def forget(self, archive: str) -> None:
        """Know the digest of an archive no more."""
        before = self._digests.pop(archive, None)
        if before is not None:
            self._archives.pop(before.number, None)

    def tell(self, fingerprints: Iterable[int]) -> None:
        """Tell of fingerprints that a digest has news of."""
        if self._on_change is None:
            return
        now = asyncio.get_running_loop().time()
        for each in fingerprints:
            self._on_change(each, now)

    def close(self) -> None:
        """Read no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
