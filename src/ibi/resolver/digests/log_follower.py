"""Follows the logs of archives, so that cached redirects to them last.

Each archive with many cached redirects is asked every few seconds what has changed. If an archive
does not answer, or its log begins anew, its leases end: then it is asked for every reader again,
like archives without a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from ibi.resolver.ports.outbound import ArchiveClient
from ibi.resolver.ports.store import ArchiveLookup, DigestProgress
from ibi.resolver.rules.redirect_lease import ArchiveLeases, Lease
from ibi.wire.digest import DigestPage

MAX_LOGS: Final = 512
"""Archives whose logs are read: redirects to the others are cached for a short time only."""
READS_PER_LEASE: Final = 3
"""How often a log is read in the time for which one read extends the leases."""
MAX_LEASE_SECONDS: Final = 3600.0
"""Seconds for which a redirect lasts at most, without changes in the log."""
MAX_PAGES: Final = 4
"""Pages that are read at a time: an archive with more pages is behind for now."""
FORGET_BATCH: Final = 2048
"""Fingerprints that are dropped before other tasks of the event loop run."""
_MAX_WANTED: Final = 10_000
"""Archives in memory whose logs are not read, with their number of questions."""

_LOG: Final = structlog.get_logger()


class DigestIndex(Protocol):
    """How much of the digests of archives is stored."""

    def publishes(self, archive: str) -> bool:
        """Return whether the whole digest of an archive is stored."""
        ...

    def digest(self, archive: str) -> DigestProgress | None:
        """Return how much of the digest of an archive is stored."""
        ...


class LogFollower:
    """Follows the logs of some archives; for one event loop."""

    def __init__(  # noqa: PLR0913  # its collaborators
        self,
        client: ArchiveClient,
        archives: ArchiveLookup,
        digests: DigestIndex,
        forget: Callable[[int, float], None],
        *,
        seconds: float,
        longest: float = MAX_LEASE_SECONDS,
    ) -> None:
        """Follow no log yet; `forget` is called with each changed fingerprint, and the time.

        Redirects are valid for `seconds` after each read, and for no longer than `longest`.
        """
        self._client = client
        self._archives = archives
        self._digests = digests
        self._forget = forget
        self._seconds = seconds
        self._longest = longest
        self._read: dict[str, ArchiveLeases] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._wanted: dict[str, int] = {}
        """How often archives were asked whose logs are not read."""

    def __len__(self) -> int:
        """Return how many logs are read."""
        return len(self._read)

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Return the lease of an answer; None if it does not last."""
        if not self._seconds or not self._digests.publishes(archive):
            return None
        leases = self._read.get(archive)
        if leases is not None:
            return leases.lease(asked, now)
        if self._has_room(archive):
            self._begin(archive, now)
        return None

    def _has_room(self, archive: str) -> bool:
        """Make room for an archive that was asked more often than one whose log is read."""
        if len(self._read) < MAX_LOGS:
            return True
        if len(self._wanted) >= _MAX_WANTED:
            self._wanted.clear()
        wanted = self._wanted[archive] = self._wanted.get(archive, 0) + 1
        least = min(self._read, key=lambda name: self._read[name].answers)
        if wanted <= self._read[least].answers:
            return False
        del self._wanted[archive]
        self._end(least)
        return True

    def _begin(self, archive: str, now: float) -> None:
        digest = self._digests.digest(archive)
        if digest is None:
            return
        self._read[archive] = ArchiveLeases(
            digest.epoch, digest.last, now, seconds=self._seconds, longest=self._longest
        )
        self._tasks[archive] = asyncio.create_task(self._follow(archive), name="ibi-log-follower")

    def _end(self, archive: str) -> None:
        self._read.pop(archive).end()
        self._tasks.pop(archive).cancel()

    def release(self) -> None:
        """End all leases that were given."""
        for leases in self._read.values():
            leases.release()

    async def close(self) -> None:
        """Stop following logs, and end all leases."""
        tasks = list(self._tasks.values())
        for archive in list(self._read):
            self._end(archive)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, name: str) -> None:
        """Follow the log of an archive, while redirects to it are cached."""
        leases = self._read[name]
        loop = asyncio.get_running_loop()
        pause = self._seconds / READS_PER_LEASE
        while self._digests.publishes(name):
            began = loop.time()
            try:
                if not await self._read_on(name, leases):
                    break
            except Exception:  # noqa: BLE001  # after any failure it is asked again
                _LOG.exception("a log could not be read")
            if leases.is_idle(began):
                break
            await asyncio.sleep(began + pause - loop.time())
        leases.end()
        await asyncio.sleep(pause)  # or it would be followed again at once
        del self._read[name], self._tasks[name]

    async def _read_on(self, name: str, leases: ArchiveLeases) -> bool:
        """Read the new pages of a log; return False if it does not continue the last one."""
        for _ in range(MAX_PAGES):
            archive = self._archives.find(name)
            if archive is None or not archive.address:
                return False
            began = asyncio.get_running_loop().time()
            page = await self._client.digest(
                archive, leases.epoch, leases.last, self._seconds / READS_PER_LEASE
            )
            if not isinstance(page, DigestPage):
                return page is not None
            if leases.follows(page):
                await self._forget_all((*page.held, *page.dropped))
            if not leases.advance(page, began):
                return False
            if not page.more:
                break
        return True

    async def _forget_all(self, prints: tuple[int, ...]) -> None:
        for start in range(0, len(prints), FORGET_BATCH):
            now = asyncio.get_running_loop().time()
            for print_ in prints[start : start + FORGET_BATCH]:
                self._forget(print_, now)
            await asyncio.sleep(0)
