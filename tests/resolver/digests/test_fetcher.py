"""Digests as a resolver fetches them: page by page, in turn, whatever archives say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ibi.errors import StorageError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.identifier.label import parse
from ibi.model.archive_record import ArchiveRecord
from ibi.model.registration import RegisteredArchive
from ibi.resolver.digests import fetcher as module
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.digests.locations import MAX_AGE, Locations
from ibi.resolver.ports.outbound import NoReply
from ibi.resolver.ports.store import DigestProgress, DigestRefusal
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.digest_paging import (
    MAX_INTERVAL,
    FetchTurn,
    PageMeaning,
    after_failure,
    after_page,
    after_refusal,
    meaning,
    without_digest,
)
from ibi.resolver.rules.followed_logs import FollowedLogs
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.wire.digest import DigestPage, fingerprint
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver_store import KEY, FakeArchives, until

LABEL = parse("LK47B6W/362SFKH")
EPOCH = "00112233445566778899aabbccddeeff"
OTHER = "f" * 32


def page(
    *held: int,
    dropped: tuple[int, ...] = (),
    after: int = 0,
    last: int = 10,
    more: bool = False,
    epoch: str = EPOCH,
) -> DigestPage:
    return DigestPage(epoch, after, last, more, held, dropped)


KEPT = DigestProgress("a", 1, EPOCH, 10, whole=True)


@pytest.mark.parametrize(
    ("digest", "said", "expected"),
    [
        (None, page(1), PageMeaning.NEXT),
        (None, page(1, after=5), PageMeaning.NONSENSE),
        (DigestProgress("a", 1), page(1), PageMeaning.NEXT),
        (DigestProgress("a", 1), page(1, after=5), PageMeaning.NONSENSE),
        (KEPT, page(1, after=10, last=20), PageMeaning.NEXT),
        (KEPT, page(after=10), PageMeaning.NEXT),
        (KEPT, page(1, after=9, last=20), PageMeaning.NONSENSE),
        (KEPT, page(1, after=10, last=20, epoch=OTHER), PageMeaning.NONSENSE),
        (KEPT, page(1, epoch=OTHER), PageMeaning.ANEW),
        (KEPT, page(1), PageMeaning.ANEW),
    ],
)
def test_a_page_follows_or_begins_anew_or_makes_no_sense(
    digest: DigestProgress | None, said: DigestPage, expected: PageMeaning
) -> None:
    assert meaning(digest, said) is expected


def test_who_changes_is_asked_soon_and_who_does_not_ever_later() -> None:
    turn = after_page(FetchTurn(), page(1), 100.0, 60.0, anew=False)
    assert (turn.due, turn.interval) == (160.0, 60.0)
    waits = []
    for _ in range(8):
        turn = after_page(turn, page(after=10), turn.due, 60.0, anew=False)
        waits.append(turn.interval)
    assert waits == [120, 240, 480, 960, 1920, 3600, 3600, 3600]
    lively = after_page(turn, page(2, after=10, last=11), 0.0, 60.0, anew=False)
    assert lively.interval == 60.0


def test_the_next_of_many_pages_is_asked_for_at_once_and_they_are_counted() -> None:
    turn = FetchTurn(5.0, 240.0)
    for number in range(1, 4):
        turn = after_page(turn, page(1, more=True), 7.0, 60.0, anew=False)
        assert (turn.due, turn.interval, turn.pages) == (7.0, 240.0, number)
    assert after_page(turn, page(1), 7.0, 60.0, anew=False).pages == 0


def test_after_many_pages_in_a_row_it_rests_from_them_however_they_end() -> None:
    turn = FetchTurn(0.0, 60.0, pages=300)
    for after in (
        after_page(turn, page(1), 0.0, 60.0, anew=False),
        after_page(turn, page(), 0.0, 60.0, anew=False),
        after_failure(turn, 0.0, 60.0),
    ):
        assert (after.due, after.pages) == (600.0, 0)
    assert after_page(turn, page(1), 0.0, 60.0, anew=False).interval == 60.0
    assert after_failure(replace(turn, pages=10**9), 0.0, 60.0).due == MAX_INTERVAL
    assert after_page(replace(turn, pages=3), page(1), 0.0, 60.0, anew=False).due == 60.0


def test_who_begins_anew_or_is_silent_is_asked_later_each_time() -> None:
    turn = after_page(FetchTurn(0.0, 60.0), page(1), 0.0, 60.0, anew=True)
    assert turn.interval == 120.0
    assert after_failure(turn, 0.0, 60.0).interval == 240.0
    assert after_failure(FetchTurn(), 0.0, 60.0).interval == 60.0
    assert after_failure(FetchTurn(0.0, 3000.0), 0.0, 60.0).interval == MAX_INTERVAL
    assert without_digest(1.0) == FetchTurn(1.0 + MAX_INTERVAL, MAX_INTERVAL)
    assert after_refusal(1.0) == replace(without_digest(1.0), is_refused=True)


@dataclass
class Log:
    """The digest of one archive, as it says."""

    pages: list[DigestPage | NoReply | None] = field(default_factory=list)
    """What it answers, one after the other; then that nothing is new."""
    asked: list[tuple[str, int]] = field(default_factory=list)

    def answer(self, epoch: str, after: int) -> DigestPage | NoReply | None:
        """Answer the next question."""
        self.asked.append((epoch, after))
        if self.pages:
            return self.pages.pop(0)
        return page(after=after, last=after, epoch=epoch or EPOCH)


class Archives(FakeArchives):
    """Archives that publish digests."""

    def __init__(self) -> None:
        """Have none yet."""
        super().__init__()
        self.logs: dict[str, Log] = {}
        self.held: asyncio.Event | None = None
        self.under_way = 0
        self.most_under_way = 0

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Answer as the log says."""
        assert seconds > 0
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.held is not None:
                await self.held.wait()
            return self.logs[archive.address].answer(epoch, after)
        finally:
            self.under_way -= 1


