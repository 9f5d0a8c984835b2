"""Many processes on one database of a resolver: news, who is there, and whose rows are whose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.foundation.sql.sqlite import Sqlite
from ibi.model.conflict import Claim, Conflict
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.store import (
    ArchiveChange,
    ConflictChange,
    Owner,
    PendingAcknowledgment,
    RegistryEvent,
)
from ibi.resolver.ports.workers import FeedEntry, WorkerList
from ibi.resolver.storage import workers as sql_workers
from ibi.resolver.storage.store import SqlResolverStore
from tests.support.scenes.catalogue import schema
from tests.support.scenes.resolver_database import (
    DUTIES,
    KEEPER,
    ResolverDatabase,
    conflict_of,
    keep,
    keep_pending,
    made,
    together,
)
from tests.support.scenes.small_archive import forms

ARCHIVE = RegisteredArchive(service=forms(1).label, key="hash")
EVENT = RegistryEvent(0, 7, "me", "note", "a", "")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ResolverDatabase]:
    if request.param == "sqlite":
        empty = str(tmp_path / "registry.sqlite")
    else:
        empty = schema(request.getfixturevalue("postgres"))
    with made(empty) as place:
        yield place


@pytest.fixture
def store(place: ResolverDatabase) -> SqlResolverStore:
    return place()


# --- changes and news -----------------------------------------------------------------------------


def test_a_change_is_made_of_what_stands_there(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]
    keep(stores[0], ARCHIVE, None)

    def add(number: int) -> None:
        for turn in range(10):
            host = f"h{number}-{turn}.org"

            def added(before: RegisteredArchive | None, host: str = host) -> ArchiveChange:
                assert before is not None
                return ArchiveChange(replace(before, hosts=(*before.hosts, host)))

            stores[number].archives.change_archive(ARCHIVE.id, added)

    together(add, 3)
    [found] = stores[0].archives.archives([ARCHIVE.id])
    assert set(found.hosts) == {
        f"h{number}-{turn}.org" for number in range(3) for turn in range(10)
    }


def test_of_many_who_register_one_does(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]
    refused = []

    class SecondError(Exception):
        pass

    def register(number: int) -> None:
        def registered(before: RegisteredArchive | None) -> ArchiveChange:
            if before is not None:
                raise SecondError
            return ArchiveChange(replace(ARCHIVE, administrator=f"{number}@example.org"), EVENT)

        try:
            stores[number % 3].archives.change_archive(ARCHIVE.id, registered)
        except SecondError:
            refused.append(number)

    together(register, 6)
    assert len(refused) == 5
    assert (
        len(stores[0].archives.archives())
        == len(stores[0].archives.events(0, 9))
        == stores[0].feed.newest()
        == 1
    )


def test_archives_that_are_confirmed_at_once_have_one_order(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]
    in_order: list[str] = []

    def register(number: int) -> None:
        for turn in range(5):
            archive = replace(
                ARCHIVE, service=forms(5 * number + turn).label, confirmed=1 + turn * number
            )

            def registered(
                _: RegisteredArchive | None, each: RegisteredArchive = archive
            ) -> ArchiveChange:
                in_order.append(each.id)  # all other writers wait
                return ArchiveChange(each)

            stores[number].archives.change_archive(archive.id, registered)

    together(register, 3)
    found = sorted(stores[0].archives.archives(), key=lambda each: each.seniority)
    assert [each.id for each in found] == in_order
    assert [each.seniority for each in found] == list(range(1, 16))


def test_every_change_is_news_and_what_changes_nothing_is_none(store: SqlResolverStore) -> None:
    assert (store.feed.newest(), store.feed.news(0, 9)) == (0, [])
    keep(store, ARCHIVE, None)
    assert store.archives.change_archive(ARCHIVE.id, lambda _: None) == ARCHIVE
    assert store.archives.change_archive("nobody", lambda _: None) is None
    store.archives.note(EVENT, ["x", "y"])
    claim = Claim(
        archive="a", address="", url="", timestamp="", first_seen=1, last_seen=1, answer=""
    )
    conflict = Conflict(id=0, label="z", claims=(claim,), opened=1, last_seen=1)
    owner = Owner("a", 1, settled=True)
    change = ConflictChange(conflict, ("z",), (("z", owner),), EVENT)
    assert store.conflicts.change_conflict("z", lambda _: change) == conflict_of(store, "z")
    store.conflicts.change_conflict("z", lambda found: ConflictChange(found) if found else None)
    assert store.conflicts.change_conflict("w", lambda _: None) is None
    assert store.archives.change_archive(ARCHIVE.id, lambda _: ArchiveChange(None)) is None
    assert store.feed.news(0, 9) == [
        FeedEntry(1, ARCHIVE.id),
        FeedEntry(2, "", "x"),
        FeedEntry(3, "", "y"),
        FeedEntry(4, "", "z"),
        FeedEntry(5, ARCHIVE.id),
    ]
    assert store.feed.news(3, 1) == [FeedEntry(4, "", "z")]
    assert store.feed.newest() == 5
    assert (store.owners.owner("z"), len(store.archives.events(0, 9))) == (owner, 2)


def test_no_news_are_missed_whoever_commits_last(place: ResolverDatabase) -> None:
    """A reader that goes on after the last number that it saw sees all of them."""
    stores = [place() for _ in range(4)]
    seen: list[FeedEntry] = []

    def work(number: int) -> None:
        if number < 3:
            for turn in range(20):
                stores[number].archives.note(EVENT, [f"{number}-{turn}"])
            return
        while len(seen) < 60:
            seen.extend(stores[3].feed.news(seen[-1].number if seen else 0, 7))

    together(work, 4)
    assert [each.number for each in seen] == list(range(1, 61))
    assert len({each.label for each in seen}) == 60


def test_what_is_refused_is_no_news(store: SqlResolverStore) -> None:
    def refused(_: RegisteredArchive | None) -> ArchiveChange:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.archives.change_archive(ARCHIVE.id, refused)
    assert (store.feed.newest(), store.archives.archives()) == (0, [])


def test_news_of_long_ago_are_forgotten(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_workers, "MAX_CHANGES", 3)
    store.archives.note(EVENT, [f"{number}" for number in range(5)])
    assert [each.number for each in store.feed.news(0, 9)] == [3, 4, 5]
    assert store.feed.newest() == 5


def test_two_who_see_one_rivalry_record_one_conflict(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]

    def see(number: int) -> None:
        def seen(known: Conflict | None) -> ConflictChange:
            new = Conflict(id=0, label="z", claims=(), opened=number, last_seen=1)
            return ConflictChange(replace(known, seen=known.seen + 1) if known else new)

        stores[number % 3].conflicts.change_conflict("z", seen)

    together(see, 9)
    [conflict] = stores[0].conflicts.conflicts(0, 9, only_open=False)
    assert conflict.seen == 9


# --- who is there ---------------------------------------------------------------------------------


def test_who_joins_is_there_until_it_leaves(store: SqlResolverStore) -> None:
    store.processes.register("other", DUTIES)
    assert store.processes.heartbeat("other", {}) == WorkerList(
        {KEEPER: 1, "other": 2}, frozenset(DUTIES)
    )
    assert store.processes.heartbeat(KEEPER, {}) == WorkerList({KEEPER: 2, "other": 2})
    store.processes.unregister("other")
    assert store.processes.heartbeat("other", {}) is None
    assert store.processes.heartbeat(KEEPER, {}) == WorkerList({KEEPER: 3}, frozenset(DUTIES))
    assert store.processes.heartbeat("stranger", {}) is None


def test_duties_of_who_is_gone_are_anothers(store: SqlResolverStore) -> None:
    assert store.processes.heartbeat(KEEPER, {}) == WorkerList({KEEPER: 2}, frozenset(DUTIES))
    store.processes.register("other", [*DUTIES, "digests"])
    roll = store.processes.heartbeat("other", {})
    assert roll is not None
    assert roll.duties == {"digests"}
    # It was heard of since the beat that was seen last.
    assert store.processes.heartbeat("other", {KEEPER: 1}) == WorkerList(
        {KEEPER: 2, "other": 3}, roll.duties
    )
    everything = frozenset({*DUTIES, "digests"})
    assert store.processes.heartbeat("other", {KEEPER: 2}) == WorkerList({"other": 4}, everything)
    assert store.processes.heartbeat(KEEPER, {"other": 4}) is None
    assert store.processes.heartbeat("other", {}) == WorkerList({"other": 5}, everything)


def test_a_duty_is_of_one_whoever_beats_at_once(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(4)]
    rolls: dict[int, WorkerList | None] = {}

    def begin(number: int) -> None:
        stores[number].processes.register(f"p{number}", DUTIES)
        rolls[number] = stores[number].processes.heartbeat(f"p{number}", {})

    together(begin, 4)
    assert sorted(len(roll.duties) for roll in rolls.values() if roll) == [0, 0, 0, len(DUTIES)]


def test_who_is_long_gone_is_forgotten(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_workers, "MAX_GONE_WORKERS", 2)
    for number in range(5):
        store.processes.register(f"p{number}", [])
    assert store.processes.heartbeat(KEEPER, {f"p{number}": 1 for number in range(5)}) is not None
    known = [store.acknowledgments.last_turn(f"p{number}") for number in range(5)]
    assert known == [None, None, None, 0, 0]
    assert store.acknowledgments.last_turn(KEEPER) == 0


# --- whose rows are whose -------------------------------------------------------------------------


def row(number: int, count: int = 1, id_: int = 0) -> PendingAcknowledgment:
    return PendingAcknowledgment(id_, f"a{number}", "q", "k", count, 2**62)


def test_rows_are_read_and_counted_by_their_keeper_alone(store: SqlResolverStore) -> None:
    store.processes.register("other", [])
    [mine] = keep_pending(store, [row(1, 5)])
    other = store.acknowledgments.keep_pending("other", 1, [row(2, 7)])
    assert other
    assert store.acknowledgments.pending(KEEPER, 0, 9) == [row(1, 5, mine)]
    assert store.acknowledgments.pending("other", 0, 9) == [row(2, 7, other[0])]
    assert (
        store.acknowledgments.count_pending(KEEPER),
        store.acknowledgments.count_pending("other"),
    ) == (5, 7)
    assert store.acknowledgments.keep_pending("other", 2, [row(2, 9, mine)]) == [
        mine
    ]  # and writes nothing
    assert store.acknowledgments.pending(KEEPER, 0, 9) == [row(1, 5, mine)]


def test_what_is_written_twice_in_one_turn_is_written_once(store: SqlResolverStore) -> None:
    [first] = store.acknowledgments.keep_pending(KEEPER, 1, [row(1)]) or []
    assert store.acknowledgments.keep_pending(KEEPER, 1, [row(1), row(1, 2, first)]) == [0, first]
    assert store.acknowledgments.pending(KEEPER, 0, 9) == [row(1, 1, first)]
    assert store.acknowledgments.last_turn(KEEPER) == 1


def test_who_counts_as_gone_writes_nothing_and_its_rows_are_adopted(
    store: SqlResolverStore,
) -> None:
    numbers = keep_pending(store, [row(1, 3), row(2, 4)])
    store.processes.register("other", DUTIES)
    assert store.processes.adopt_pending("other") == 0
    assert store.processes.heartbeat("other", {KEEPER: 1})
    turn = store.acknowledgments.last_turn(KEEPER)
    assert store.acknowledgments.keep_pending(KEEPER, 99, [row(3), row(1, 9, numbers[0])]) is None
    assert not store.acknowledgments.drop_pending(KEEPER, numbers)
    assert store.acknowledgments.last_turn(KEEPER) == turn
    assert store.processes.adopt_pending("other") == 7
    assert store.processes.adopt_pending("other") == 0
    assert store.acknowledgments.pending("other", 0, 9) == [
        row(1, 3, numbers[0]),
        row(2, 4, numbers[1]),
    ]
    assert (
        store.acknowledgments.count_pending(KEEPER),
        store.acknowledgments.count_pending("other"),
    ) == (0, 7)
    assert store.acknowledgments.drop_pending("other", numbers)
    assert store.acknowledgments.pending("other", 0, 9) == []


def test_rows_of_who_left_or_was_never_there_are_adopted(place: ResolverDatabase) -> None:
    store = place()
    keep_pending(store, [row(1, 3)])
    store.processes.register("other", [])
    store.processes.unregister(KEEPER)
    assert store.acknowledgments.keep_pending(KEEPER, 99, [row(2)]) is None
    assert store.processes.adopt_pending("other") == 3
    database = place.database()
    database.transaction(
        lambda execute: execute("UPDATE resolver_acknowledgment SET keeper = ''")
    )  # as from before there were keepers
    database.close()
    assert store.processes.adopt_pending("other") == 3


def test_of_many_who_adopt_each_row_has_one_keeper(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]
    keep_pending(stores[0], [row(number) for number in range(300)])
    for number in range(3):
        stores[number].processes.register(f"p{number}", [])
    stores[0].processes.unregister(KEEPER)
    adopted = []
    together(lambda number: adopted.append(stores[number].processes.adopt_pending(f"p{number}")), 3)
    assert sum(adopted) == 300
    assert sum(stores[0].acknowledgments.count_pending(f"p{number}") for number in range(3)) == 300


def test_a_keeper_that_writes_while_it_is_declared_gone_loses_nothing(
    place: ResolverDatabase,
) -> None:
    """Either its write comes first and is adopted with the others, or it is refused."""
    stores = [place() for _ in range(2)]
    stores[1].processes.register("other", DUTIES)
    written: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            turn = 0
            while (
                numbers := stores[0].acknowledgments.keep_pending(KEEPER, turn + 1, [row(turn)])
            ) is not None:
                turn += 1
                written.extend(numbers)
        else:
            while len(written) < 5:
                pass
            stores[1].processes.heartbeat("other", {KEEPER: 1})

    together(work, 2)
    assert stores[1].processes.adopt_pending("other") == len(written)
    assert [each.id for each in stores[1].acknowledgments.pending("other", 0, 99_999)] == written


# --- the file that workers share ------------------------------------------------------------------


def test_a_read_does_not_wait_for_another_process_that_writes(tmp_path: Path) -> None:
    with made(str(tmp_path / "registry.sqlite")) as place:
        store = place()
        store.owners.keep_owners([("x", Owner("a", 1))])
        other = Sqlite(place.place)

        def while_it_writes(execute: object) -> None:
            assert callable(execute)
            execute("DELETE FROM resolver_owner")
            assert store.owners.owner("x") == Owner("a", 1)

        other.transaction(while_it_writes)
        assert store.owners.owner("x") is None
        other.close()


# --- followed logs --------------------------------------------------------------------------------


def test_followed_logs_are_published_by_the_process_whose_duty_digests_are(
    place: ResolverDatabase,
) -> None:
    one, other = place(), place()
    for name in ("one", "other"):
        one.processes.register(name, ["digests"])
    one.processes.heartbeat("one", {})
    logs = one.followed_logs
    assert logs.published(-1) == (0, [])
    assert not logs.publish("other", {"a": 7}, anew=True)
    assert logs.publish("one", {"a": 7, "b": 8}, anew=True)
    assert logs.publish("one", {}, anew=False)
    count, digests = other.followed_logs.published(-1)
    assert (count, sorted(digests)) == (2, [("a", 7), ("b", 8)])
    assert logs.publish("one", {"b": 0, "c": 9}, anew=False)
    count, digests = other.followed_logs.published(count)
    assert (count, sorted(digests)) == (3, [("b", 0), ("c", 9)])
    one.processes.unregister("one")
    one.processes.heartbeat("other", {})
    assert not logs.publish("one", {"b": 8}, anew=False)
    assert other.followed_logs.publish("other", {"c": 10}, anew=True)
    count, digests = logs.published(count)
    assert (count, sorted(digests)) == (4, [("a", 0), ("b", 0), ("c", 10)])
    assert logs.published(count) == (4, [])
