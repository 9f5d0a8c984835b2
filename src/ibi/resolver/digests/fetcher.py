"""Fetches the digests of archives in the background: one page of each in turn, new ones first.

Nothing waits for it or depends on it: an archive whose digest is not stored is asked as if it had
none. So there is time, and all archives share it equally: one page, then the next archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.model.clock import SECOND, Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.digests.locations import (
    Locations,
)
from ibi.resolver.ports.outbound import ArchiveClient, NoReply
from ibi.resolver.ports.store import DigestProgress, DigestRefusal, LocationStore
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
    without_digest,
)
from ibi.resolver.rules.followed_logs import FollowedLogs
from ibi.wire.digest import DigestPage

TIMEOUT_SECONDS: Final = 10.0
"""Seconds that an archive has for a page."""
TICK: Final = 0.5
"""Seconds between two searches for archives that are due."""
REFRESH: Final = 10.0
"""Seconds after which a process that does not fetch reads what another one has fetched."""
CONFIRM_INTERVAL: Final = 900 * SECOND
"""Nanoseconds after which it is stored again that a digest has not changed."""
MAX_CONCURRENT: Final = 8
"""Archives from which pages are fetched at the same time."""
MAX_NAMES: Final = 50_000_000
"""Fingerprints that one archive may list."""
_NOTIFY_BATCH: Final = 2048
"""Changes that are passed on before other tasks of the event loop run."""

_LOG: Final = structlog.get_logger()


class DigestFetcher:
    """Fetches digests until it is cancelled; for one event loop."""

    def __init__(  # noqa: PLR0913  # its collaborators
        self,
        registry: Registry,
        client: ArchiveClient,
        store: LocationStore,
        locations: Locations,
        clock: Clock,
        *,
        followed: FollowedLogs | None = None,
        seconds: float = 60.0,
        most_names: int = MAX_NAMES,
        on_duty: Callable[[], bool] = lambda: True,
        is_relaying: Callable[[], bool] = lambda: False,
        tick: float = TICK,
    ) -> None:
        """Ask changing archives every `seconds`; of many processes, the one on duty does.

        In `followed` it notes the archives whose digest stands for an answer. `is_relaying` returns
        whether other processes may use that.
        """
        self.followed = FollowedLogs(0.0) if followed is None else followed
        """The archives whose digest stands for an answer."""
        self._registry = registry
        self._client = client
        self._store = store
        self._locations = locations
        self._clock = clock
        self._seconds = seconds
        self._most_names = most_names
        self._on_duty = on_duty
        self._is_relaying = is_relaying
        self._tick = tick
        self._turns: dict[str, FetchTurn] = {}
        self._line: list[tuple[float, str]] = []
        self._seen = -1
        """The version of the registry whose archives are in line."""
        self._written: dict[str, int] = {}
        """When it was last stored that a digest has not changed."""
        self._fetching: set[asyncio.Task[None]] = set()
        self._sweeping = 0
        self._was_on_duty = False
        self._refreshed = 0.0

    @property
    def standing(self) -> int:
        """The number of digests that stand for an answer now."""
        now = asyncio.get_running_loop().time()
        return len(self.followed.names(now)) if self.followed.is_valid(now) else 0

    async def run(self) -> None:
        """Fetch digests until cancelled."""
        try:
            while True:
                try:
                    await self._begin_due_or_read()
                except IbiError as failure:
                    _LOG.warning("digests cannot be stored", error=str(failure))
                except Exception:  # noqa: BLE001  # digests have to be fetched after any failure
                    _LOG.exception("fetching digests failed")
                await asyncio.sleep(self._tick)
        finally:
            for task in self._fetching:
                task.cancel()
            await asyncio.gather(*self._fetching, return_exceptions=True)

    async def _begin_due_or_read(self) -> None:
        """Begin to fetch from archives that are due, if on duty; else read what others fetched."""
        now = asyncio.get_running_loop().time()
        is_on_duty = self._on_duty()
        if self.followed.is_relayed == is_on_duty:
            self.followed.begin(is_relayed=not is_on_duty)
            if is_on_duty:
                self._read_again(now)
        if is_on_duty and self._was_on_duty:
            await self._line_up(now)
            self._begin_due(now)
            await self._sweep()
        elif is_on_duty != self._was_on_duty or now >= self._refreshed:
            self._locations.replace_all(await asyncio.to_thread(self._store.digests))
            self._refreshed = now + REFRESH
            self._was_on_duty = is_on_duty

    async def _line_up(self, now: float) -> None:
        """Put all archives in line that may be asked, and remove those that are gone."""
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
        names = {each.id for each in ours}
        for gone in self._turns.keys() - names:
            del self._turns[gone]
        self.followed.keep_only(names)

    def _first_turn(self, archive: str, now: float) -> FetchTurn:
        """Return the first turn of an archive: before all others if its digest is not complete."""
        return FetchTurn(now) if self._locations.publishes(archive) else FetchTurn()

    def note_notification(self, archive: str, since: float | None = None) -> None:
        """Read the digest of an archive soon: it has sent notice of a change, after `since`."""
        if archive in self._turns:
            now = asyncio.get_running_loop().time()
            self.followed.note_notification(archive, now, since)
            self._hurry(archive, now)

    def note_silence(self, archive: str) -> bool:
        """Follow an archive that did not answer no longer, until its digest can be read again.

        Return whether it was followed.
        """
        self._hurry(archive, asyncio.get_running_loop().time() + self._seconds)
        return self.followed.drop(archive)

    def _hurry(self, archive: str, due: float) -> None:
        turn = self._turns.get(archive)
        if turn is not None and not turn.is_refused and turn.due > due:
            self._wait(archive, replace(turn, due=due, interval=self._seconds))

    def _read_again(self, now: float) -> None:
        """Read all digests soon: the duty is back, and none stands for an answer before that."""
        for archive in self._turns:
            self._hurry(archive, now)

    def _wait(self, archive: str, turn: FetchTurn) -> None:
        self._turns[archive] = turn
        heappush(self._line, (turn.due, archive))

    def _begin_due(self, now: float) -> None:
        while self._line and self._line[0][0] <= now and len(self._fetching) < MAX_CONCURRENT:
            due, name = heappop(self._line)
            turn, archive = self._turns.get(name), self._registry.find(name)
            if turn is None or turn.due != due:
                continue  # it left the line, or has another place
            if archive is None or not self._registry.is_asked(name):
                self._wait(name, replace(turn, due=now + self._seconds))
                continue
            self._turns[name] = replace(turn, due=-1.0)
            task = asyncio.create_task(self._fetch(archive, turn), name="ibi-digest")
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)

    async def _fetch(self, archive: RegisteredArchive, turn: FetchTurn) -> None:
        """Fetch a page, and put the archive in line again."""
        now = asyncio.get_running_loop().time
        next_ = after_failure(turn, now(), self._seconds)
        try:
            next_ = await self._turn_after(archive, turn)
        except IbiError as failure:
            _LOG.warning("a digest cannot be stored", archive=archive.id, error=str(failure))
            self._was_on_duty = False  # the stored digests are read again
        finally:
            if archive.id in self._turns:
                self._wait(archive.id, next_)

    async def _turn_after(self, archive: RegisteredArchive, turn: FetchTurn) -> FetchTurn:
        now = asyncio.get_running_loop().time
        digest = self._locations.digest(archive.id)
        epoch, after = (digest.epoch, digest.last) if digest is not None else ("", 0)
        began = now()
        page = await self._client.digest(archive, epoch, after, TIMEOUT_SECONDS)
        if not isinstance(page, DigestPage):
            self.followed.drop(archive.id)
        if isinstance(page, NoReply):
            if not page.asked:
                return replace(turn, due=now() + self._seconds)
            return after_failure(turn, now(), self._seconds)
        if page is None:
            await self._release(digest)
            await self._drop(archive.id)
            return without_digest(now())
        next_ = await self._take_in(archive.id, digest, page, turn)
        return next_ if self._is_current(archive.id, page, began) else replace(next_, due=now())

    def _is_current(self, archive: str, page: DigestPage, began: float) -> bool:
        """Return whether no notification came since a page was requested that is the last one."""
        if page.more or not self._locations.publishes(archive):
            self.followed.drop(archive)
            return True
        if page.held or page.dropped:
            self.followed.note_changes(archive)
        return self.followed.note_page(archive, began, notifies=page.notifies)

    async def _take_in(
        self, archive: str, digest: DigestProgress | None, page: DigestPage, turn: FetchTurn
    ) -> FetchTurn:
        now = asyncio.get_running_loop().time
        means = meaning(digest, page)
        if means is not PageMeaning.NEXT:
            self.followed.note_changes(archive)
            await self._release(digest)
        if means is PageMeaning.NONSENSE:
            return await self._refuse(archive, DigestRefusal.INCONSISTENT)
        if digest is None or digest.refusal is not None or means is PageMeaning.ANEW:
            digest = await self._begin(archive)
            if digest is None:
                return after_failure(turn, now(), self._seconds)
        count = await self._keep(digest, page)
        if count > self._most_names or turn.pages > MAX_PAGES:
            await self._release(self._locations.digest(archive))
        if count > self._most_names:
            return await self._refuse(archive, DigestRefusal.TOO_MANY_NAMES)
        if turn.pages > MAX_PAGES:
            return await self._refuse(archive, DigestRefusal.ENDLESS)
        return after_page(turn, page, now(), self._seconds, anew=means is PageMeaning.ANEW)

    async def _release(self, digest: DigestProgress | None) -> None:
        """Wait until the digest that is to be dropped stands for no answer in any process."""
        if digest is not None:
            self.followed.drop(digest.archive)
            if digest.whole and self._is_relaying():
                await asyncio.sleep(self.followed.seconds / 2)

    async def _refuse(self, archive: str, refusal: DigestRefusal) -> FetchTurn:
        """Drop a digest, and store and log why."""
        _LOG.warning(
            "a digest is refused",
            archive=archive,
            reason=refusal.value,
            digest_names=self._most_names,
        )
        self.followed.drop(archive)
        self._written.pop(archive, None)
        self._locations.put(await asyncio.to_thread(self._store.refuse_digest, archive, refusal))
        return after_refusal(asyncio.get_running_loop().time())

    async def _begin(self, archive: str) -> DigestProgress | None:
        """Begin a digest anew; None while too many old fingerprints wait to be deleted."""
        digest = await asyncio.to_thread(self._store.begin_digest, archive, self._most_names)
        if digest is None:
            _LOG.warning("a digest waits until old fingerprints are deleted", archive=archive)
            self._written.pop(archive, None)
            self._locations.forget(archive)
        else:
            self._locations.put(digest)
        return digest

    async def _keep(self, digest: DigestProgress, page: DigestPage) -> int:
        """Store a page, and pass on its changes; return the number of fingerprints."""
        at = self._clock.wall()
        if self._is_as_written(digest, page, at):
            self._locations.put(replace(digest, confirmed=at))
            return digest.count
        kept = await asyncio.to_thread(self._store.keep_page, digest, page, at)
        if kept is None:
            self.followed.drop(digest.archive)
            self._locations.replace_all(await asyncio.to_thread(self._store.digests))
            return 0
        self._written[digest.archive] = at
        self._locations.put(kept)
        await self._notify((*page.held, *page.dropped))
        return kept.count

    def _is_as_written(self, digest: DigestProgress, page: DigestPage, at: int) -> bool:
        """Return whether a page has nothing new, and that was stored recently."""
        is_same = digest.whole and page.last == digest.last
        return is_same and at - self._written.get(digest.archive, 0) < CONFIRM_INTERVAL

    async def _notify(self, changed: tuple[int, ...]) -> None:
        for start in range(0, len(changed), _NOTIFY_BATCH):
            self._locations.notify(changed[start : start + _NOTIFY_BATCH])
            await asyncio.sleep(0)

    async def _drop(self, archive: str) -> None:
        self.followed.drop(archive)
        self._written.pop(archive, None)
        if self._locations.digest(archive) is not None:
            self._locations.forget(archive)
            await asyncio.to_thread(self._store.drop_digest, archive)

    async def _sweep(self) -> None:
        """Delete a part of the fingerprints of dropped digests."""
        self._sweeping = await asyncio.to_thread(self._store.sweep_digests, self._sweeping)
