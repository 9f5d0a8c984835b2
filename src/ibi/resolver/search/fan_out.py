"""Asking archives at once, and listening to them one by one (004, section 6.2).

One search at a time for one question: who asks the same meanwhile listens to the same search, and
begins one of his own only if what he heard was for another client. A search goes on to its end
after its readers have left, because a rival claim may come late.

Where archives publish digests, those who are likely to have the item are asked first, and all
others only if that is not enough (docs/adr/0028).
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import structlog

from ibi.errors import OverloadError, TooManyRequestsError
from ibi.identifier.instant import Instant
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NO_SLOT, ArchiveClient, ArchiveReply, NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.candidates import Candidates, LocationIndex, candidates_for
from ibi.resolver.rules.outage import silence_of
from ibi.resolver.rules.target import marked, vetted
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.search import Search
from ibi.resolver.search.undigested import UndigestedArchives
from ibi.wire.question import Question, SearchKey

CLAIM_GRACE_SECONDS: Final = 0.3
"""Seconds that others get to speak up before the first claim of a stranger is believed."""
MAX_SEARCHES: Final = 256
MAX_SEARCHES_PER_CLIENT: Final = 64
"""Of them for one share: nobody alone keeps all others out, with however slow an archive."""
MAX_OTHER_ASKS: Final = 384
"""Archives whose word alone decides nothing, asked at once by all searches: when hundreds hang,
there is still room to ask those whose word does,"""
MAX_LISTED_ASKS: Final = 64
"""and so many of those who only say by their digests that they have an item. Anybody can say that
of any item, and hang: there is still room to ask homes and owners."""
ASK_BATCH: Final = 32
"""Archives that a search asks before others get their turn."""
IDLE_BATCH: Final = 8
"""Of them when no reader waits for it; more if it would else take longer than three seconds,"""
IDLE_PAUSE_SECONDS: Final = 0.05
"""after each of which it rests for so many seconds."""
_PAUSES: Final = 60
MAX_RECORD_ASKS: Final = 100
"""Archives that are asked, for one search on average, only to put an owner on record,"""
MAX_IDLE_SEARCHES: Final = 2
"""by no more than so many searches at once."""
UNEXPECTED_FAILURE: Final = "its answer makes no sense"
FULL_SEARCH_SHARE: Final = 0.01
"""The part of searches that ask all in any case: so rivals are noticed of whom no digest tells, and
an archive that is asked for what it does not have cannot tell that an Original is looked at. Fewer
among more than a hundred archives: they cost one message a search on average."""
_SECOND: Final = 1_000_000_000

_LOG: Final = structlog.get_logger()

_Key: TypeAlias = tuple[SearchKey, tuple[str, ...]]
"""What is searched for, and for which clients alone."""


def full_search_share(archives: int) -> float:
    """Return the part of searches that ask all in any case, among so many archives."""
    return min(FULL_SEARCH_SHARE, 1 / max(1, archives))


class SearchPool:
    """All searches that are under way."""

    def __init__(  # noqa: PLR0913  # its parts
        self,
        registry: Registry,
        client: ArchiveClient,
        owners: Owners,
        on_end: Callable[[Search], None],
        *,
        seconds: float,
        locations: LocationIndex | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Ask the archives of a registry; each may take so many seconds.

        Locations tell who is likely to have an item; without them all are asked at once.
        """
        self._registry = registry
        self._client = client
        self._owners = owners
        self._on_end = on_end
        self._seconds = seconds
        self._locations = locations
        self._chance = chance
        self._unpublished = UndigestedArchives(registry, locations.publishes) if locations else None
        self._crowd = asyncio.Semaphore(MAX_OTHER_ASKS)
        self._strangers = asyncio.Semaphore(MAX_LISTED_ASKS)
        self._running: dict[_Key, Search] = {}
        self._tasks: dict[Search, asyncio.Task[None]] = {}
        self._shares: Counter[str] = Counter()
        self.begun = 0
        """How many searches were begun."""

    def __len__(self) -> int:
        """Return how many are under way."""
        return len(self._running)

    @property
    def version(self) -> int:
        """Of the archives that a search would ask now."""
        return self._registry.version

    def join(
        self, question: Question, clients: tuple[str, ...] = (), *, to_all: bool = False
    ) -> Search | None:
        """Listen to the search for the same, if there is one and somebody is still to be heard.

        With clients, to that which was begun for them alone. If the question needs those who are
        held back, or wants to hear `to_all`, they are asked too.
        """
        running = self._running.get((question.search, clients))
        if running is None or not running.awaits or running.version != self._registry.version:
            return None
        running.listen(question, to_all=to_all)
        return running

    def begin(
        self,
        question: Question,
        clients: tuple[str, ...],
        share: str = "",
        *,
        alone: bool = False,
        to_all: bool = False,
    ) -> Search:
        """Begin a search, and listen to it; `share` is whose, if it counts against anybody.

        One that is for the clients `alone` is joined by nobody else. `to_all` holds nobody back.
        """
        if share and self._shares[share] >= MAX_SEARCHES_PER_CLIENT:
            raise TooManyRequestsError(1)
        if len(self._running) >= MAX_SEARCHES:
            self._give_one_up()
        running = Search(question, clients, self._registry, CLAIM_GRACE_SECONDS, self._asks_all)
        running.listen(question, to_all=to_all)
        key = (question.search, clients if alone else ())
        self._running[key] = running
        self.begun += 1
        self._shares[share] += 1
        task = asyncio.create_task(self._run(running, key))
        self._tasks[running] = task
        task.add_done_callback(partial(self._ended, running, share))
        return running

    def _give_one_up(self) -> None:
        """Give up the oldest search whose readers have left, for one who comes.

        Those who have not answered it are taken for silent: what was heard counts.
        """
        for key, running in self._running.items():
            if running.begun and not running.readers:
                del self._running[key]
                self._tasks[running].cancel()
                return
        raise OverloadError(1)

    def _asks_all(self, for_the_record: bool) -> bool:  # noqa: FBT001  # it is called back
        """Tell whether a search asks the others too, at leisure, when its readers are content."""
        chance, archives = self._chance(), len(self._registry.by_name)
        if chance < full_search_share(archives):
            return True
        average = chance * archives
        at_leisure = sum(not running.hurries for running in self._running.values())
        return for_the_record and average < MAX_RECORD_ASKS and at_leisure < MAX_IDLE_SEARCHES

    def _ended(self, running: Search, share: str, _: asyncio.Task[None]) -> None:
        del self._tasks[running]
        self._shares[share] -= 1
        if not self._shares[share]:
            del self._shares[share]

    async def close(self) -> None:
        """Give up all searches."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, running: Search, key: _Key) -> None:
        try:
            owner, silence, is_read = await self._owner(running)
            running.start(owner, silence, is_read, await self._likely(running, owner))
            async with asyncio.TaskGroup() as group:
                await self._ask_each(group, running, running.first)
                if await running.is_widened():
                    await self._ask_each(group, running, running.others)
        finally:
            if self._running.get(key) is running:
                del self._running[key]
            running.end()
            self._on_end(running)

    async def _likely(self, running: Search, owner: Owner | None) -> Candidates | None:
        """Return who is likely to have the item; None if nothing tells."""
        if self._locations is None or self._unpublished is None:
            return None
        holders = await self._locations.holders(running.question.label)
        if holders is None:
            return None
        unpublished = self._unpublished.names(asyncio.get_running_loop().time())
        return candidates_for(running.homes, owner.archive if owner else None, unpublished, holders)

    async def _ask_each(
        self,
        group: asyncio.TaskGroup,
        running: Search,
        archives: Mapping[str, RegisteredArchive],
    ) -> None:
        few = max(IDLE_BATCH, len(archives) // _PAUSES)
        for number, (name, archive) in enumerate(archives.items()):
            if running.hurries and not number % ASK_BATCH:
                await asyncio.sleep(0)
            elif not running.hurries and not number % few:
                await asyncio.sleep(IDLE_PAUSE_SECONDS)
            if self._registry.is_asked(name):
                group.create_task(self._ask(running, name, archive))
            else:
                running.hear(silence_of(archive))

    async def _owner(self, running: Search) -> tuple[Owner | None, NoReply | None, bool]:
        """Return the owner on record; one that is registered and switched off is silent."""
        owner, is_read = await self._owners.owner(running.question.label.canonical)
        if owner is None or owner.archive in self._registry.by_name:
            return owner, None, is_read
        archive = self._registry.find(owner.archive)
        if archive is None or not archive.key:  # the operator has done away with it
            return None, None, True
        since = Instant(archive.since // _SECOND).iso8601
        return owner, NoReply(archive.id, f"it is switched off since {since}", asked=False), True

    async def _ask(self, running: Search, name: str, archive: RegisteredArchive) -> None:
        try:
            if name in running.believed:
                heard = await self._client.ask(archive, running.request, self._seconds)
            else:
                line = self._strangers if name in running.weighty else self._crowd
                heard = await self._ask_in_line(line, running, archive)
        except Exception:  # noqa: BLE001  # whatever one archive does, the others are heard
            _LOG.exception("an archive could not be asked")
            heard = NoReply(name, UNEXPECTED_FAILURE)
        if isinstance(heard, ArchiveReply) or heard.alive:
            self._registry.heard(name, "")
        elif heard.asked:
            self._registry.heard(name, heard.reason)
        if isinstance(heard, ArchiveReply):
            heard = vetted(marked(heard, archive), archive)
        running.hear(heard)

    async def _ask_in_line(
        self, line: asyncio.Semaphore, running: Search, archive: RegisteredArchive
    ) -> Reply:
        try:
            async with asyncio.timeout(self._seconds):
                await line.acquire()
        except TimeoutError:
            return NoReply(archive.id, NO_SLOT, asked=False)
        try:
            return await self._client.ask(archive, running.request, self._seconds)
        finally:
            line.release()
