"""Acknowledgments: what is decided about each, and that each access is told at most once."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from archive_server import ArchiveServer
from ibi.adapters.archive_client import HttpArchiveClient
from ibi.adapters.clock import SystemClock
from ibi.adapters.outbound_guard import OutboundGuard
from ibi.adapters.sql_resolver_store import SqlResolverStore
from ibi.adapters.sql_schema import upgrade
from ibi.adapters.sqlite import Sqlite
from ibi.errors import IbiError, StorageError
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import UrlKey
from ibi.model.forms import Forms
from ibi.model.item import ContentType, State
from ibi.model.registration import Inclusion, Outage, RegisteredArchive
from ibi.model.relation import Relation
from ibi.ports import Answer, ArchiveClient, Heard, PendingAcknowledgment, Silence
from ibi.resolver import acknowledging, acknowledgment_queue, noted_accesses
from ibi.resolver.acknowledging import MOST_ARCHIVES, Acknowledging
from ibi.resolver.acknowledgment import (
    KEY_LIFE,
    LONGEST_WAIT,
    SECOND,
    Referral,
    Step,
    acknowledgment_of,
    divided,
    is_keyed,
    is_ours,
    is_there,
    left_to_gather,
    most_at_once,
    next_step,
    pending,
    refreshed,
    request_of,
    subject,
)
from ibi.resolver.acknowledgment_queue import AcknowledgmentQueue
from ibi.resolver.duties import Duties
from ibi.resolver.known import Known, Terms
from ibi.resolver.lease import ENDED
from ibi.resolver.pace import LONGEST_REST, Pace, Rests
from ibi.wire.accesses import MOST_ACCESSES
from ibi.wire.digest import DigestPage
from ibi.wire.requests import Acknowledgment, UrlRequest
from ibi.wire.url_list import Related, UrlList
from paper_machine import PaperClock

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
OURS = RegisteredArchive(service=SERVICE, key="x", confirmed=1, inclusion=INCLUSION)
FOREIGN = replace(OURS, inclusion=replace(INCLUSION, platform_version="2.1"))
KEYED, UNKEYED = pending(REFERRAL, 2, NOW)
_T = TypeVar("_T")


# --- the rule -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _nothing_is_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accesses without a key are gathered for a while, which no test here is about."""
    monkeypatch.setattr("ibi.resolver.acknowledging.GATHER", 0)


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("age", [-SECOND, 0, 1, KEY_LIFE - 1, KEY_LIFE, LONGEST_WAIT - 1])
def test_a_key_is_sent_for_fourteen_minutes(age: int, ready: bool) -> None:  # noqa: FBT001
    waiting = Step.SEND if ready else Step.WAIT
    expected = Step.GIVE_UP if age >= KEY_LIFE else waiting
    assert next_step(KEYED, NOW + age, ready=ready) is expected


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize(
    "age", [-SECOND, 0, KEY_LIFE, LONGEST_WAIT - 1, LONGEST_WAIT, LONGEST_WAIT + 1]
)
def test_a_key_is_asked_for_within_a_week(age: int, ready: bool) -> None:  # noqa: FBT001
    waiting = Step.ASK if ready else Step.WAIT
    expected = Step.GIVE_UP if age >= LONGEST_WAIT else waiting
    assert next_step(UNKEYED, NOW + age, ready=ready) is expected


@pytest.mark.parametrize(
    ("age", "left"),
    [(0, 10), (1, 9), (9, 1), (10, 0), (11, 0), (-1, 0), (-3600 * SECOND, 0)],
)
def test_accesses_without_a_key_are_gathered_for_a_while_whatever_the_clock(
    age: int, left: int
) -> None:
    """By a clock that was set back, a while would be as long as it was set back."""
    assert left_to_gather(UNKEYED, 10, NOW + age) == left
    assert left_to_gather(KEYED, 10, NOW + age) == 0


def test_the_first_reader_has_the_key_and_the_others_none() -> None:
    assert pending(REFERRAL, 0, NOW) == []
    assert pending(REFERRAL, 1, NOW) == [KEYED]
    assert (is_keyed(KEYED), is_keyed(UNKEYED)) == (True, False)
    assert (KEYED.count, UNKEYED.count, KEYED.since) == (1, 1, NOW)
    assert pending(REFERRAL, 5, NOW) == [KEYED, replace(UNKEYED, count=4)]
    assert pending(REFERRAL.again, 5, NOW) == [replace(UNKEYED, count=5)]
    assert REFERRAL.again.again == REFERRAL.again == replace(REFERRAL, key=None)
    assert subject(UNKEYED) == subject(replace(UNKEYED, id=3, count=7, since=1))


