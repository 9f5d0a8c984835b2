"""Reads on in the logs of archives, so that what is known of their items lasts.

Each archive of which many answers last is asked every few seconds what has changed. An archive
that does not answer, or whose log began anew, lets its leases run out: then its readers' questions
are asked of it again, as those of archives without a log always are.
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

MOST: Final = 512
"""Archives whose logs are read: of the others, answers are hot and do not last."""
PARTS: Final = 3
"""A log is read so many times in the time that a reading holds."""
LONGEST: Final = 3600.0
"""Seconds that an answer lasts, whatever the log says."""
MAX_PAGES: Final = 4
"""Read at a time: who has more to say is behind for now."""
SLICE: Final = 2048
"""Fingerprints that are forgotten at a time, while readers wait."""
_MOST_WANTED: Final = 10_000

_LOG: Final = structlog.get_logger()


class DigestIndex(Protocol):
    """How far the digests of archives are known."""

    def publishes(self, archive: str) -> bool:
        """Return whether the whole digest of an archive is here."""
        ...

    def digest(self, archive: str) -> DigestProgress | None:
        """Return how much of it is here."""
        ...


class LogFollower:
    """Reads the logs of some archives; of one event loop."""

    def __init__(  # noqa: PLR0913  # where it reads, and whom it tells
        self,
        client: ArchiveClient,
        archives: ArchiveLookup,
        digests: DigestIndex,
        forget: Callable[[int, float], None],
        *,
        seconds: float,
        longest: float = LONGEST,
    ) -> None:
        """Read nothing yet; `forget` is told of fingerprints that stand in a log, and when.

        Answers hold for `seconds` after each reading, and for no longer than `longest`.
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
        """How often an archive whose log is not read was asked."""
        self.readings = 0

    def __len__(self) -> int:
        """Return how many logs are read."""
        return len(self._read)

    def lease(self, archive: str, asked: float, now: float) -> Lease | None:
        """Return the lease of an answer; None if it does not last, which later ones may."""
        if not self._seconds or not self._digests.publishes(archive):
            return None
        leases = self._read.get(archive)
        if leases is not None:
            return leases.lease(asked, now)
        if self._has_room(archive):
            self._begin(archive, now)
        return None

    def _has_room(self, archive: str) -> bool:
        """Make room for an archive of which more was asked than of one that has it."""
        if len(self._read) < MOST:
            return True
        if len(self._wanted) >= _MOST_WANTED:
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
        self._tasks[archive] = asyncio.create_task(self._stay(archive), name="ibi-vigil")

    def _end(self, archive: str) -> None:
        self._read.pop(archive).end()
        self._tasks.pop(archive).cancel()

    def release(self) -> None:
        """End all leases that were given."""
        for leases in self._read.values():
            leases.release()

    async def close(self) -> None:
        """Read no more, and let nothing last."""
        tasks = list(self._tasks.values())
        for archive in list(self._read):
            self._end(archive)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _stay(self, name: str) -> None:
        """Read on in the log of an archive, for as long as answers of it last."""
        leases = self._read[name]
        loop = asyncio.get_running_loop()
        pause = self._seconds / PARTS
        while self._digests.publishes(name):
            began = loop.time()
            try:
                if not await self._read_on(name, leases):
                    break
            except Exception:  # noqa: BLE001  # whatever one archive does, it is asked again
                _LOG.exception("a log could not be read")
            if leases.is_idle(began):
                break
            await asyncio.sleep(began + pause - loop.time())
        leases.end()
        await asyncio.sleep(pause)  # or it would be asked again at once
        del self._read[name], self._tasks[name]

    async def _read_on(self, name: str, leases: ArchiveLeases) -> bool:
        """Read what is new in a log; False if it does not go on where it was read before."""
        for _ in range(MAX_PAGES):
            archive = self._archives.find(name)
            if archive is None or not archive.address:
                return False
            began = asyncio.get_running_loop().time()
            page = await self._client.digest(
                archive, leases.epoch, leases.last, self._seconds / PARTS
            )
            if not isinstance(page, DigestPage):
                return page is not None
            self.readings += 1
            if leases.follows(page):
                await self._forget_all((*page.held, *page.dropped))
            if not leases.advance(page, began):
                return False
            if not page.more:
                break
        return True

    async def _forget_all(self, prints: tuple[int, ...]) -> None:
        for start in range(0, len(prints), SLICE):
            now = asyncio.get_running_loop().time()
            for print_ in prints[start : start + SLICE]:
                self._forget(print_, now)
            await asyncio.sleep(0)
