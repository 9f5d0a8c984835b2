"""Two processes on one store, and whatever may happen to them: no access is ever counted twice.

A process dies, falls asleep or loses its store at each of the moments that it goes through, while
another says that it is gone, adopts its rows and tells them. The real queue is at work, on a store
in memory that keeps the rules of the real ones
(`tests/resolver/storage/test_workers_contract.py`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any, Literal

import pytest

from ibi.errors import StorageError
from ibi.identifier.label import parse
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.resolver.acknowledgments.outbox import AcknowledgmentOutbox
from ibi.resolver.ports.store import PendingAcknowledgment
from ibi.resolver.rules.acknowledgment import Referral, acknowledgment_of, is_keyed, refreshed
from ibi.wire.requests import UrlRequest
from ibi.wire.url_list import Related, UrlList
from tests.support.doubles.minting_machine import FakeClock

ITEM = parse("8JMKD3MGP7W/3EPGUE5")
URL = "http://a.example.org/x"
REFERRAL = Referral(
    "archive",
    UrlRequest(("150.163.2.0",), ITEM),
    ContentType.DATA,
    URL,
    "http://urlib.net/8JMKD3MGP7W/3EPGUE5",
    key=UrlKey("1424636122-5331490054869684"),
)
MOST = 2
"""Accesses that one key is good for: fewer than there are, so that rows are divided."""

Fate = Literal["dies", "sleeps", "loses its store before", "loses its store after"]
FATES: tuple[Fate, ...] = ("dies", "sleeps", "loses its store before", "loses its store after")


class DiedError(BaseException):
    """The process is no more."""


@dataclass
class Store:
    """Rows and their keepers, in memory."""

    rows: dict[int, tuple[str, PendingAcknowledgment]] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    kept: int = 0
    """Accesses that were ever kept, but for those that were only counted on in another row."""

    def pending(self, keeper: str, after: int, limit: int) -> list[PendingAcknowledgment]:
        """Return the rows of a keeper."""
        rows = sorted((row.id, row) for whose, row in self.rows.values() if whose == keeper)
        return [row for number, row in rows if number > after][:limit]

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int] | None:
        """Keep rows, once, and of a keeper that is there."""
        if keeper not in self.there:
            return None
        if self.turns[keeper] == turn:
            return [row.id for row in pending]
        self.turns[keeper] = turn
        before = self.total()
        numbers = [row.id or next(self.numbers) for row in pending]
        for number, row in zip(numbers, pending, strict=True):
            assert self.rows.get(number, (keeper,))[0] == keeper
            self.rows[number] = keeper, replace(row, id=number)
        self.kept += self.total() - before
        return numbers

    def last_turn(self, keeper: str) -> int | None:
        """Return the last turn of a keeper."""
        return self.turns.get(keeper)

    def drop_pending(self, keeper: str, ids: Sequence[int]) -> bool:
        """Forget rows."""
        if keeper not in self.there:
            return False
        for number in ids:
            whose, _ = self.rows.pop(number, (keeper, None))
            assert whose == keeper
        return True

    def count_pending(self, keeper: str) -> int:
        """Return how many accesses wait with a keeper."""
        return sum(row.count for row in self.pending(keeper, 0, 1000))

    def total(self) -> int:
        """Return how many accesses wait."""
        return sum(row.count for _, row in self.rows.values())

    def join(self) -> str:
        """Let a process begin."""
        name = f"process {len(self.turns)}"
        self.turns[name] = 0
        self.there.add(name)
        return name

    def adopt(self, keeper: str, gone: str) -> int:
        """Say that a process is gone, and take its rows."""
        self.there.discard(gone)
        if keeper not in self.there:
            return 0
        adopted = [row for whose, row in self.rows.values() if whose not in self.there]
        self.rows |= {row.id: (keeper, row) for row in adopted}
        return sum(row.count for row in adopted)


@dataclass
class Archive:
    """Counts by keys, each once."""

    counted: dict[str, int] = field(default_factory=dict)
    keys: Iterator[int] = field(default_factory=lambda: count(1))

    def listed(self) -> UrlList:
        """Answer with a fresh key."""
        key = UrlKey(f"{next(self.keys):010}-{1:010}")
        related = Related(Forms.of(ITEM), URL, ContentType.DATA)
        return UrlList("a.example.org", Forms.of(ITEM), key=key, related={Relation(): related})

    def acknowledge(self, row: PendingAcknowledgment) -> None:
        """Take notice."""
        told = acknowledgment_of(row)
        self.counted.setdefault(str(told.key), told.accesses)

    @property
    def total(self) -> int:
        """How many accesses were counted."""
        return sum(self.counted.values())


class Process:
    """A queue at work, to which something happens at one of its moments."""

    def __init__(self, store: Store, archive: Archive, fate: Fate, at: int) -> None:
        """Begin; `at` is the moment of its fate, 0 for none."""
        self.store = store
        self.archive = archive
        self.name = store.join()
        self.queue = AcknowledgmentOutbox(self, FakeClock(), lambda: self.name)
        self.noted = 0
        self.moments = 0
        self._fate = fate
        self.at = at
        self.reached = asyncio.Event()
        """Set when it has met its fate."""
        self.awake = asyncio.Event()

    async def moment(self, *, of_store: bool = False, is_after: bool = False) -> None:
        """Go through a moment, or not."""
        self.moments += 1
        if self.moments != self.at:
            return
        self.reached.set()
        if self._fate == "dies":
            raise DiedError
        if self._fate == "sleeps":
            await self.awake.wait()
        elif of_store and is_after == (self._fate == "loses its store after"):
            raise StorageError("of the test", "it fails")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # the store, as the queue calls it
        """Return what the store does."""
        return getattr(self.store, name)

    def rejoin(self) -> None:
        """Notice, as at the next beat, that it counts as gone."""
        if self.name not in self.store.there:
            self.name = self.store.join()

    async def work(self, notes: Sequence[tuple[Referral, int]]) -> None:
        """Note accesses, keep them and tell of them, in the way of `acknowledging`."""
        for referral, accesses in notes:
            self.noted += accesses
            self.queue.note(referral, accesses)
            await self.again(self.queue.flush)
            await self.again(self.tell)
        await self.again(self.queue.flush)
        await self.again(self.tell)
        await self.again(self.queue.flush)

    async def again(self, act: Callable[[], Any]) -> None:
        """Do something until the store does not fail."""
        for _ in range(4):
            try:
                await act()
            except StorageError:
                self.rejoin()
            else:
                return
        raise AssertionError("the store fails for ever")

    async def tell(self) -> None:
        """Tell of all rows."""
        after = 0
        while True:
            after, rows = await self.queue.page(after)
            if not after:
                return
            line = rows
            while line and not self.queue.rows_moved:
                row = line.pop(0)
                if not is_keyed(row):
                    await self.moment()
                    acknowledgment = refreshed(row, self.archive.listed())
                    await self.moment()
                    keyed, rest = await self.queue.key(row, acknowledgment, MOST)
                    line = [*line, rest] if rest is not None else line
                    if keyed is None:
                        return
                    row = keyed
                await self.moment()
                self.archive.acknowledge(row)
                await self.moment()
                self.queue.done(row)


CURRENT: ContextVar[Process] = ContextVar("current")


@pytest.fixture(autouse=True)
def _moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each call of the store have a moment before and one after it, in one thread."""

    async def to_thread(call: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401  # whatever it is
        if not isinstance(getattr(call, "__self__", None), Store):
            return call(*given)
        await CURRENT.get().moment(of_store=True)
        done = call(*given)
        await CURRENT.get().moment(of_store=True, is_after=True)
        return done

    monkeypatch.setattr("asyncio.to_thread", to_thread)


NOTES = [(REFERRAL, 3), (REFERRAL.without_key, 1), (replace(REFERRAL.without_key, url=URL), 2)]
OTHERS = [
    (replace(REFERRAL, key=UrlKey("1424636123-5331490054869684")), 2),
    (REFERRAL.without_key, 3),
]


@dataclass
class Run:
    """What came of it."""

    store: Store
    archive: Archive
    noted: int
    moments: tuple[int, int]
    """How many each of the two went through."""
    waiting: int
    """Accesses that the survivors believe are still to be told."""


def run(a: tuple[Fate, int], b: tuple[Fate, int] = ("dies", 0), store: Store | None = None) -> Run:
    """Let two processes work, each with its fate, until all that is kept is told."""
    return asyncio.run(_run(a, b, store or Store()))


async def _run(a: tuple[Fate, int], b: tuple[Fate, int], store: Store) -> Run:
    archive = Archive()
    first, second = Process(store, archive, *a), Process(store, archive, *b)
    working = asyncio.create_task(_work(first))
    await _until(first, working)
    second.queue.add_adopted(store.adopt(second.name, first.name))
    helping = asyncio.create_task(_work(second, OTHERS))
    await _until(second, helping)
    if b[1] % 2:  # whether it hears first that it is gone, or finds out
        first.rejoin()
    first.queue.add_adopted(store.adopt(first.name, second.name))
    for process in (first, second):
        process.awake.set()
    await asyncio.gather(working, helping, return_exceptions=True)
    waiting = 0
    for process, task in ((first, working), (second, helping)):
        fault = task.exception()
        if fault is not None and not isinstance(fault, DiedError):
            raise fault
        if fault is None:
            process.at = 0
            process.rejoin()
            await asyncio.create_task(_work(process, []))
            waiting += process.queue.waiting
    last = Process(store, archive, "dies", 0)
    for gone in (first, second):
        store.adopt(last.name, gone.name)
    await asyncio.create_task(_work(last, []))
    noted = first.noted + second.noted
    return Run(store, archive, noted, (first.moments, second.moments), waiting)


async def _work(process: Process, notes: Sequence[tuple[Referral, int]] = NOTES) -> None:
    CURRENT.set(process)
    await process.work(notes)


async def _until(process: Process, task: asyncio.Task[None]) -> None:
    """Wait until a process has met its fate, or is done."""
    reached = asyncio.create_task(process.reached.wait())
    await asyncio.wait((reached, task), return_when=asyncio.FIRST_COMPLETED)
    reached.cancel()


def check(found: Run, *fates: Fate) -> None:
    """See that what was kept was counted once, and only who dies loses what it only noted."""
    assert not found.store.rows
    assert found.waiting == 0
    assert found.archive.total == found.store.kept <= found.noted
    if "dies" not in fates:
        assert found.store.kept == found.noted


def moments() -> tuple[int, int]:
    """Return how many moments two processes go through that meet no fate."""
    return run(("dies", 0)).moments


def test_two_processes_that_nothing_happens_to_tell_all() -> None:
    found = run(("dies", 0))
    check(found)
    assert found.noted == sum(accesses for _, accesses in (*NOTES, *OTHERS))
    assert min(found.moments) > 30


@pytest.mark.parametrize("fate", FATES)
def test_whatever_happens_to_one_and_whenever(fate: Fate) -> None:
    for at in range(1, moments()[0] + 1):
        check(run((fate, at)), fate)


def test_whatever_happens_to_two_and_whenever() -> None:
    chance = random.Random(7)  # noqa: S311  # a seed that is told
    for _ in range(300):
        a, b = chance.choice(FATES), chance.choice(FATES)
        check(run((a, chance.randint(1, 80)), (b, chance.randint(1, 80))), a, b)


@pytest.mark.long
def test_whatever_happens_to_two_and_whenever_in_full() -> None:
    most = max(moments())
    for a, b, first in product(FATES, FATES, range(1, most + 1)):
        for second in range(1 + first % 3, most + 1, 3):
            check(run((a, first), (b, second)), a, b)


class Unfenced(Store):
    """Takes what a process writes that counts as gone."""

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int] | None:
        """Keep rows, whoever keeps them."""
        gone = keeper not in self.there
        self.there.add(keeper)
        self.rows |= {row.id: (keeper, row) for row in pending if row.id}
        numbers = super().keep_pending(keeper, turn, pending)
        if gone:
            self.there.discard(keeper)
        return numbers


class Forgetful(Store):
    """Does not know what was written in which turn."""

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int] | None:
        """Keep rows, as often as they come."""
        if keeper in self.there:
            self.turns[keeper] = -1
        return super().keep_pending(keeper, turn, pending)


@pytest.mark.parametrize(
    ("kind", "fate"), [(Unfenced, "sleeps"), (Forgetful, "loses its store after")]
)
def test_without_its_guards_accesses_are_counted_twice(kind: type[Store], fate: Fate) -> None:
    found = [run((fate, at), store=kind()) for at in range(1, moments()[0] + 1)]
    assert any(each.archive.total > each.noted for each in found)
