"""A resolver that sends acknowledgments and may crash at any step, and archives that count them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

import pytest

from ibi.errors import StorageError
from ibi.identifier.label import parse
from ibi.model.archive_record import UrlKey
from ibi.model.clock import SECOND
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.acknowledgments import sender
from ibi.resolver.ports.outbound import ArchiveClient, ArchiveReply, NoReply, Reply
from ibi.resolver.ports.store import PendingAcknowledgment
from ibi.resolver.rules.acknowledgment import (
    Referral,
    pending,
)
from ibi.wire.requests import Acknowledgment, UrlRequest
from ibi.wire.url_list import Related, UrlList
from tests.support.doubles.archive_client import UnusedArchiveClient

NOW = 1_700_000_000 * SECOND
KEY = UrlKey("1424636122-5331490054869684")
OTHER_KEY = UrlKey("1424636123-5331490054869684")
FORMS = Forms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
SERVICE = parse("sid.inpe.br/mtc-m19@80/2009/08.21.17.02", strict=True)
URL = "http://a.example.org/col/x/doc/50%25%2Foff%3F%26?a=1&b=2+3#%C3%B3"
REFERRAL = Referral(
    SERVICE.canonical,
    UrlRequest(("150.163.2.0", "10.0.0.1"), parse("8JMKD3MGP7W/3EPGUE5"), path="/a b%.txt"),
    ContentType.DATA,
    URL,
    "http://urlib.net/8JMKD3MGP7W/3EPGUE5/a%20b%25.txt",
    State.ORIGINAL,
    FORMS,
    KEY,
)
INCLUSION = Inclusion(
    address="a.example.org",
    ip="192.0.2.1",
    platform_version="ibi-0.1",
    administrator="a@example.org",
    since=1,
    seen=1,
)
OURS = RegisteredArchive(
    service=SERVICE, key="x", confirmed=1, inclusion=INCLUSION, link_secret="5e" * 32
)
FOREIGN = replace(OURS, inclusion=replace(INCLUSION, platform_version="2.1"))
KEYED, UNKEYED = pending(REFERRAL, 2, NOW)
_T = TypeVar("_T")


def listed(*related: Related, key: UrlKey | None = OTHER_KEY) -> UrlList:
    relations = [Relation(), *(Relation.parse(f".translation({xx})") for xx in ("pt", "en"))]
    return UrlList("a.example.org", FORMS, key=key, related=dict(zip(relations, related)))  # noqa: B905


class Crashed(asyncio.CancelledError):
    """The process has crashed; none of its tasks goes on."""


@dataclass
class CrashPoint:
    """Crashes a process at one of the moments that it goes through."""

    dies_at: int = 0
    moments: int = 0
    dead: bool = False

    def moment(self) -> None:
        """Go through a moment, or not."""
        self.moments += 1
        self.dead = self.dead or self.moments == self.dies_at
        if self.dead:
            raise Crashed


@dataclass
class MemoryStore:
    """Pending acknowledgments in memory, of one process after the other.

    It may die before or after each step; whoever comes next keeps all.
    """

    rows: dict[int, PendingAcknowledgment] = field(default_factory=dict)
    fate: CrashPoint = field(default_factory=CrashPoint)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    kept: int = 0
    """Accesses that were ever kept."""
    turns: dict[str, int] = field(default_factory=dict)
    fails_before: int = 0
    fails_after: int = 0

    def pending(self, keeper: str, after: int, limit: int) -> list[PendingAcknowledgment]:  # noqa: ARG002  # a port
        """Return rows by number."""
        self.fate.moment()
        return [row for number, row in sorted(self.rows.items()) if number > after][:limit]

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int]:
        """Keep rows in one step, once."""
        self.fate.moment()
        if self.fails_before:
            self.fails_before -= 1
            raise StorageError("of the test", "it fails before it writes")
        if self.turns.get(keeper) == turn:
            return [row.id for row in pending]
        self.turns[keeper] = turn
        numbers = [row.id or next(self.numbers) for row in pending]
        before = self.total()
        self.rows |= {
            number: replace(row, id=number) for number, row in zip(numbers, pending, strict=True)
        }
        self.kept += self.total() - before
        if self.fails_after:
            self.fails_after -= 1
            raise StorageError("of the test", "it fails after it wrote")
        self.fate.moment()
        return numbers

    def last_turn(self, keeper: str) -> int | None:
        """Return in which turn a keeper wrote last."""
        return self.turns.get(keeper)

    def drop_pending(self, keeper: str, ids: Sequence[int]) -> bool:  # noqa: ARG002  # a port
        """Forget rows."""
        self.fate.moment()
        for number in ids:
            self.rows.pop(number, None)
        self.fate.moment()
        return True

    def count_pending(self, keeper: str) -> int:  # noqa: ARG002  # a port
        """Return how many accesses wait."""
        self.fate.moment()
        return self.total()

    def total(self) -> int:
        """Return the same, at no moment."""
        return sum(row.count for row in list(self.rows.values()))


@dataclass
class Registry:
    """Archives on record."""

    archives: dict[str, RegisteredArchive] = field(default_factory=dict)

    def find(self, id: str) -> RegisteredArchive | None:  # noqa: A002  # as it is called
        """Return one."""
        return self.archives.get(id)


class CrashingClient(UnusedArchiveClient):
    """Speaks to archives by another client; the process may die before or after each request."""

    def __init__(self, client: ArchiveClient, fate: CrashPoint) -> None:
        """Speak by a client."""
        self._client = client
        self._fate = fate

    async def _mortal(self, request: Awaitable[_T]) -> _T:
        try:
            self._fate.moment()
        except Crashed:
            asyncio.ensure_future(request).cancel()
            raise
        answer = await request
        self._fate.moment()
        return answer

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Ask."""
        return await self._mortal(self._client.ask(archive, request, seconds))

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Acknowledge."""
        return await self._mortal(self._client.acknowledge(archive, request, seconds))

    async def close(self) -> None:
        """Close the other."""
        await self._client.close()


@dataclass
class CountingArchives(UnusedArchiveClient):
    """Archives that count by keys as ours do, and that may fail or hang."""

    told: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By key: the archive, and how many accesses."""
    silent: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    """Keys whose acknowledgment fails."""
    asked: int = 0
    acknowledged: list[str] = field(default_factory=list)
    urls: tuple[str, ...] = (URL,)
    under_way: dict[str, int] = field(default_factory=dict)
    most_under_way: int = 0
    most_at_one: int = 0

    async def _do(self, archive: RegisteredArchive) -> bool:
        self.under_way[archive.id] = self.under_way.get(archive.id, 0) + 1
        self.most_under_way = max(self.most_under_way, sum(self.under_way.values()))
        self.most_at_one = max(self.most_at_one, *self.under_way.values())
        try:
            await (asyncio.Event().wait() if archive.id in self.hanging else asyncio.sleep(0.001))
        finally:
            self.under_way[archive.id] -= 1
        return archive.id not in self.silent

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:  # noqa: ARG002  # a port
        """Answer with a fresh key."""
        if not await self._do(archive):
            return NoReply(archive.id, "it is silent")
        self.asked += 1
        key = UrlKey(f"{self.asked:010}-{archive.since:010}")
        return ArchiveReply(
            archive.id, listed(*(Related(FORMS, url) for url in self.urls), key=key)
        )

    async def acknowledge(
        self,
        archive: RegisteredArchive,
        request: Acknowledgment,
        seconds: float,  # noqa: ARG002  # a port
    ) -> str:
        """Count by a key once."""
        answers = await self._do(archive)
        key = str(request.key)
        self.acknowledged.append(key)
        if not answers or key in self.refused:
            return "it failed"
        self.told.setdefault(key, (archive.id, request.accesses))
        return ""

    def total(self) -> int:
        """Return how many accesses were counted."""
        return sum(accesses for _, accesses in self.told.values())


def keeper() -> Callable[[], str]:
    """Return what tells the name of a new process."""
    name = secrets.token_hex(4)
    return lambda: name


async def reached(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # of anything, which sets no event
            await asyncio.sleep(0.005)


async def kill() -> None:
    """End all tasks but this, as the end of a process does."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def archives(*found: RegisteredArchive) -> Registry:
    return Registry({each.id: each for each in found})


def flush_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have accesses kept at once, and gathered for no while: no test is about either."""
    monkeypatch.setattr(sender, "FLUSH_SECONDS", 0.01)
    monkeypatch.setattr(sender, "COLLECT_TIME", 0)