def test_what_is_kept_is_sent_as_it_was() -> None:
    assert request_of(UNKEYED) == REFERRAL.request
    assert acknowledgment_of(replace(KEYED, count=7)) == Acknowledgment(
        REFERRAL.request.clients,
        ContentType.DATA,
        URL,
        REFERRAL.persistent_url,
        KEY,
        FORMS,
        State.ORIGINAL,
        7,
    )
    [bare] = pending(replace(REFERRAL, state=None, forms=None), 1, NOW)
    told = acknowledgment_of(bare)
    assert (told.state, told.forms) == (None, None)


def test_equal_referrals_are_one() -> None:
    twin = replace(REFERRAL, request=replace(REFERRAL.request))
    assert (twin, hash(twin)) == (REFERRAL, hash(REFERRAL))
    assert REFERRAL.again != REFERRAL
    assert replace(REFERRAL, state=State.COPY) != REFERRAL


def listed(*related: Related, key: UrlKey | None = OTHER_KEY) -> UrlList:
    relations = [Relation(), *(Relation.parse(f".translation({xx})") for xx in ("pt", "en"))]
    return UrlList("a.example.org", FORMS, key=key, related=dict(zip(relations, related)))  # noqa: B905


def test_a_fresh_key_goes_with_what_the_fresh_list_says_of_the_url() -> None:
    other = Related(Forms(ibip=FORMS.ibip), URL, ContentType.METADATA, State.COPY)
    fresh = refreshed(UNKEYED, listed(Related(FORMS, "http://a.example.org/other"), other))
    told = acknowledgment_of(replace(UNKEYED, acknowledgment=fresh))
    assert (told.key, told.url) == (OTHER_KEY, URL)
    assert (told.content, told.state, told.forms) == (other.content, other.state, other.forms)
    fresh = refreshed(UNKEYED, listed(Related(url=URL)))
    told = acknowledgment_of(replace(UNKEYED, acknowledgment=fresh))
    expected = replace(acknowledgment_of(KEYED), key=OTHER_KEY)
    assert told == expected


@pytest.mark.parametrize(
    "found",
    [
        None,
        listed(),
        listed(Related(FORMS, URL[:-1])),
        listed(Related(FORMS, URL), key=None),
        UrlList("a.example.org", FORMS, deleted="2026-01-01"),
    ],
)
def test_no_key_is_taken_for_a_url_that_is_not_listed(found: UrlList | None) -> None:
    assert not refreshed(UNKEYED, found)


def test_a_row_is_divided_without_loss() -> None:
    for many, most in product(range(1, 6), repeat=2):
        row = replace(UNKEYED, id=9, count=many)
        *rest, keyed = divided(row, KEYED.acknowledgment, most, NOW + 5)
        assert is_keyed(keyed)
        assert (keyed.count, keyed.since) == (min(many, most), NOW + 5)
        assert sum(each.count for each in (*rest, keyed)) == many
        assert [each.id for each in (*rest, keyed)] == ([9] if many <= most else [9, 0])
        assert rest == ([] if many <= most else [replace(row, count=many - most)])


def test_only_our_own_archives_count_many_by_one_key() -> None:
    assert (is_ours(OURS), most_at_once(OURS)) == (True, MOST_ACCESSES)
    assert (is_ours(FOREIGN), most_at_once(FOREIGN)) == (False, 1)
    assert not is_ours(replace(OURS, inclusion=None))


def test_an_archive_that_is_out_is_not_spoken_to() -> None:
    outage = Outage(since=1, failures=1, next_try=2, reason="x")
    assert is_there(OURS)
    assert not is_there(None)
    assert not is_there(replace(OURS, inclusion=None))
    assert not is_there(replace(OURS, confirmed=0))
    assert not is_there(replace(OURS, outage=outage))


@pytest.mark.parametrize("text", ["", "{}", "{", "[]", '{"content":"Data","url":1}'])
def test_what_cannot_be_read_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(IbiError, match="cannot be read"):
        is_keyed(replace(KEYED, acknowledgment=text))
    with pytest.raises(IbiError):
        request_of(replace(KEYED, request="servicesubject=inclusionConfirmationRequest"))