class Desk:
    """A resolver as far as it fetches digests."""

    def __init__(self, store: SqlResolverStore) -> None:
        """Begin with no archive."""
        self.store = store
        self.clock = FakeClock()
        self.registry = Registry(store.archives, store.feed, self.clock)
        self.archives = Archives()
        self.on_duty = True
        self.news: list[int] = []
        self.again: Callable[[], Awaitable[None]] = self.registry.open
        """Ends the fetching, and begins it anew."""
        self.start()

    def start(self, seconds: float = 0.01, **more: object) -> None:
        """Begin with an empty memory."""
        self.locations = Locations(
            self.store.locations,
            self.clock,
            quick=True,
            on_change=lambda print_, _: self.news.append(print_),
        )
        self.digests = DigestFetcher(
            self.registry,
            self.archives,
            self.store.locations,
            self.locations,
            self.clock,
            on_duty=lambda: self.on_duty,
            tick=0.001,
            seconds=seconds,
            **more,  # type: ignore[arg-type]  # its options
        )

    async def include(
        self, number: int, *pages: DigestPage | NoReply | None, ours: bool = True
    ) -> str:
        """Include an archive that publishes these pages; return its id."""
        service = parse(f"example.org/a{number}/2026/11.15.12.00")
        address = f"a{number}.example.org"
        self.archives.logs[address] = Log(list(pages))
        await self.registry.register(service, KEY, "", [], "operator", "me")
        version = "ibi-1.0" if ours else "2014:11.09"
        record = ArchiveRecord(address, service, "127.0.0.1", version, "a@example.org")
        await self.registry.include(service.canonical, record, confirmed=True)
        return service.canonical

    def log(self, number: int) -> Log:
        """Return what an archive says, and was asked."""
        return self.archives.logs[f"a{number}.example.org"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlResolverStore]:
    path = str(tmp_path / "registry.sqlite")
    upgrade(path, RESOLVER_MIGRATIONS, postgresql=False)
    with closing(SqlResolverStore(Sqlite(path), quick=True)) as store:
        yield store


