"""The records of a resolver in memory, and fake archives that it may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, RLock
from typing import Final

from ibi.errors import ProofError, StorageError
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.conflict import Conflict
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.resolver.ports.store import (
    EVERY_EVENT,
    Challenge,
    ChangeArchive,
    ConflictChange,
    EventChoice,
    Owner,
    RegistryEvent,
)
from ibi.resolver.ports.workers import FeedEntry
from ibi.resolver.rules.archive_transitions import with_seniority
from ibi.wire.digest import DigestPage
from ibi.wire.requests import Acknowledgment, InclusionConfirmationRequest, UrlRequest, at
from tests.support.waiting import PATIENCE

KEY: Final = RegistrationKey("1234567890")
SERVICE: Final = parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39")
RECORD: Final = ArchiveRecord(
    address="mtc-m21.sid.inpe.br",
    service=SERVICE,
    ip="150.163.34.239",
    platform_version="2014:11.09.02.16.15",
    administrator="banon@dpi.inpe.br",
)
"""Of Example 5.2."""


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  # what holds tells nobody
            await asyncio.sleep(0.001)


class MemoryResolverStore:
    """What a database of a resolver keeps, but for acknowledgments and tokens."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.fails = False
        """Whether every call fails from now on."""
        self.free = Event()
        """Cleared, it holds whoever writes an archive or a conflict."""
        self.free.set()
        self.writes = 0
        self.held = 0
        """How many writers had to wait."""
        self.refused = 0
        """How many calls failed."""
        self.history: list[RegistryEvent] = []
        self.owned: dict[str, Owner] = {}
        self._archives: dict[str, RegisteredArchive] = {}
        self._conflicts: dict[int, Conflict] = {}
        self._challenges: dict[str, Challenge] = {}
        self._newest = 0
        self._news: list[FeedEntry] = []
        self._alone = RLock()

    def _answer(self) -> None:
        if self.fails:
            self.refused += 1
            place = "in memory"
            raise StorageError(place, "it is switched off")

    def archives(self, names: Sequence[str] | None = None) -> list[RegisteredArchive]:
        """Return those of these ids, or all, by id."""
        self._answer()
        found = [self._archives[each] for each in sorted(self._archives)]
        return [each for each in found if names is None or each.id in names]

    def change_archive(self, name: str, change: ChangeArchive) -> RegisteredArchive | None:
        """Change an archive, alone."""
        self.held += not self.free.is_set()
        self.free.wait()
        self._answer()
        with self._alone:
            before = self._archives.get(name)
            changed = change(before)
            if changed is None:
                return before
            self.writes += 1
            after = changed.archive
            if after is None:
                del self._archives[name]
            else:
                after = with_seniority(after, before, self._newest + 1)
                self._archives[name] = after
            if changed.event is not None:
                self._note(changed.event)
            self._tell(archives=[name])
            return after

    def note(self, event: RegistryEvent, labels: Sequence[str]) -> None:
        """Add to the history."""
        self._answer()
        with self._alone:
            self._note(event)
            self._tell(labels=labels)

    def newest(self) -> int:
        """Return the number of the last news."""
        self._answer()
        return self._newest

    def news(self, after: int, limit: int) -> list[FeedEntry]:
        """Return news by number."""
        self._answer()
        return [each for each in self._news if each.number > after][:limit]

    def _tell(self, archives: Sequence[str] = (), labels: Sequence[str] = ()) -> None:
        told = [(name, "") for name in archives] + [("", label) for label in labels]
        for archive, label in told:
            self._newest += 1
            self._news.append(FeedEntry(self._newest, archive, label))

    def forget_news(self) -> None:
        """Keep none of the news there were."""
        self._news.clear()

    def _note(self, event: RegistryEvent) -> None:
        self.history.append(replace(event, number=len(self.history) + 1))

    def removed(self) -> list[str]:
        """Return the archives that were ever removed."""
        self._answer()
        return sorted({each.archive for each in self.history if each.act == "remove"})

    def newest_events(
        self, before: int, limit: int, choice: EventChoice = EVERY_EVENT
    ) -> list[RegistryEvent]:
        """Return the history before a number, the newest first; from the end if it is 0."""
        self._answer()
        return [
            each
            for each in reversed(self.history)
            if (not before or each.number < before)
            and choice.who in {"", each.who}
            and choice.act in {"", each.act}
            and choice.archive in {"", each.archive}
        ][:limit]

    def acts(self) -> list[str]:
        """Return the acts that the history has."""
        self._answer()
        return sorted({each.act for each in self.history})

    def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history from a number on."""
        self._answer()
        return self.history[after : after + limit]

    def keep_challenge(self, challenge: Challenge) -> None:
        """Keep a challenge."""
        self._challenges[challenge.token] = challenge

    def take_challenge(self, token: str) -> Challenge | None:
        """Return a challenge and forget it."""
        return self._challenges.pop(token, None)

    def challenge(self, token: str) -> Challenge | None:
        """Return a challenge."""
        return self._challenges.get(token)

    def forget_challenges(self, before: int) -> int:
        """Forget those that ended before a time."""
        self._challenges = {
            token: each for token, each in self._challenges.items() if each.until >= before
        }
        return len(self._challenges)

    def conflicts(self, after: int, limit: int, *, only_open: bool) -> list[Conflict]:
        """Return conflicts by number."""
        self._answer()
        found = [
            each
            for number, each in sorted(self._conflicts.items())
            if number > after and (each.is_open or not only_open)
        ]
        return found[:limit]

    def change_conflict(
        self, which: int | str, change: Callable[[Conflict | None], ConflictChange | None]
    ) -> Conflict | None:
        """Change a conflict, alone."""
        self.held += not self.free.is_set()
        self.free.wait()
        self._answer()
        with self._alone:
            found = [each for each in self._conflicts.values() if which in {each.id, each.label}]
            before = max(found, key=lambda each: each.id, default=None)
            changed = change(before)
            if changed is None:
                return before
            self.writes += 1
            number = changed.conflict.id or len(self._conflicts) + 1
            self._conflicts[number] = replace(changed.conflict, id=number)
            self.keep_owners(changed.owners)
            if changed.event is not None:
                self._note(changed.event)
            self._tell(labels=changed.news)
            return self._conflicts[number]

    def count_conflicts(self) -> int:
        """Return how many are open."""
        return sum(each.is_open for each in self._conflicts.values())

    def owner(self, label: str) -> Owner | None:
        """Return an owner."""
        self._answer()
        return self.owned.get(label)

    def keep_owners(self, owners: Sequence[tuple[str, Owner]]) -> None:
        """Keep owners; one that was settled gives way only to another that is."""
        self._answer()
        for label, owner in owners:
            before = self.owned.get(label)
            if owner.settled or before is None or not before.settled:
                self.owned[label] = owner


class FakeArchives:
    """Archives that confirm, at some addresses; they have no items."""

    def __init__(self, *there: str) -> None:
        """Begin with archives at these addresses."""
        self.there = set(there)
        self.asked: list[str] = []
        """The URLs of all requests for a confirmation, in order."""
        self.patience: list[float] = []
        self.free: dict[str, asyncio.Event] = {}
        """By address, what is waited for before an archive answers."""
        self.undiscerning = set[str]()
        """Addresses where every archive is confirmed."""

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Confirm, if there is an archive at that address."""
        base = f"http://{address}/{service.spelling}"
        self.asked.append(at(base, InclusionConfirmationRequest()))
        self.patience.append(seconds)
        if address in self.free:
            await self.free[address].wait()
        return "" if address in self.there else "nobody answers there"

    async def denies(self, address: str, service: Label, seconds: float) -> bool:
        """Deny an archive that is elsewhere."""
        del service, seconds
        return address in self.there - self.undiscerning

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Answer that the item is not here."""
        del request, seconds
        if archive.address in self.there:
            return ArchiveReply(archive.id, None)
        return NoReply(archive.id, "nobody answers there")

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Take notice."""
        del request, seconds
        return "" if archive.address in self.there else "nobody answers there"

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Publish none."""
        del archive, epoch, after, seconds
        return None

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Have nothing there."""
        del path, seconds
        raise ProofError(host)

    async def close(self) -> None:
        """Close nothing."""