def test_turns_are_spaced_out_for_each() -> None:
    pace = Pace(50)
    assert [pace.wait("a", NOW) for _ in range(4)] == [n * SECOND // 50 for n in range(4)]
    assert pace.wait("b", NOW) == 0
    assert pace.wait("a", NOW + SECOND) == 0
    assert pace.wait("a", NOW + SECOND + 1) == SECOND // 50 - 1


def test_who_fails_rests_for_longer_each_time_but_not_for_ever() -> None:
    rests = Rests()
    assert rests.until("a") == 0
    found = []
    for _ in range(9):
        rests.failed("a", NOW)
        found.append((rests.until("a") - NOW) // SECOND)
    assert found == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert LONGEST_REST == 60 * SECOND
    assert rests.until("b") == 0
    rests.forget("a")
    rests.forget("a")
    assert rests.until("a") == 0


# --- twins of the world ---------------------------------------------------------------------------


class Died(asyncio.CancelledError):
    """The process is no more: whoever is at work does nothing further."""


@dataclass
class Fate:
    """Ends a process at one of the moments that it goes through."""

    dies_at: int = 0
    moments: int = 0
    dead: bool = False

    def moment(self) -> None:
        """Go through a moment, or not."""
        self.moments += 1
        self.dead = self.dead or self.moments == self.dies_at
        if self.dead:
            raise Died


@dataclass
class MemoryStore:
    """Pending acknowledgments in memory, of one process after the other.

    It may die before or after each step; whoever comes next keeps all.
    """

    rows: dict[int, PendingAcknowledgment] = field(default_factory=dict)
    fate: Fate = field(default_factory=Fate)
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


class MortalClient:
    """Speaks to archives by another client; the process may die before or after each request."""

    def __init__(self, client: ArchiveClient, fate: Fate) -> None:
        """Speak by a client."""
        self._client = client
        self._fate = fate

    async def _mortal(self, request: Awaitable[_T]) -> _T:
        try:
            self._fate.moment()
        except Died:
            asyncio.ensure_future(request).cancel()
            raise
        answer = await request
        self._fate.moment()
        return answer

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Heard:
        """Ask."""
        return await self._mortal(self._client.ask(archive, request, seconds))

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Acknowledge."""
        return await self._mortal(self._client.acknowledge(archive, request, seconds))

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Not needed here."""
        raise NotImplementedError

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | Silence | None:
        """Not needed here."""
        raise NotImplementedError

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Not needed here."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the other."""
        await self._client.close()


@dataclass
class PaperArchives:
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

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Heard:  # noqa: ARG002  # a port
        """Answer with a fresh key."""
        if not await self._do(archive):
            return Silence(archive.id, "it is silent")
        self.asked += 1
        key = UrlKey(f"{self.asked:010}-{archive.since:010}")
        return Answer(archive.id, listed(*(Related(FORMS, url) for url in self.urls), key=key))

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

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Not needed here."""
        raise NotImplementedError

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | Silence | None:
        """Not needed here."""
        raise NotImplementedError

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Not needed here."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""

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


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledging, "FLUSH", 0.01)


def archives(*found: RegisteredArchive) -> Registry:
    return Registry({each.id: each for each in found})


# --- the queue ------------------------------------------------------------------------------------


@pytest.mark.parametrize("failures", [(1, 0), (0, 1), (2, 0), (1, 1)])
def test_what_was_written_or_not_is_written_once(failures: tuple[int, int]) -> None:
    async def run() -> None:
        store = MemoryStore()
        # A clock that stands still must not make two writes look like one.
        queue = AcknowledgmentQueue(store, PaperClock(), keeper())
        other = replace(REFERRAL, url="http://a.example.org/b")
        # Rows that are new, that grow, and both at once.
        for notes in ([REFERRAL], [REFERRAL.again], [REFERRAL.again], [other, other.again]):
            store.fails_before, store.fails_after = failures
            for referral in notes:
                queue.note(referral, 5)
            for _ in range(sum(failures)):
                with pytest.raises(StorageError):
                    await queue.flush()
            queue.note(REFERRAL.again, 1)
            await queue.flush()
            await queue.flush()
        assert store.total() == 5 * 5 + 4 == queue.waiting
        [row] = [row for row in store.rows.values() if not is_keyed(row) and row.count > 4][:1]
        store.fails_before, store.fails_after = failures
        for _ in range(sum(failures)):
            with pytest.raises(StorageError):
                await queue.key(row, KEYED.acknowledgment, 2)
        queue.note(REFERRAL.again, 1)
        await queue.flush()
        assert store.total() == 5 * 5 + 5 == queue.waiting

    asyncio.run(run())


def test_one_row_grows_while_its_archive_is_out() -> None:
    async def run() -> None:
        clock = PaperClock()
        store = MemoryStore()
        queue = AcknowledgmentQueue(store, clock, keeper())
        for _ in range(5):
            queue.note(REFERRAL.again, 3)
            await queue.flush()
        assert [row.count for row in store.rows.values()] == [15]
        clock.true += acknowledgment_queue.GROWING
        queue.note(REFERRAL.again, 2)
        await queue.flush()
        assert [row.count for row in store.rows.values()] == [15, 2]
        # The time of a key is that of its access, however long nothing was noted before.
        queue.note(REFERRAL, 1)
        await queue.flush()
        assert abs(store.rows[3].since - clock.wall()) < SECOND

    asyncio.run(run())


def test_a_row_that_grew_since_it_was_read_is_told_whole() -> None:
    async def run() -> None:
        store = MemoryStore()
        queue = AcknowledgmentQueue(store, PaperClock(), keeper())
        queue.note(REFERRAL.again, 3)
        await queue.flush()
        _, [row] = await queue.page(0)
        queue.note(REFERRAL.again, 4)
        await queue.flush()
        keyed, rest = await queue.key(row, KEYED.acknowledgment, 5)
        assert keyed is not None
        assert rest is not None
        assert (keyed.count, rest.count) == (5, 2)
        queue.done(keyed)
        assert await queue.give_up(rest) == 2
        queue.note(REFERRAL.again, 1)
        await queue.flush()
        assert [row.count for row in store.rows.values()] == [1]
        assert queue.waiting == 1

    asyncio.run(run())


def test_memory_is_bounded_and_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledgment_queue, "MOST_NOTED", 2)

    async def run() -> None:
        store = MemoryStore(fails_before=1)
        queue = AcknowledgmentQueue(store, PaperClock(), keeper())
        queue.note(REFERRAL, 1)
        with pytest.raises(StorageError):
            await queue.flush()
        for number in range(3):
            queue.note(replace(REFERRAL, url=f"http://a.example.org/{number}"), 2)
            queue.note(replace(REFERRAL, url="http://a.example.org/0"), 1)
        assert queue.lost == 4
        await queue.flush()
        assert store.total() == 1 + 2 + 3

    asyncio.run(run())


def test_no_disk_is_filled_and_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can read what is known faster than archives can be told."""
    monkeypatch.setattr(acknowledgment_queue, "MOST_ROWS", 3)

    async def run() -> None:
        store = MemoryStore()
        queue = AcknowledgmentQueue(store, PaperClock(), keeper())
        others = [replace(REFERRAL.again, url=f"http://a.example.org/{n}") for n in range(4)]
        for each in (*others, REFERRAL):
            queue.note(each, 2)
        await queue.flush()
        # The access that has its key goes before the others.
        assert len(store.rows) == 3
        assert (queue.lost, queue.waiting, store.total()) == (5, 5, 5)
        # Where there is a row already, accesses are added to it.
        queue.note(others[0], 7)
        queue.note(others[3], 1)
        await queue.flush()
        assert (queue.lost, queue.waiting, store.total()) == (6, 12, 12)
        _, rows = await queue.page(0)
        queue.done(next(row for row in rows if is_keyed(row)))
        await queue.flush()
        queue.note(others[3], 1)
        await queue.flush()
        assert (queue.lost, queue.waiting, store.total()) == (6, 12, 12)

    asyncio.run(run())


# --- archives on paper ----------------------------------------------------------------------------


def work(
    client: PaperArchives,
    act: Callable[[Acknowledging, MemoryStore], Coroutine[Any, Any, None]],
    *found: RegisteredArchive,
    clock: PaperClock | None = None,
) -> tuple[Acknowledging, MemoryStore]:
    """Do something while archives are being told."""

    async def run() -> tuple[Acknowledging, MemoryStore]:
        store = MemoryStore()
        telling = Acknowledging(store, client, archives(*found), clock or SystemClock(), keeper())
        telling.open()
        await act(telling, store)
        await telling.close()
        return telling, store

    return asyncio.run(run())


async def all_told(telling: Acknowledging) -> None:
    await reached(lambda: telling.waiting == 0)


def test_hot_accesses_are_told_together_to_our_own_archives() -> None:
    async def act(telling: Acknowledging, _: MemoryStore) -> None:
        telling.note(REFERRAL)
        telling.note(REFERRAL.again, 2500)
        await all_told(telling)

    client = PaperArchives()
    telling, store = work(client, act, OURS)
    assert sorted(accesses for _, accesses in client.told.values()) == [1, 500, 1000, 1000]
    assert (telling.sent, telling.accesses_told, telling.given_up) == (4, 2501, 0)
    assert (telling.waiting, telling.lost, store.rows) == (0, 0, {})


def test_foreign_archives_are_told_of_each_access_by_its_own_key() -> None:
    async def act(telling: Acknowledging, _: MemoryStore) -> None:
        telling.note(REFERRAL, 7)
        await all_told(telling)

    client = PaperArchives()
    telling, store = work(client, act, FOREIGN)
    assert [accesses for _, accesses in client.told.values()] == [1] * 7
    assert len(set(client.acknowledged)) == len(client.acknowledged) == 7
    assert (telling.sent, telling.accesses_told, store.rows) == (7, 7, {})


def test_a_url_that_is_listed_no_more_is_given_up() -> None:
    async def act(telling: Acknowledging, _: MemoryStore) -> None:
        telling.note(REFERRAL, 4)
        await all_told(telling)

    client = PaperArchives(urls=("http://a.example.org/elsewhere",))
    telling, store = work(client, act, OURS)
    assert (client.total(), telling.given_up, store.rows) == (1, 3, {})


def test_what_cannot_be_read_any_more_is_given_up_and_stops_nobody() -> None:
    async def act(telling: Acknowledging, store: MemoryStore) -> None:
        store.keep_pending(
            "before",
            1,
            [
                replace(KEYED, acknowledgment="{"),
                replace(UNKEYED, request="servicesubject=x"),
                replace(KEYED, request=""),
            ],
        )
        telling.note(REFERRAL)
        await reached(lambda: telling.given_up == 3 and telling.accesses_told == 1)

    client = PaperArchives()
    telling, store = work(client, act, OURS, clock=PaperClock(NOW))
    assert (client.total(), telling.waiting, store.rows) == (1, 0, {})


def test_accesses_wait_for_an_archive_that_is_out_and_are_told_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acknowledging, "RETURN", SECOND // 100)

    async def run() -> None:
        client, store, registry = PaperArchives(), MemoryStore(), Registry()
        telling = Acknowledging(store, client, registry, SystemClock(), keeper())
        telling.open()
        telling.note(REFERRAL.again, 3)
        await reached(lambda: bool(store.rows))
        for state in (None, replace(OURS, inclusion=None), OURS):
            assert client.asked == 0
            assert telling.waiting == 3
            if state is not None:
                registry.archives[OURS.id] = state
        await all_told(telling)
        await telling.close()
        assert client.total() == 3

    asyncio.run(run())


def test_accesses_are_given_up_after_a_week() -> None:
    async def act(telling: Acknowledging, store: MemoryStore) -> None:
        store.keep_pending(
            "before",
            1,
            [replace(UNKEYED, count=5, since=NOW - LONGEST_WAIT), replace(UNKEYED, since=NOW)],
        )
        telling.note(REFERRAL.again)  # wakes it up
        await reached(lambda: telling.given_up == 5)

    telling, _ = work(PaperArchives(), act, clock=PaperClock(NOW))
    assert telling.waiting == 2


def test_an_acknowledgment_that_fails_is_sent_again_with_the_same_key_and_no_other() -> None:
    async def act(telling: Acknowledging, _: MemoryStore) -> None:
        telling.note(REFERRAL.again, 3)
        for sent in range(1, 4):
            await reached(lambda sent=sent: client.acknowledged.count(first) >= sent)  # type: ignore[misc]
            clock.true += LONGEST_REST
            telling.note(replace(REFERRAL, url="http://a.example.org/b"))  # wakes it up
        assert set(client.acknowledged) - {str(KEY)} == {first}
        assert client.asked == 1
        clock.true += KEY_LIFE
        telling.note(replace(REFERRAL, url="http://a.example.org/c"))
        await reached(lambda: telling.given_up >= 3)

    clock = PaperClock(NOW)
    first = f"{1:010}-{1:010}"
    client = PaperArchives(refused={first})
    work(client, act, OURS, clock=clock)
    assert first not in client.told


def test_neither_silent_nor_hanging_archives_hold_up_others() -> None:
    names = [f"sid.inpe.br/mtc-m{number}@80/2009/08.21.17.02" for number in range(12)]
    found = [replace(OURS, service=parse(name, strict=True)) for name in names]

    async def act(telling: Acknowledging, store: MemoryStore) -> None:
        for archive in found:
            telling.note(replace(REFERRAL, archive=archive.id).again, 10)
        await reached(lambda: client.total() == 80)
        assert store.total() >= 40

    client = PaperArchives(
        silent={archive.id for archive in found[:2]}, hanging={archive.id for archive in found[2:4]}
    )
    telling, store = work(client, act, *found)
    assert {archive for archive, _ in client.told.values()} == {each.id for each in found[4:]}
    assert (telling.waiting, store.total()) == (40, 40)
    assert (client.most_at_one, client.most_under_way <= MOST_ARCHIVES) == (1, True)


def test_a_store_that_fails_for_a_while_loses_nothing() -> None:
    async def act(telling: Acknowledging, store: MemoryStore) -> None:
        for failures in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0)):
            store.fails_before, store.fails_after = failures
            telling.note(REFERRAL.again, 3)
            await reached(lambda: not (store.fails_before or store.fails_after))
        await all_told(telling)

    client = PaperArchives()
    telling, store = work(client, act, OURS)
    assert (client.total(), telling.accesses_told, store.rows) == (15, 15, {})