def refusal_of(desk: Desk, archive: str) -> DigestRefusal | None:
    """Return why the digest of an archive is refused."""
    digest = desk.locations.digest(archive)
    return None if digest is None else digest.refusal


def play(store: SqlResolverStore, story: Callable[[Desk], Awaitable[None]]) -> None:
    """Tell a story about a resolver that fetches in the background."""

    async def run() -> None:
        desk = Desk(store)
        await desk.registry.open()
        task: asyncio.Task[None] | None = None

        async def again() -> None:
            nonlocal task
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            task = asyncio.create_task(desk.digests.run())

        desk.again = again
        await again()
        try:
            await story(desk)
        finally:
            assert task is not None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            desk.locations.close()
            await desk.registry.close()

    asyncio.run(run())


def test_a_digest_is_fetched_page_by_page_and_then_what_changes(store: SqlResolverStore) -> None:
    mine = fingerprint(LABEL.canonical)

    async def story(desk: Desk) -> None:
        first = page(1, 2, last=10, more=True)
        second = page(mine, dropped=(2,), after=10, last=20)
        name = await desk.include(1, first, second)
        assert not desk.locations.publishes(name)
        await until(lambda: desk.locations.publishes(name))
        assert await desk.locations.holders(LABEL) == frozenset({name})
        assert desk.news == [1, 2, mine, 2]
        assert (
            desk.log(1).asked[:3] == [("", 0), (EPOCH, 10), (EPOCH, 20)][: len(desk.log(1).asked)]
        )
        await until(lambda: (EPOCH, 20) in desk.log(1).asked)
        desk.log(1).pages.append(page(dropped=(mine,), after=20, last=30))
        await until(lambda: desk.log(1).asked[-1] == (EPOCH, 30))
        assert await desk.locations.holders(LABEL) == frozenset()
        [kept] = store.locations.digests()
        assert (kept.count, kept.last) == (1, 30)
        assert (desk.locations.whole, desk.locations.names) == (1, 1)
        assert desk.locations.age == 0

    play(store, story)


def test_after_a_restart_it_goes_on_where_it_was(store: SqlResolverStore) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.include(1, page(1, last=10))
        await until(lambda: desk.locations.publishes(name))
        desk.start()
        desk.log(1).asked.clear()
        await desk.again()
        await until(lambda: bool(desk.log(1).asked))
        assert desk.log(1).asked[0] == (EPOCH, 10)
        assert desk.locations.publishes(name)

    play(store, story)


def test_a_log_that_begins_anew_replaces_what_was_here(store: SqlResolverStore) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.include(1, page(1, 2, last=10))
        await until(lambda: desk.locations.publishes(name))
        [old] = store.locations.digests()
        desk.log(1).pages.append(page(2, 3, last=5, more=True, epoch=OTHER))
        desk.archives.held = asyncio.Event()
        desk.archives.held.set()
        await until(lambda: store.locations.digests()[0].number != old.number)
        await until(lambda: store.locations.digests()[0].whole)
        [new] = store.locations.digests()
        assert (new.epoch, new.count) == (OTHER, 2)
        await until(lambda: store.locations.holders(1) == [])
        assert store.locations.holders(2) == [new.number]
        assert store.locations.sweep_digests(0) == 0

    play(store, story)


