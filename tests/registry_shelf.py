"""A resolver's records in memory, and archives on paper that it may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event
from typing import Final

from ibi.errors import ProofError, StorageError
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.conflict import Conflict
from ibi.model.registration import RegisteredArchive
from ibi.ports import Answer, Challenge, Heard, Owner, RegistryEvent, Silence
from ibi.wire.requests import Acknowledgment, InclusionConfirmationRequest, UrlRequest, at

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


PATIENCE: Final = 60.0


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  # what holds tells nobody
            await asyncio.sleep(0.001)


class RegistryShelf:
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

    def _answer(self) -> None:
        if self.fails:
            self.refused += 1
            place = "in memory"
            raise StorageError(place, "it is switched off")

    def archives(self) -> list[RegisteredArchive]:
        """Return all, by id."""
        self._answer()
        return [self._archives[each] for each in sorted(self._archives)]

    def keep_archive(self, archive: RegisteredArchive, event: RegistryEvent | None) -> None:
        """Keep an archive."""
        self.held += not self.free.is_set()
        self.free.wait()
        self._answer()
        self.writes += 1
        self._archives[archive.id] = archive
        if event is not None:
            self._note(event)

    def drop_archive(self, id: str, event: RegistryEvent) -> bool:  # noqa: A002  # as it is called
        """Forget an archive."""
        self._answer()
        self._note(event)
        return self._archives.pop(id, None) is not None

    def _note(self, event: RegistryEvent) -> None:
        self.history.append(replace(event, number=len(self.history) + 1))

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

    def conflict_of(self, label: str) -> Conflict | None:
        """Return the newest conflict about a label."""
        self._answer()
        about = [each for each in self._conflicts.values() if each.label == label]
        return max(about, key=lambda each: each.id, default=None)

    def keep_conflict(self, conflict: Conflict) -> Conflict:
        """Keep a conflict."""
        self.held += not self.free.is_set()
        self.free.wait()
        self._answer()
        self.writes += 1
        number = conflict.id or len(self._conflicts) + 1
        self._conflicts[number] = replace(conflict, id=number)
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


class PaperArchives:
    """Archives that confirm, at some addresses; they have no items."""

    def __init__(self, *there: str) -> None:
        """Begin with archives at these addresses."""
        self.there = set(there)
        self.asked: list[str] = []
        """The URLs of all requests for a confirmation, in order."""
        self.patience: list[float] = []
        self.free: dict[str, asyncio.Event] = {}
        """By address, what is waited for before an archive answers."""

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Confirm, if there is an archive at that address."""
        base = f"http://{address}/{service.spelling}"
        self.asked.append(at(base, InclusionConfirmationRequest()))
        self.patience.append(seconds)
        if address in self.free:
            await self.free[address].wait()
        return "" if address in self.there else "nobody answers there"

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Heard:
        """Answer that the item is not here."""
        del request, seconds
        if archive.address in self.there:
            return Answer(archive.id, None)
        return Silence(archive.id, "nobody answers there")

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Take notice."""
        del request, seconds
        return "" if archive.address in self.there else "nobody answers there"

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Have nothing there."""
        del path, seconds
        raise ProofError(host)

    async def close(self) -> None:
        """Close nothing."""