def test_what_is_noted_until_the_end_is_kept() -> None:
    async def act(telling: Acknowledging, _: MemoryStore) -> None:
        telling.note(REFERRAL, 3)

    _, store = work(PaperArchives(hanging={OURS.id}), act, OURS)
    assert store.total() == 3


# --- a real archive -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    return archive.deposit({"Relatório 50%.txt": b"a"}, target="Relatório 50%.txt")


def counted(archive: ArchiveServer, item: dict[str, Any]) -> int:
    total: int = archive.api("GET", f"statistics?item={item['rep']}").json()["total"]
    return total


def registered(archive: ArchiveServer, platform: str) -> RegisteredArchive:
    inclusion = replace(
        INCLUSION, address=urlsplit(archive.address).netloc, platform_version=platform
    )
    service = parse(archive.service, strict=True)
    return RegisteredArchive(service=service, key="x", confirmed=1, inclusion=inclusion)


def real_client() -> HttpArchiveClient:
    return HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))


async def referral(
    client: ArchiveClient, archive: RegisteredArchive, item: dict[str, Any]
) -> Referral:
    """Ask as a resolver does for a reader."""
    request = UrlRequest(("150.163.2.0",), parse(item["ibip"], strict=True))
    heard = await client.ask(archive, request, 60.0)
    assert isinstance(heard, Answer)
    assert heard.listed is not None
    found = heard.listed.related[Relation()]
    assert found.content is not None
    persistent = f"http://urlib.net/{item['ibip']}"
    return Referral(
        archive.id,
        request,
        found.content,
        found.url,
        persistent,
        found.state,
        found.forms,
        heard.listed.key,
    )


