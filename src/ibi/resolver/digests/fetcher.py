"""Fetches the digests of archives, in the background: a page of each in turn, the new ones first.

Nobody waits for it, and nothing depends on it: an archive whose digest is not here is asked as if
it had none. So there is time, and each archive gets as little of it as any other: one page, then
the next archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.model.clock import Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.digests.locations import SECOND, Locations
from ibi.resolver.ports.outbound import ArchiveClient, NoReply
from ibi.resolver.ports.store import DigestProgress, LocationStore
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.acknowledgment import is_ours
from ibi.resolver.rules.digest_paging import (
    MAX_PAGES,
    FetchTurn,
    PageMeaning,
    after_failure,
    after_page,
    after_refusal,
    meaning,
)
from ibi.wire.digest import DigestPage

PATIENCE: Final = 10.0
"""Seconds that an archive has for a page."""
TICK: Final = 0.5
"""Seconds between two looks at who is due."""
REFRESH: Final = 10.0
"""Seconds after which who does not fetch looks at what another process has fetched."""
CONFIRMED: Final = 900 * SECOND
"""After which it is written down again that a digest is as it was."""
MOST_AT_ONCE: Final = 8
MOST_NAMES: Final = 50_000_000
"""Fingerprints that one archive may list."""
_TOLD: Final = 2048
"""News that are told in one go."""

_LOG: Final = structlog.get_logger()


class DigestFetcher:
    """Fetches digests until it is cancelled; of one event loop."""

    def __init__(  # noqa: PLR0913  # what it works with
        self,
        registry: Registry,
        client: ArchiveClient,
        store: LocationStore,
        locations: Locations,
        clock: Clock,
        *,
        seconds: float = 60.0,
        most_names: int = MOST_NAMES,
        on_duty: Callable[[], bool] = lambda: True,
        tick: float = TICK,
    ) -> None:
        """Ask archives that change every so many seconds; of many processes who is on duty."""
        self._registry = registry
        self._client = client
        self._store = store
        self._locations = locations
        self._clock = clock
        self._seconds = seconds
        self._most_names = most_names
        self._on_duty = on_duty
        self._tick = tick
        self._turns: dict[str, FetchTurn] = {}
        self._line: list[tuple[float, str]] = []
        self._seen = -1
        """The version of the registry whose archives stand in line."""
        self._written: dict[str, int] = {}
        """When it was last written down that a digest is as it was."""
        self._fetching: set[asyncio.Task[None]] = set()
        self._sweeping = 0
        self._was_on_duty = False
        self._refreshed = 0.0

    async def run(self) -> None:
        """Fetch."""
        try:
            while True:
                try:
                    await self._look()
                except IbiError as failure:
                    _LOG.warning("digests cannot be kept", error=str(failure))
                except Exception:  # noqa: BLE001  # whatever it is, digests have to be fetched
                    _LOG.exception("the digests failed")
                await asyncio.sleep(self._tick)
        finally:
            for task in self._fetching:
                task.cancel()
            await asyncio.gather(*self._fetching, return_exceptions=True)

    async def _look(self) -> None:
        """Begin to fetch from whoever is due, if that is our duty; else look what others did."""
        now = asyncio.get_running_loop().time()
        is_on_duty = self._on_duty()
        if is_on_duty and self._was_on_duty:
            await self._line_up(now)
            self._begin_due(now)
            await self._sweep()
        elif is_on_duty != self._was_on_duty or now >= self._refreshed:
            self._locations.take(await asyncio.to_thread(self._store.digests))
            self._refreshed = now + REFRESH
            self._was_on_duty = is_on_duty

    async def _line_up(self, now: float) -> None:
        """Let everybody stand in line who may be asked, and forget who is gone."""
        if self._seen == self._registry.version:
            return
        self._seen = self._registry.version
        ours = [each for each in self._registry.included() if is_ours(each)]
        for archive in ours:
            if archive.id not in self._turns:
                self._wait(archive.id, self._first_turn(archive.id, now))
        for digest in self._locations.digests():
            if self._registry.find(digest.archive) is None:
                await self._drop(digest.archive)
        for gone in self._turns.keys() - {each.id for each in ours}:
            del self._turns[gone]

    def _first_turn(self, archive: str, now: float) -> FetchTurn:
        """Return the turn of an archive: at once if little or nothing of its digest is here."""
        return FetchTurn(now) if self._locations.publishes(archive) else FetchTurn()

    def _wait(self, archive: str, turn: FetchTurn) -> None:
        self._turns[archive] = turn
        heappush(self._line, (turn.due, archive))

    def _begin_due(self, now: float) -> None:
        while self._line and self._line[0][0] <= now and len(self._fetching) < MOST_AT_ONCE:
            due, name = heappop(self._line)
            turn, archive = self._turns.get(name), self._registry.find(name)
            if turn is None or turn.due != due:
                continue  # it left the line, or stands in another place
            if archive is None or not self._registry.is_asked(name):
                self._wait(name, replace(turn, due=now + self._seconds))
                continue
            self._turns[name] = replace(turn, due=-1.0)
            task = asyncio.create_task(self._fetch(archive, turn), name="ibi-digest")
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)

    async def _fetch(self, archive: RegisteredArchive, turn: FetchTurn) -> None:
        """Fetch a page, and let the archive stand in line again."""
        now = asyncio.get_running_loop().time
        next_ = after_failure(turn, now(), self._seconds)
        try:
            next_ = await self._turn_after(archive, turn)
        except IbiError as failure:
            _LOG.warning("a digest cannot be kept", archive=archive.id, error=str(failure))
            self._was_on_duty = False  # what is kept is read anew
        finally:
            if archive.id in self._turns:
                self._wait(archive.id, next_)

    async def _turn_after(self, archive: RegisteredArchive, turn: FetchTurn) -> FetchTurn:
        now = asyncio.get_running_loop().time
        digest = self._locations.digest(archive.id)
        epoch, after = (digest.epoch, digest.last) if digest is not None else ("", 0)
        page = await self._client.digest(archive, epoch, after, PATIENCE)
        if isinstance(page, NoReply):
            if not page.asked:
                return replace(turn, due=now() + self._seconds)
            return after_failure(turn, now(), self._seconds)
        if page is None:
            await self._drop(archive.id)
            return after_refusal(now())
        return await self._take_in(archive.id, digest, page, turn)

    async def _take_in(
        self, archive: str, digest: DigestProgress | None, page: DigestPage, turn: FetchTurn
    ) -> FetchTurn:
        now = asyncio.get_running_loop().time
        means = meaning(digest, page)
        if means is PageMeaning.NONSENSE:
            return await self._refuse(archive)
        if digest is None or means is PageMeaning.ANEW:
            digest = await self._begin(archive)
            if digest is None:
                return after_failure(turn, now(), self._seconds)
        count = await self._keep(digest, page)
        if count > self._most_names or turn.pages > MAX_PAGES:
            return await self._refuse(archive)
        return after_page(turn, page, now(), self._seconds, anew=means is PageMeaning.ANEW)

    async def _refuse(self, archive: str) -> FetchTurn:
        _LOG.warning("a digest makes no sense, or has no end", archive=archive)
        await self._drop(archive)
        return after_refusal(asyncio.get_running_loop().time())

    async def _begin(self, archive: str) -> DigestProgress | None:
        """Begin a digest anew; None while as much as one may list waits to be swept away."""
        digest = await asyncio.to_thread(self._store.begin_digest, archive, self._most_names)
        if digest is None:
            _LOG.warning("a digest has to wait until others are swept away", archive=archive)
            self._written.pop(archive, None)
            self._locations.forget(archive)
        else:
            self._locations.learn(digest)
        return digest

    async def _keep(self, digest: DigestProgress, page: DigestPage) -> int:
        """Keep a page, and tell of its news; return how many fingerprints there are."""
        at = self._clock.wall()
        if self._is_as_written(digest, page, at):
            self._locations.learn(replace(digest, confirmed=at))
            return digest.count
        kept = await asyncio.to_thread(self._store.keep_page, digest, page, at)
        if kept is None:
            self._locations.take(await asyncio.to_thread(self._store.digests))
            return 0
        self._written[digest.archive] = at
        self._locations.learn(kept)
        await self._tell((*page.held, *page.dropped))
        return kept.count

    def _is_as_written(self, digest: DigestProgress, page: DigestPage, at: int) -> bool:
        """Return whether a page says nothing that is not written down, or not for long."""
        is_same = digest.whole and page.last == digest.last
        return is_same and at - self._written.get(digest.archive, 0) < CONFIRMED

    async def _tell(self, news: tuple[int, ...]) -> None:
        for start in range(0, len(news), _TOLD):
            self._locations.tell(news[start : start + _TOLD])
            await asyncio.sleep(0)

    async def _drop(self, archive: str) -> None:
        self._written.pop(archive, None)
        if self._locations.digest(archive) is not None:
            self._locations.forget(archive)
            await asyncio.to_thread(self._store.drop_digest, archive)

    async def _sweep(self) -> None:
        """Sweep away a little of what is forgotten."""
        self._sweeping = await asyncio.to_thread(self._store.sweep_digests, self._sweeping)
