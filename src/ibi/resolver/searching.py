"""Asking all archives at once, and listening to them one by one (004, section 6.2).

One search at a time for one question: who asks the same meanwhile listens to the same search, and
begins one of his own only if what he heard was for another client. A search goes on to its end
after its readers have left, because a rival claim may come late.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import structlog

from ibi.errors import OverloadError, TooManyRequestsError
from ibi.identifier.instant import Instant
from ibi.model.archive_record import UrlKey
from ibi.model.registration import RegisteredArchive
from ibi.ports import Answer, ArchiveClient, Owner, Silence
from ibi.resolver.hearing import Hearing
from ibi.resolver.licences import marked
from ibi.resolver.outage import silence_of
from ibi.resolver.owners import Owners
from ibi.resolver.question import Question, Search
from ibi.resolver.registry import Registry
from ibi.resolver.target import vetted
from ibi.wire.requests import UrlRequest

MOMENT: Final = 0.3
"""Seconds that others get to speak up before the first claim of a stranger is believed."""
MOST_AT_ONCE: Final = 256
MOST_OF_ONE: Final = 64
"""Of them for one share: nobody alone keeps all others out, with however slow an archive."""
UNFORESEEN: Final = "its answer makes no sense"
BROKEN_OFF: Final = "its answer was not waited for"
_SECOND: Final = 1_000_000_000

_LOG: Final = structlog.get_logger()

_Key: TypeAlias = tuple[Search, tuple[str, ...]]
"""What is searched for, and for which clients alone."""


class RunningSearch:
    """One question on its way to all archives."""

    def __init__(self, question: Question, clients: tuple[str, ...], registry: Registry) -> None:
        """Await everybody who is included."""
        self.question = question.bare
        self.request: UrlRequest = question.request(clients)
        self.version = registry.version
        self.archives: dict[str, RegisteredArchive] = {
            archive.id: archive for archive in registry.included()
        }
        self.began = asyncio.get_running_loop().time()
        self.begun = False
        """Whether the owner is known, without which nothing can be decided."""
        self.ended = False
        self._answers: list[Answer] = []
        self._silences: list[Silence] = []
        self._awaited = set(self.archives)
        self._patient = True
        self._owner: Owner | None = None
        self._is_on_record = False
        self._homes = registry.homes(question.label)
        self._ranks = registry.ranks()
        self._keys: set[str] = set()
        self._change: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def hearing(self) -> Hearing:
        """Return what was heard so far."""
        return Hearing(
            answers=tuple(self._answers),
            silences=tuple(self._silences),
            awaited=frozenset(self._awaited),
            patient=self._patient,
            owner=self._owner,
            is_on_record=self._is_on_record,
            homes=self._homes,
            ranks=self._ranks,
        )

    @property
    def awaits(self) -> bool:
        """Whether somebody may still answer."""
        return bool(self._awaited)

    async def more(self) -> None:
        """Wait until there is more to hear."""
        await asyncio.shield(self._change)

    def own(self, owner: Owner | None, silence: Silence | None, is_read: bool) -> None:  # noqa: FBT001  # as `_owner` finds it
        """Begin with who is on record as the owner; one that is switched off is silent."""
        self.begun = True
        self._owner = owner
        self._is_on_record = is_read
        if silence is not None:
            self._silences.append(silence)
        self._tell()

    def hear(self, heard: Answer | Silence) -> None:
        """Take in what came, or did not, of one archive."""
        self._awaited.discard(heard.archive)
        if isinstance(heard, Answer):
            self._answers.append(heard)
        else:
            self._silences.append(heard)
        is_owner = self._owner is not None and heard.archive == self._owner.archive
        says_something = isinstance(heard, Answer) and heard.listed is not None
        if says_something or is_owner or heard.archive in self._homes or not self._awaited:
            self._tell()

    def lose_patience(self) -> None:
        """The moment for others to speak up is over."""
        self._patient = False
        self._tell()

    def end(self) -> None:
        """Await nobody any more; who has not answered, because it was broken off, is silent."""
        self._silences += (Silence(name, BROKEN_OFF) for name in sorted(self._awaited))
        self._awaited.clear()
        self._patient = False
        self.begun = self.ended = True
        self._tell()

    def _tell(self) -> None:
        change, self._change = self._change, asyncio.get_running_loop().create_future()
        if not change.done():
            change.set_result(None)

    def take_key(self, answer: Answer, clients: tuple[str, ...]) -> UrlKey | None:
        """Return the key of an answer to the first for whom it was asked: it counts one access."""
        is_for = clients == self.request.clients and answer.archive not in self._keys
        if answer.listed is None or not is_for:
            return None
        self._keys.add(answer.archive)
        return answer.listed.key


class Searching:
    """All searches that are under way."""

    def __init__(  # its parts
        self,
        registry: Registry,
        client: ArchiveClient,
        owners: Owners,
        on_end: Callable[[RunningSearch], None],
        *,
        seconds: float,
    ) -> None:
        """Ask the archives of a registry; each may take so many seconds."""
        self._registry = registry
        self._client = client
        self._owners = owners
        self._on_end = on_end
        self._seconds = seconds
        self._running: dict[_Key, RunningSearch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._shares: Counter[str] = Counter()
        self.begun = 0
        """How many searches were begun."""

    def __len__(self) -> int:
        """Return how many are under way."""
        return len(self._running)

    def join(self, question: Question, clients: tuple[str, ...] = ()) -> RunningSearch | None:
        """Return the search for the same, if it asked all and somebody is still to be heard.

        With clients, that which was begun for them alone.
        """
        running = self._running.get((question.search, clients))
        if running is None or not running.awaits or running.version != self._registry.version:
            return None
        return running

    def begin(
        self,
        question: Question,
        clients: tuple[str, ...],
        share: str = "",
        *,
        alone: bool = False,
    ) -> RunningSearch:
        """Begin a search; `share` is whose, if it counts against anybody.

        One that is for the clients `alone` is joined by nobody else.
        """
        if share and self._shares[share] >= MOST_OF_ONE:
            raise TooManyRequestsError(1)
        if len(self._running) >= MOST_AT_ONCE:
            raise OverloadError(1)
        running = RunningSearch(question, clients, self._registry)
        key = (question.search, clients if alone else ())
        self._running[key] = running
        self.begun += 1
        self._shares[share] += 1
        task = asyncio.create_task(self._run(running, key))
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, share))
        return running

    def _ended(self, share: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._shares[share] -= 1
        if not self._shares[share]:
            del self._shares[share]

    async def close(self) -> None:
        """Give up all searches."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, running: RunningSearch, key: _Key) -> None:
        moment = asyncio.get_running_loop().call_later(MOMENT, running.lose_patience)
        try:
            running.own(*await self._owner(running))
            async with asyncio.TaskGroup() as group:
                for archive in running.archives.values():
                    if self._registry.is_asked(archive.id):
                        group.create_task(self._ask(running, archive))
                    else:
                        running.hear(silence_of(archive))
        finally:
            moment.cancel()
            if self._running.get(key) is running:
                del self._running[key]
            running.end()
        self._on_end(running)

    async def _owner(self, running: RunningSearch) -> tuple[Owner | None, Silence | None, bool]:
        """Return the owner on record; one that is registered and switched off is silent."""
        owner, is_read = await self._owners.owner(running.question.label.canonical)
        if owner is None or owner.archive in running.archives:
            return owner, None, is_read
        archive = self._registry.find(owner.archive)
        if archive is None or not archive.key:  # the operator has done away with it
            return None, None, True
        since = Instant(archive.since // _SECOND).iso8601
        return owner, Silence(archive.id, f"it is switched off since {since}", asked=False), True

    async def _ask(self, running: RunningSearch, archive: RegisteredArchive) -> None:
        try:
            heard = await self._client.ask(archive, running.request, self._seconds)
        except Exception:  # noqa: BLE001  # whatever one archive does, the others are heard
            _LOG.exception("an archive could not be asked")
            heard = Silence(archive.id, UNFORESEEN)
        if isinstance(heard, Answer) or heard.alive:
            self._registry.heard(archive.id, "")
        elif heard.asked:
            self._registry.heard(archive.id, heard.reason)
        if isinstance(heard, Answer):
            heard = vetted(marked(heard, archive), archive)
        running.hear(heard)