async def life(
    store: MemoryStore, found: RegisteredArchive, item: dict[str, Any], readers: int
) -> bool:
    """Send readers, unless it is the last life; until all is told, or it ends. Tell whether so."""
    client = real_client()
    first = await referral(client, found, item)

    def note(telling: Acknowledging) -> None:
        if readers:
            telling.note(first)
            telling.note(first.again, readers - 1)

    return await lived(store, client, found, note)


async def lived(
    store: MemoryStore,
    client: HttpArchiveClient,
    found: RegisteredArchive,
    note: Callable[[Acknowledging], None],
) -> bool:
    mortal = MortalClient(client, store.fate)
    telling = Acknowledging(store, mortal, archives(found), SystemClock(), keeper())
    telling.open()
    note(telling)
    await reached(lambda: store.fate.dead or (telling.waiting == 0 and not store.rows))
    died = store.fate.dead
    if died:
        await kill()
    else:
        await telling.close()
    await client.close()
    return died


@pytest.mark.parametrize(("platform", "readers"), [("ibi-0.1", 1501), ("2.1", 3)])
def test_whenever_a_resolver_dies_what_it_kept_is_counted_once(
    archive: ArchiveServer, item: dict[str, Any], platform: str, readers: int
) -> None:
    found = registered(archive, platform)
    died = True
    for moment in count(1):
        before = counted(archive, item)
        store = MemoryStore(fate=Fate(dies_at=moment))
        died = asyncio.run(life(store, found, item, readers))
        assert counted(archive, item) - before <= readers
        store.fate = Fate()
        assert not asyncio.run(life(store, found, item, 0))
        assert counted(archive, item) - before == store.kept
        assert store.kept in {0, readers}
        if not died:
            break
    assert store.kept == readers
    assert moment > 20


