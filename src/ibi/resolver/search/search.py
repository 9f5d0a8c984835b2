"""One running search: it asks archives, collects their replies, and notifies its readers.

`ibi.resolver.rules.search_progress` decides which archives it asks next. A search runs to its end
after its readers have left, because a rival claim may come late.

Every message to an archive, and at least one for each search, is charged to a reader before it is
sent: to the last of those that joined the search and may still cause so many, because that one may
need what others do not. If there is none, the messages are not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ibi.errors import TooManyRequestsError
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
from ibi.resolver.search.unfollowed_archives import UnfollowedArchives
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest

Charge: TypeAlias = Callable[[int], None]
"""Charges a number of messages to a reader; raises TooManyRequestsError if they are too many."""


@dataclass(frozen=True, slots=True)
class SearchParts:
    """The parts that all searches of a resolver share."""

    registry: Registry
    owners: Owners
    asker: ArchiveAsker
    locations: LocationIndex | None
    """Where digests list items; without it all archives are asked at once."""
    undigested: UndigestedArchives | None
    unfollowed: UnfollowedArchives | None
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
        self.refusal: TooManyRequestsError | None = None
        """Why archives are not asked that a reader needs: no reader may cause so many messages."""
        self._payers: list[Charge] = []
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

    def listen(self, question: Question, charge: Charge, *, ask_all: bool = False) -> None:
        """Add a reader's question; `ask_all` if no archive may be held back from them."""
        self._payers.append(charge)
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
            self.refusal = self._pay(max(1, self._messages(first)))
            if self.refusal is not None:
                return
            self._restart_grace()
            self._consider()
            self._notify()
            async with asyncio.TaskGroup() as group:
                await self._ask_each(group, first)
                if await self._asks_others:
                    await self._ask_each(group, self._others)
        finally:
            self._end()

    def _messages(self, archives: Mapping[str, RegisteredArchive]) -> int:
        """Return how many of the archives are sent a message."""
        return sum(self._parts.asker.refusal(each) is None for each in archives.values())

    def _pay(self, messages: int) -> TooManyRequestsError | None:
        """Charge messages to a reader; return why none may cause them."""
        refusal = None
        for charge in reversed(self._payers) if messages > 0 else ():
            try:
                charge(messages)
            except TooManyRequestsError as fault:
                refusal = fault
            else:
                return None
        return refusal

    async def _beginning(self) -> Beginning:
        owner, is_on_record = await self._owner()
        candidates = await self._candidates(owner)
        names = set(self._homes if candidates is None else self._homes | candidates.listed)
        if owner is not None:
            names.add(owner.archive)
        are_read = candidates is not None or self._parts.locations is None
        return Beginning(owner, self._switched_off(names), is_on_record, candidates, are_read)

    async def _owner(self) -> tuple[Owner | None, bool]:
        """Return the recorded owner, unless the operator has removed or revoked it."""
        owner, is_read = await self._parts.owners.owner(self.question.label.canonical)
        if owner is None or self._is_registered(owner.archive):
            return owner, is_read
        return None, True

    def _is_registered(self, name: str) -> bool:
        archive = self._registry.find(name)
        return name in self._registry.by_name or (archive is not None and bool(archive.key))

    def _switched_off(self, names: Iterable[str]) -> tuple[NoReply, ...]:
        """Return why some archives will not answer: they are registered, and excluded."""
        archives = map(self._registry.find, sorted(set(names) - self._registry.by_name.keys()))
        return tuple(_switched_off(archive) for archive in archives if archive is not None)

    async def _candidates(self, owner: Owner | None) -> Candidates | None:
        """Return the archives that probably have the item.

        None if there are no digests, or none can be read.
        """
        locations, undigested = self._parts.locations, self._parts.undigested
        if locations is None or undigested is None:
            return None
        now = self._loop.time()
        followed = self._parts.unfollowed
        # Before the digests are read: what comes into one after that is no answer of today.
        unfollowed = None if followed is None else followed.names(self.question.label, now)
        holders = await locations.holders(self.question.label)
        if holders is None:
            return None
        holders = frozenset(filter(self._is_registered, holders))
        unpublished = undigested.names(now)
        on_record = owner.archive if owner else None
        return candidates_for(self._homes, on_record, unpublished, holders, unfollowed)

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
            self._widen_for_readers()
        elif step is NextAsk.NONE_LEFT:
            self._asks_others.set_result(False)
        elif step is not NextAsk.UNDECIDED:
            self._consider_idly(for_record=step is NextAsk.OTHERS_FOR_RECORD)

    def _consider_idly(self, *, for_record: bool) -> None:
        """Decide whether to ask the archives that no reader needs, with rests in between."""
        archives, idle = len(self._registry.by_name), len(self._parts.idle)
        is_chosen = asks_others_anyway(self._parts.lot(), archives, idle, for_record=for_record)
        others = self._held_back() if is_chosen else {}
        if is_chosen and self._pay(self._messages(others)) is None:
            self.has_readers = False
            self._parts.idle.add(self)
            self._widen(others)
        else:
            self._asks_others.set_result(False)

    def _held_back(self) -> dict[str, RegisteredArchive]:
        return self._on_record(self._progress.held_back(self._registry.by_name))

    def _widen_for_readers(self) -> None:
        others = self._held_back()
        self.refusal = self._pay(self._messages(others))
        if self.refusal is None:
            self._widen(others)
        else:
            self._asks_others.set_result(False)
            self._notify()

    def _widen(self, others: dict[str, RegisteredArchive]) -> None:
        self._others = others
        self._progress.widen(others, self._loop.time(), has_readers=self.has_readers)
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


def _switched_off(archive: RegisteredArchive) -> NoReply:
    since = Instant(archive.since // SECOND).iso8601
    return NoReply(archive.id, f"it is switched off since {since}", asked=False)
