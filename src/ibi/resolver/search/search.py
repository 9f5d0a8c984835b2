"""One running search: it asks archives, collects their replies, and notifies its readers.

`ibi.resolver.rules.search_progress` decides which archives it asks next. A search runs to its end
after its readers have left, because a rival claim may come late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ibi.identifier.instant import Instant
from ibi.model.archive_record import UrlKey
from ibi.model.clock import SECOND
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.search_progress import (
    Beginning,
    Candidates,
    LocationIndex,
    NextAsk,
    SearchProgress,
    asks_others_anyway,
    candidates_for,
    rest_before,
)
from ibi.resolver.search.archive_queries import ArchiveAsker, Weight
from ibi.resolver.search.archives_without_digest import UndigestedArchives
from ibi.resolver.search.owners import Owners
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest


@dataclass(frozen=True, slots=True)
class SearchParts:
    """The parts that all searches of a resolver share."""

    registry: Registry
    owners: Owners
    asker: ArchiveAsker
    locations: LocationIndex | None
    """Where digests list items; without it all archives are asked at once."""
    undigested: UndigestedArchives | None
    lot: Callable[[], float]
    """Returns a random number between 0 and 1."""
    idle: set[Search] = field(default_factory=set)
    """Searches that ask archives for which no reader waits."""


class Search:
    """One question on its way to archives; for one event loop."""

    def __init__(self, parts: SearchParts, question: Question, clients: tuple[str, ...]) -> None:
        """Prepare a question for clients; `run` asks it."""
        registry = parts.registry
        self.question = question.bare
        self.request: UrlRequest = question.request(clients)
        self.version = registry.version
        """The version of the registry when the search began."""
        self._loop = asyncio.get_running_loop()
        self.began = self._loop.time()
        self.ended = False
        self.has_readers = True
        """Whether a reader may wait for it: then it does not rest."""
        self.readers = 0
        """How many readers wait."""
        self._parts = parts
        self._registry = registry
        self._homes = registry.homes(question.label)
        self._progress = SearchProgress(question, self._homes, registry.ranks())
        self._others: dict[str, RegisteredArchive] = {}
        self._grace: asyncio.TimerHandle | None = None
        self._keys_taken: set[str] = set()
        self._change: asyncio.Future[None] = self._loop.create_future()
        self._asks_others: asyncio.Future[bool] = self._loop.create_future()

    @property
    def is_started(self) -> bool:
        """Whether the first archives to ask are known."""
        return self._progress.is_started

    @property
    def awaits(self) -> bool:
        """Whether an archive may still answer."""
        return self._progress.awaits

    def evidence(self) -> Evidence:
        """Return the evidence so far."""
        return self._progress.evidence()

    async def more(self) -> None:
        """Wait until there is more evidence."""
        await asyncio.shield(self._change)

    def listen(self, question: Question, *, ask_all: bool = False) -> None:
        """Add a reader's question; `ask_all` if no archive may be held back from them."""
        self._progress.add_question(question, ask_all=ask_all)
        self.has_readers = True
        self._parts.idle.discard(self)
        self._consider()

    def take_key(self, answer: ArchiveReply, clients: tuple[str, ...]) -> UrlKey | None:
        """Return the key of an answer to the first reader of its request: a key counts once."""
        is_for = clients == self.request.clients and answer.archive not in self._keys_taken
        if answer.listed is None or not is_for:
            return None
        self._keys_taken.add(answer.archive)
        return answer.listed.key

    async def run(self) -> None:
        """Ask the archives, to the end; if cancelled, archives still awaited count as silent."""
        try:
            known = await self._beginning()
            names = self._progress.start(known, self._registry.by_name, self._loop.time())
            first = self._on_record(names)
            self._restart_grace()
            self._consider()
            self._notify()
            async with asyncio.TaskGroup() as group:
                await self._ask_each(group, first)
                if await self._asks_others:
                    await self._ask_each(group, self._others)
        finally:
            self._end()

    async def _beginning(self) -> Beginning:
        owner, owner_off, is_on_record = await self._owner()
        candidates = await self._candidates(owner)
        return Beginning(owner, owner_off, is_on_record, candidates)

    async def _owner(self) -> tuple[Owner | None, NoReply | None, bool]:
        """Return the recorded owner; one that is registered and excluded counts as silent."""
        owner, is_read = await self._parts.owners.owner(self.question.label.canonical)
        if owner is None or owner.archive in self._registry.by_name:
            return owner, None, is_read
        archive = self._registry.find(owner.archive)
        if archive is None or not archive.key:  # the operator has removed or revoked it
            return None, None, True
        since = Instant(archive.since // SECOND).iso8601
        return owner, NoReply(archive.id, f"it is switched off since {since}", asked=False), True

    async def _candidates(self, owner: Owner | None) -> Candidates | None:
        """Return the archives that probably have the item; None if no digest can be read."""
        locations, undigested = self._parts.locations, self._parts.undigested
        if locations is None or undigested is None:
            return None
        holders = await locations.holders(self.question.label)
        if holders is None:
            return None
        unpublished = undigested.names(self._loop.time())
        return candidates_for(self._homes, owner.archive if owner else None, unpublished, holders)

    def _on_record(self, names: Iterable[str]) -> dict[str, RegisteredArchive]:
        # All at once: an archive may be excluded while others are asked, and is asked all the same.
        return {name: self._registry.by_name[name] for name in names}

    async def _ask_each(
        self, group: asyncio.TaskGroup, archives: Mapping[str, RegisteredArchive]
    ) -> None:
        for number, (name, archive) in enumerate(archives.items()):
            rest = rest_before(number, len(archives), has_readers=self.has_readers)
            if rest is not None:
                await asyncio.sleep(rest)
            refusal = self._parts.asker.refusal(archive)
            if refusal is None:
                group.create_task(self._ask(name, archive))
            else:
                self._add(refusal)

    async def _ask(self, name: str, archive: RegisteredArchive) -> None:
        weight = Weight.OTHER
        if name in self._progress.trusted:
            weight = Weight.TRUSTED
        elif name in self._progress.decisive:
            weight = Weight.LISTED
        self._add(await self._parts.asker.ask(archive, self.request, weight))

    def _add(self, reply: Reply) -> None:
        if self._progress.add(reply, self._loop.time()):
            self._consider()
            self._notify()

    def _consider(self) -> None:
        """Decide whether the archives that are held back are asked too."""
        if self._asks_others.done() or not self._progress.is_started:
            return
        step = self._progress.next_ask()
        if step is NextAsk.OTHERS:
            self._widen()
        elif step is NextAsk.NONE_LEFT:
            self._asks_others.set_result(False)
        elif step is not NextAsk.UNDECIDED:
            self._consider_idly(for_record=step is NextAsk.OTHERS_FOR_RECORD)

    def _consider_idly(self, *, for_record: bool) -> None:
        """Decide whether to ask the archives that no reader needs, with rests in between."""
        archives, idle = len(self._registry.by_name), len(self._parts.idle)
        if asks_others_anyway(self._parts.lot(), archives, idle, for_record=for_record):
            self.has_readers = False
            self._parts.idle.add(self)
            self._widen()
        else:
            self._asks_others.set_result(False)

    def _widen(self) -> None:
        names = self._progress.widen(
            self._registry.by_name, self._loop.time(), has_readers=self.has_readers
        )
        self._others = self._on_record(names)
        self._restart_grace()
        self._asks_others.set_result(True)
        self._notify()

    def _restart_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
        self._grace = self._loop.call_at(self._progress.grace_ends, self._end_grace)

    def _end_grace(self) -> None:
        # The loop may call this a clock tick early: the grace has ended all the same.
        self._progress.pass_time(self._progress.grace_ends)
        self._consider()
        self._notify()

    def _end(self) -> None:
        self._progress.end(self._registry.by_name)
        if self._grace is not None:
            self._grace.cancel()
        self._parts.idle.discard(self)
        self.ended = True
        self._notify()

    def _notify(self) -> None:
        """Wake all readers, which check the evidence again."""
        change, self._change = self._change, self._loop.create_future()
        if not change.done():
            change.set_result(None)