def test_a_resolver_that_dies_again_and_again_counts_nothing_twice(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    found = registered(archive, "2.1")
    store = MemoryStore()
    before = counted(archive, item)
    for moment in (9, 14, 11, 8, 17, 12, 10):
        store.fate = Fate(dies_at=moment)
        asyncio.run(life(store, found, item, 2))
        assert counted(archive, item) - before <= store.kept
    store.fate = Fate()
    asyncio.run(life(store, found, item, 1))
    assert counted(archive, item) - before == store.kept


@pytest.fixture(scope="module")
def items(archive: ArchiveServer) -> list[dict[str, Any]]:
    return [archive.deposit({"a": b"a"}, target="a") for _ in range(3)]


def known(found: RegisteredArchive, items: list[dict[str, Any]]) -> list[Known]:
    terms = Terms("http://urlib.net", found.id, ContentType.DATA, State.ORIGINAL)
    return [
        Known(ENDED, terms, f"/{item['ibip']}".encode(), item["url"].encode(), None)
        for item in items
    ]


READ = [(0, "150.163.2.0", 2), (1, "150.163.2.0", 1), (1, "192.0.2.7", 3), (2, "192.0.2.8", 1)]
"""Which item, by whom, and how often."""


@pytest.mark.parametrize(("platform", "messages"), [("ibi-0.1", 1), ("2.1", 7)])
def test_whenever_a_resolver_dies_a_sheet_is_counted_once(
    archive: ArchiveServer,
    items: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    messages: int,
) -> None:
    monkeypatch.setattr(noted_accesses, "FEW", 0)
    found = registered(archive, platform)
    sent: list[int] = []

    def note(telling: Acknowledging) -> None:
        kept = known(found, items)
        for number, reader, times in READ:
            for _ in range(times):
                telling.note_known(kept[number], (reader,))
        seen.append(telling)

    seen: list[Acknowledging] = []
    for moment in count(1):
        before = [counted(archive, item) for item in items]
        store = MemoryStore(fate=Fate(dies_at=moment))
        died = asyncio.run(lived(store, real_client(), found, note))
        sent.append(seen.pop().sent)
        store.fate = Fate()
        assert not asyncio.run(lived(store, real_client(), found, lambda _: None))
        grown = [counted(archive, item) - old for item, old in zip(items, before, strict=True)]
        assert grown in ([0, 0, 0], [2, 4, 1])
        assert sum(grown) == store.kept
        if not died:
            break
    assert grown == [2, 4, 1]
    assert sent[-1] == messages
    assert moment > 8


def test_a_resolver_on_a_real_database_tells_all_after_a_restart(
    archive: ArchiveServer, item: dict[str, Any], tmp_path: Path
) -> None:
    place = tmp_path / "resolver.sqlite"
    upgrade(str(place), postgresql=False, part="resolver")
    found = registered(archive, "ibi-0.1")
    before = counted(archive, item)

    async def run(registry: Registry, readers: int) -> int:
        store, client = SqlResolverStore(Sqlite(place), quick=True), real_client()
        duties = Duties(store, SystemClock())
        telling = Acknowledging(store, client, registry, SystemClock(), lambda: duties.process)
        duties.on_adoption.append(telling.adopted)
        await duties.open()
        telling.open()
        first = await referral(client, found, item)
        for _ in range(readers):
            telling.note(first)
        if not readers:
            await reached(lambda: telling.accesses_told == 5)
        await telling.close()
        await client.close()
        waiting = store.count_pending(duties.process)
        await duties.close()
        store.close()
        return waiting

    assert asyncio.run(run(archives(), 5)) == 5
    assert counted(archive, item) == before
    assert asyncio.run(run(archives(found), 0)) == 0
    assert counted(archive, item) == before + 5