def test_a_log_that_begins_anew_stands_for_no_answer_before_the_old_one_is_dropped(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither here nor in other processes, which need some time to learn it."""
    followed = FollowedLogs(10.0)
    seen: list[object] = []

    def is_relaying() -> bool:
        seen.append("waits")
        return True

    async def story(desk: Desk) -> None:
        desk.start(followed=followed, is_relaying=is_relaying)
        followed.seconds = 0.01
        await desk.again()
        begin = store.locations.begin_digest

        def begun(archive: str, most: int) -> DigestProgress | None:
            seen.append(set(followed.names(0.0)))
            return begin(archive, most)

        monkeypatch.setattr(store.locations, "begin_digest", begun)
        pages = page(1, 2, last=10), page(3, last=5, epoch=OTHER)
        await desk.include(1, *(replace(each, notifies=True) for each in pages))
        await until(lambda: len(seen) > 2)
        assert seen == [set(), "waits", set()]

    play(store, story)


def test_an_archive_of_others_is_not_asked_and_one_that_publishes_none_is_asked_rarely(
    store: SqlResolverStore,
) -> None:
    async def story(desk: Desk) -> None:
        await desk.include(1, ours=False)
        none = await desk.include(2, None)
        honest = await desk.include(3, page(1))
        await until(lambda: len(desk.log(3).asked) > 3)
        assert desk.log(1).asked == []
        assert len(desk.log(2).asked) == 1
        assert not desk.locations.publishes(none)
        assert desk.locations.publishes(honest)
        assert [each.archive for each in store.locations.digests()] == [honest]

    play(store, story)


def test_who_publishes_no_more_is_forgotten_and_so_is_who_is_removed(
    store: SqlResolverStore,
) -> None:
    async def story(desk: Desk) -> None:
        one = await desk.include(1, page(1))
        two = await desk.include(2, page(1))
        await until(lambda: desk.locations.whole == 2)
        desk.log(1).pages.append(None)
        await until(lambda: not desk.locations.publishes(one))
        await desk.registry.remove(two, "me")
        await until(lambda: store.locations.digests() == [])
        assert desk.locations.digests() == ()
        await until(lambda: store.locations.holders(1) == [])

    play(store, story)


@pytest.mark.parametrize(
    "lie",
    [
        page(5, after=3, last=20),
        page(5, after=10, last=20, epoch=OTHER),
        page(5, after=11, last=20),
    ],
)
def test_a_page_that_follows_nothing_ends_it(store: SqlResolverStore, lie: DigestPage) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.include(1, page(1, last=10), lie)
        honest = await desk.include(2, page(1))
        await until(lambda: len(desk.log(1).asked) == 2 and not store.locations.holders(5))
        await until(lambda: refusal_of(desk, name) is DigestRefusal.INCONSISTENT)
        await until(lambda: desk.locations.publishes(honest))
        assert len(desk.log(1).asked) == 2
        assert store.locations.holders(5) == []

    play(store, story)


def test_a_digest_without_an_end_counts_as_none(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PAGES", 20)

    async def story(desk: Desk) -> None:
        empty = [page(after=n, last=n + 1, more=True) for n in range(40)]
        name = await desk.include(1, *empty)
        honest = await desk.include(2, page(1))
        await until(lambda: desk.locations.publishes(honest))
        await until(lambda: len(desk.log(1).pages) < 20)
        await until(lambda: refusal_of(desk, name) is DigestRefusal.ENDLESS)
        assert len(desk.log(1).pages) >= 18
        assert {each.archive: each.refusal for each in store.locations.digests()} == {
            name: DigestRefusal.ENDLESS,
            honest: None,
        }

    play(store, story)


def test_who_lists_more_than_it_may_counts_as_publishing_none(store: SqlResolverStore) -> None:
    async def story(desk: Desk) -> None:
        desk.start(most_names=4)
        await desk.again()
        greedy = await desk.include(
            1, page(1, 2, 3, last=5, more=True), page(4, 5, after=5, last=9)
        )
        honest = await desk.include(2, page(1, 2, 3, 4))
        await until(lambda: len(desk.log(1).asked) == 2)
        await until(lambda: desk.locations.publishes(honest))
        await until(lambda: refusal_of(desk, greedy) is DigestRefusal.TOO_MANY_NAMES)
        assert not desk.locations.publishes(greedy)
        assert len(store.locations.holders(1)) <= 2
        await until(lambda: len(store.locations.holders(1)) == 1)

    play(store, story)


def test_a_refused_digest_is_not_read_again_for_a_notification(store: SqlResolverStore) -> None:
    """Otherwise each notification would cost all pages up to the limit."""

    async def story(desk: Desk) -> None:
        desk.start(most_names=4)
        await desk.again()
        greedy = await desk.include(1, *[page(1, 2, 3, 4, 5)] * 30)
        honest = await desk.include(2, page(1))
        await until(lambda: refusal_of(desk, greedy) is DigestRefusal.TOO_MANY_NAMES)
        await until(lambda: desk.locations.publishes(honest))
        for _ in range(3):
            asked = len(desk.log(2).asked)
            desk.digests.note_notification(greedy)
            desk.digests.note_notification(honest)
            await until(lambda asked=asked: len(desk.log(2).asked) > asked + 1)  # type: ignore[misc]
        assert len(desk.log(1).asked) == 1

    play(store, story)


def test_a_refused_digest_is_read_after_a_start_with_a_higher_limit(
    store: SqlResolverStore,
) -> None:
    async def story(desk: Desk) -> None:
        desk.start(most_names=4)
        await desk.again()
        large = await desk.include(1, page(1, 2, 3, 4, 5), page(1, 2, 3, 4, 5))
        await until(lambda: refusal_of(desk, large) is DigestRefusal.TOO_MANY_NAMES)
        desk.start(most_names=5)
        await desk.again()
        await until(lambda: desk.locations.publishes(large))
        assert refusal_of(desk, large) is None
        assert [each.refusal for each in store.locations.digests()] == [None]

    play(store, story)


def test_who_begins_anew_time_and_again_fills_no_disk(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is void is swept away in time, and until then nobody adds to it without an end."""
    sweep, sweeps = store.locations.sweep_digests, False
    monkeypatch.setattr(
        store.locations, "sweep_digests", lambda after: sweep(after) if sweeps else 0
    )

    async def story(desk: Desk) -> None:
        nonlocal sweeps
        desk.start(most_names=4)
        await desk.again()
        lies = [
            page(3 * n, 3 * n + 1, 3 * n + 2, more=True, epoch=f"{n:032x}") for n in range(1, 30)
        ]
        rogue = await desk.include(1, *lies)
        await until(lambda: len(desk.log(1).asked) >= 6)
        assert desk.locations.digest(rogue) is None
        assert sum(bool(store.locations.holders(3 * n)) for n in range(1, 30)) == 2
        late = await desk.include(2, *[page(1)] * 30)
        await until(lambda: len(desk.log(2).asked) >= 2)
        assert not desk.locations.publishes(late)
        sweeps = True
        await until(lambda: desk.locations.publishes(late))

    play(store, story)


def test_silence_leaves_what_is_here_until_it_is_old(store: SqlResolverStore) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.include(1, page(1))
        await until(lambda: desk.locations.publishes(name))
        desk.log(1).pages += [NoReply(name, "it hangs")] * 1000
        asked = len(desk.log(1).asked)
        await until(lambda: len(desk.log(1).asked) > asked + 1)
        assert desk.locations.publishes(name)
        desk.clock.sleep(MAX_AGE + 1_000_000_000 * 60)
        assert not desk.locations.publishes(name)
        desk.log(1).pages.clear()
        await until(lambda: desk.locations.publishes(name))

    play(store, story)


def test_many_are_fetched_at_once_but_not_all(store: SqlResolverStore) -> None:
    async def story(desk: Desk) -> None:
        desk.archives.held = asyncio.Event()
        names = [await desk.include(number, page(1)) for number in range(12)]
        await until(lambda: desk.archives.under_way == module.MAX_CONCURRENT)
        desk.archives.held.set()
        await until(lambda: all(map(desk.locations.publishes, names)))
        assert desk.archives.most_under_way == module.MAX_CONCURRENT
        assert await desk.locations.holders(LABEL) == frozenset()

    play(store, story)


def test_who_is_not_on_duty_asks_nobody_and_sees_what_others_fetch(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REFRESH", 0.01)

    async def story(desk: Desk) -> None:
        desk.on_duty = False
        name = await desk.include(1, page(2))
        other = store.locations.begin_digest(name, 0)
        assert other is not None
        kept = store.locations.keep_page(
            other, page(fingerprint(LABEL.canonical)), desk.clock.wall()
        )
        assert kept is not None
        await until(lambda: desk.locations.publishes(name))
        assert await desk.locations.holders(LABEL) == frozenset({name})
        assert desk.log(1).asked == []
        desk.on_duty = True
        await until(lambda: bool(desk.log(1).asked))
        assert desk.log(1).asked[0] == (EPOCH, 10)

    play(store, story)


def test_when_the_duty_is_back_all_digests_are_read_again_and_stand_for_answers(
    store: SqlResolverStore,
) -> None:
    async def story(desk: Desk) -> None:
        desk.start(seconds=3600.0, followed=FollowedLogs(10.0))
        await desk.again()
        nothing = [page(after=10)] * 2
        for number in (1, 2):
            pages = (replace(each, notifies=True) for each in (page(number), *nothing))
            await desk.include(number, *pages)
        for reads in (1, 2, 3):
            desk.on_duty = True
            await until(lambda: desk.digests.standing == 2)
            assert [len(desk.log(number).asked) for number in (1, 2)] == [reads, reads]
            desk.on_duty = False
            await until(lambda: desk.digests.standing == 0)

    play(store, story)


def test_that_nothing_changed_is_written_down_now_and_then(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    keep = store.locations.keep_page

    def note(digest: DigestProgress, said: DigestPage, at: int) -> DigestProgress | None:
        found = keep(digest, said, at)
        written.append(at)
        return found

    monkeypatch.setattr(store.locations, "keep_page", note)

    async def story(desk: Desk) -> None:
        name = await desk.include(1, page(1))
        await until(lambda: len(desk.log(1).asked) > 3)
        assert len(written) == 1
        desk.clock.sleep(module.CONFIRM_INTERVAL)
        await until(lambda: len(written) == 2)
        [kept] = store.locations.digests()
        assert kept.confirmed == written[1]
        assert desk.locations.publishes(name)

    play(store, story)


def test_a_store_that_fails_for_a_while_ends_nothing(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = True
    keep = store.locations.keep_page

    def failing(digest: DigestProgress, said: DigestPage, at: int) -> DigestProgress | None:
        if fails:
            raise StorageError("of the resolver", "the disk is full")
        return keep(digest, said, at)

    monkeypatch.setattr(store.locations, "keep_page", failing)

    async def story(desk: Desk) -> None:
        nonlocal fails
        name = await desk.include(1, page(1), page(1), page(1), page(1), page(1))
        await until(lambda: len(desk.log(1).asked) > 2)
        assert not desk.locations.publishes(name)
        fails = False
        await until(lambda: desk.locations.publishes(name))

    play(store, story)


def test_a_store_that_cannot_be_read_is_no_answer(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> list[int]:
        raise StorageError("of the resolver", "it is gone")

    async def story() -> None:
        for quick in (True, False):
            locations = Locations(store.locations, FakeClock(), quick=quick)
            with monkeypatch.context() as broken_off:
                broken_off.setattr(store.locations, "holders", broken)
                assert await locations.holders(LABEL) is None
            # One that is read in a thread is left alone for a while.
            expected = frozenset[str]() if quick else None
            assert await locations.holders(LABEL) == expected
            locations.close()

    asyncio.run(story())


def test_a_digest_that_is_not_whole_is_none(store: SqlResolverStore) -> None:
    clock = FakeClock()
    locations = Locations(store.locations, clock, quick=True)
    kept = DigestProgress("a", 1, EPOCH, 10, whole=True, confirmed=clock.wall())
    locations.replace_all([kept, replace(kept, archive="b", number=2, whole=False)])
    assert (locations.publishes("a"), locations.publishes("b")) == (True, False)
    assert locations.publishes("c") is False
    locations.put(replace(kept, confirmed=clock.wall() - MAX_AGE - 1))
    assert not locations.publishes("a")
    locations.forget("a")
    assert [each.archive for each in locations.digests()] == ["b"]
    locations.close()
