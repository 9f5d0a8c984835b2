"""Whatever keeps a resolver's records: every adapter of the port behaves the same."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibi.errors import StorageError, StorageFullError
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.store import SqlHandle
from ibi.foundation.sql.upgrade import upgrade
from ibi.identifier.label import parse
from ibi.model.conflict import Claim, Conflict
from ibi.model.registration import Inclusion, Outage, RegisteredArchive
from ibi.model.token import Token
from ibi.resolver.ports.store import (
    Challenge,
    Owner,
    PendingAcknowledgment,
    RegistryEvent,
)
from ibi.resolver.rules.archive_roster import Roster
from ibi.resolver.settings import ResolverSettings
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.wiring.app import open_resolver_store
from tests.support.processes.fresh import run_at_once
from tests.support.scenes.catalogue import schema
from tests.support.scenes.resolver_database import (
    DUTIES,
    KEEPER,
    TURNS,
    ResolverDatabase,
    conflict_of,
    database,
    drop,
    is_url,
    keep,
    keep_conflict,
    keep_pending,
    made,
    together,
)
from tests.support.scenes.small_archive import forms

TABLES = ["archive", "event", "challenge", "conflict", "owner", "acknowledgment", "token"]
TABLES += ["news", "newest", "process", "duty"]


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where nothing is yet."""
    if request.param == "sqlite":
        return str(tmp_path / "registry.sqlite")
    return schema(request.getfixturevalue("postgres"))


@pytest.fixture
def place(empty: str) -> Iterator[ResolverDatabase]:
    with made(empty) as place:
        yield place


@pytest.fixture
def store(place: ResolverDatabase) -> SqlResolverStore:
    return place()


def archive(number: int, **facts: object) -> RegisteredArchive:
    return RegisteredArchive(service=forms(number).label, key="hash", **facts)  # type: ignore[arg-type]


def event(
    act: str = "register", archive: str = "a", detail: str = "", at: int = 7
) -> RegistryEvent:
    return RegistryEvent(0, at, "me", act, archive, detail)


def claim(archive: str = "a") -> Claim:
    return Claim(
        archive=archive,
        address="a.example.org",
        url="http://a.example.org/x",
        timestamp="2026",
        first_seen=1,
        last_seen=2**62,
        answer="ibi {x y} ç",
    )


def conflict(label: str = "LK47B6W/362SFKH", **facts: object) -> Conflict:
    unkept = Conflict(id=0, label=label, claims=(claim("a"), claim("b")), opened=1, last_seen=2)
    return replace(unkept, **facts)  # type: ignore[arg-type]


def pending(number: int, count: int = 1, id_: int = 0) -> PendingAcknowledgment:
    return PendingAcknowledgment(id_, f"a{number}", f"q={number}&ç", f"k={number}", count, 2**62)


def everything(store: SqlResolverStore) -> tuple[object, ...]:
    """Return all that can be seen of a store, but owners and challenges."""
    return (
        store.archives.archives(),
        store.archives.events(0, 1000),
        store.conflicts.conflicts(0, 1000, only_open=False),
        store.acknowledgments.pending(KEEPER, 0, 1000),
        store.tokens.tokens(),
    )


# --- archives and their history -------------------------------------------------------------------


def test_an_archive_is_kept_in_the_place_of_what_was_kept_of_it(store: SqlResolverStore) -> None:
    assert store.archives.archives() == []
    keep(store, archive(1), event())
    included = Inclusion(
        address="h:80", ip="::1", platform_version="ibi", administrator="x@y", since=1, seen=2
    )
    later = archive(1, inclusion=included, confirmed=2**62, hosts=("a", "b:81"))
    for _ in range(3):
        keep(store, later, None)
    assert store.archives.archives() == [replace(later, seniority=2)]
    assert len(store.archives.events(0, 9)) == 1


def test_archives_from_before_there_were_numbers_are_senior_and_stay_so(
    place: ResolverDatabase,
) -> None:
    store = place()

    def without_numbers(execute: Execute) -> None:
        for each, confirmed in ((1, 9), (2, 8)):
            label = forms(each).label
            document = {"service": label.spelling, "key": "hash", "confirmed": confirmed}
            execute(
                "INSERT INTO resolver_archive (id, document) VALUES ($1, $2)",
                label.canonical,
                json.dumps(document),
            )

    database = place.database()
    database.transaction(without_numbers)
    database.close()
    keep(store, archive(3, confirmed=7), None)
    keep(store, archive(1, confirmed=9, hosts=("a.org",)), None)
    roster = Roster()
    for each in store.archives.archives():
        roster.put(each)
    assert list(roster.ranks()) == [archive(number).id for number in (2, 1, 3)]


def test_archives_come_by_id_in_one_order(store: SqlResolverStore) -> None:
    labels = ["LK47B6W/362SFKH", "6qtX3pFwXQZGivnK2Y/SskcB", "iconet.com.br/banon/2001/01.01.01.01"]
    kept = [RegisteredArchive(service=parse(label), key="") for label in labels]
    kept += [archive(number) for number in (5, 3, 4)]
    for each in kept:
        keep(store, each, None)
    assert store.archives.archives() == sorted(kept, key=lambda each: each.id)


def test_all_spellings_of_a_service_are_one_archive_and_the_last_is_kept(
    store: SqlResolverStore,
) -> None:
    first, second = (
        RegisteredArchive(service=parse(label), key="")
        for label in ("LK47B6W/362SFKH", "lk47b6w/362sfkh")
    )
    assert first.service.spelling != second.service.spelling
    for each in (first, second):
        keep(store, each, None)
        [found] = store.archives.archives()
        assert found.service.spelling == each.service.spelling


def test_a_dropped_archive_is_forgotten_and_its_history_is_not(store: SqlResolverStore) -> None:
    kept = archive(1)
    keep(store, kept, event("register"))
    keep(store, archive(2), None)
    assert drop(store, kept.id, event("drop"))
    before = everything(store)
    for unknown in (kept.id, "", "\0", "a\ud800"):
        assert not drop(store, unknown, event("drop"))
    assert everything(store) == before
    assert store.archives.archives() == [archive(2)]
    assert [each.act for each in store.archives.events(0, 9)] == ["register", "drop"]


def test_archives_that_were_removed_stay_known(store: SqlResolverStore) -> None:
    assert store.archives.removed() == []
    for number in (2, 1, 1):
        keep(store, archive(number), None)
        assert drop(store, archive(number).id, replace(event("remove"), archive=f"a{number}"))
    assert store.archives.removed() == ["a1", "a2"]


def test_history_grows_and_is_read_page_by_page(store: SqlResolverStore) -> None:
    acts = [f"act {number}" for number in range(5)]
    for act in acts:
        keep(store, archive(1), event(act, "a", '{"ç": "\U0001f600"}', 2**62))
    pages, after = [], 0
    while page := store.archives.events(after, 2):
        pages.append([each.act for each in page])
        after = page[-1].number
    assert pages == [acts[:2], acts[2:4], acts[4:]]
    last = store.archives.events(0, 9)[-1]
    assert last == RegistryEvent(last.number, 2**62, "me", "act 4", "a", '{"ç": "\U0001f600"}')
    assert store.archives.events(2**62, 9) == []


def test_history_takes_whatever_a_stranger_wrote(store: SqlResolverStore) -> None:
    keep(store, archive(1), event(detail="a\0b\ud800c\n'; --"))
    [found] = store.archives.events(0, 9)
    assert found.detail == "a\ufffdb\ufffdc\n'; --"


def test_an_archive_and_its_event_are_kept_together_or_not_at_all(place: ResolverDatabase) -> None:
    store = place()
    keep(store, archive(1), event())
    before = everything(store)
    impossible = event(at=2**70)  # more than a column holds
    with pytest.raises((StorageError, OverflowError)):
        keep(store, archive(1, administrator="x@y"), impossible)
    with pytest.raises((StorageError, OverflowError)):
        drop(store, archive(1).id, impossible)
    assert everything(store) == before


# --- challenges -----------------------------------------------------------------------------------


def challenge(token: str, until: int = 100) -> Challenge:
    return Challenge(token, "LK47B6W/362SFKH", "a.example.org", "x@example.org", 1, until)


def test_a_challenge_is_kept_until_it_is_taken(store: SqlResolverStore) -> None:
    kept = challenge("t1", 2**62)
    store.challenges.keep_challenge(challenge("t1"))
    store.challenges.keep_challenge(kept)
    store.challenges.keep_challenge(challenge("t2"))
    for unknown in ("t3", "", "t1\0", "\ud800"):
        assert store.challenges.challenge(unknown) is None
        assert store.challenges.take_challenge(unknown) is None
    assert store.challenges.challenge("t1") == store.challenges.challenge("t1") == kept
    assert store.challenges.take_challenge("t1") == kept
    assert store.challenges.take_challenge("t1") is None
    assert store.challenges.challenge("t1") is None
    assert store.challenges.challenge("t2") == challenge("t2")


def test_challenges_are_forgotten_when_they_end(store: SqlResolverStore) -> None:
    assert store.challenges.forget_challenges(100) == 0
    for token, until in (("a", 99), ("b", 100), ("c", 101)):
        store.challenges.keep_challenge(challenge(token, until))
    assert store.challenges.forget_challenges(100) == 2
    assert store.challenges.challenge("a") is None
    assert store.challenges.forget_challenges(2**62) == 0


def test_of_many_who_take_a_challenge_one_gets_it(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]
    stores[0].challenges.keep_challenge(challenge("t"))
    taken: list[Challenge | None] = []
    together(lambda number: taken.append(stores[number % 3].challenges.take_challenge("t")), 6)
    assert [each for each in taken if each is not None] == [challenge("t")]


# --- conflicts ------------------------------------------------------------------------------------


def test_a_conflict_is_kept_in_the_place_of_the_one_of_its_number(store: SqlResolverStore) -> None:
    first = keep_conflict(store, conflict())
    assert first.id > 0
    assert first == conflict(id=first.id)
    seen = replace(first, seen=2, last_seen=2**62)
    for _ in range(3):
        assert keep_conflict(store, seen) == seen
    assert store.conflicts.conflicts(0, 9, only_open=False) == [seen]
    assert conflict_of(store, seen.label) == seen


def test_the_newest_conflict_about_a_label_is_found(store: SqlResolverStore) -> None:
    old = keep_conflict(store, conflict("a", settled=9, owner="x", note="nota ç \0"))
    keep_conflict(store, conflict("b"))
    assert conflict_of(store, "a") == old
    new = keep_conflict(store, conflict("a"))
    assert new.id > old.id
    assert conflict_of(store, "a") == new
    for unknown in ("c", "", "a\0", "\ud800"):
        assert conflict_of(store, unknown) is None


def test_conflicts_come_page_by_page_and_are_counted_while_they_are_open(
    store: SqlResolverStore,
) -> None:
    assert store.conflicts.count_conflicts() == 0
    kept = [keep_conflict(store, conflict(f"l{number}")) for number in range(6)]
    for number in (0, 3):
        kept[number] = keep_conflict(store, replace(kept[number], settled=5, owner="a"))
    is_open = [each for each in kept if each.is_open]
    assert store.conflicts.count_conflicts() == len(is_open) == 4
    for only_open, expected in ((False, kept), (True, is_open)):
        pages, after = [], 0
        while page := store.conflicts.conflicts(after, 3, only_open=only_open):
            assert len(page) <= 3
            pages += page
            after = page[-1].id
        assert pages == expected
    keep_conflict(store, replace(kept[0], settled=0))
    assert store.conflicts.count_conflicts() == 5
    assert store.conflicts.conflicts(0, 1, only_open=True)[0].id == kept[0].id


# --- owners ---------------------------------------------------------------------------------------


def test_owners_are_kept_in_the_place_of_those_before(store: SqlResolverStore) -> None:
    store.owners.keep_owners([])
    assert store.owners.owner("x") is None
    store.owners.keep_owners([("x", Owner("a", 1)), ("y", Owner("b", 2**62, settled=True))])
    assert store.owners.owner("x") == Owner("a", 1, settled=False)
    assert store.owners.owner("y") == Owner("b", 2**62, settled=True)
    changed = [("x", Owner("c", 3, settled=True)), ("z", Owner("d", 4))]
    for _ in range(2):
        store.owners.keep_owners(changed)
        assert store.owners.owner("x") == Owner("c", 3, settled=True)
        assert store.owners.owner("z") == Owner("d", 4)
    assert store.owners.owner("y") == Owner("b", 2**62, settled=True)
    for unknown in ("X", "", "x\0", "\ud800"):
        assert store.owners.owner(unknown) is None


def test_of_two_owners_of_one_label_the_last_is_kept(store: SqlResolverStore) -> None:
    store.owners.keep_owners([("x", Owner("a", 1)), ("y", Owner("b", 1)), ("x", Owner("c", 2))])
    assert store.owners.owner("x") == Owner("c", 2)


def test_more_owners_than_a_statement_takes_are_kept_in_one_step(store: SqlResolverStore) -> None:
    owners = [(f"label {number}", Owner(f"a{number}", number)) for number in range(2_500)]
    store.owners.keep_owners(owners)
    for number in (0, 99, 100, 999, 1_000, 2_499):
        assert store.owners.owner(f"label {number}") == Owner(f"a{number}", number)
    impossible = [("label 0", Owner("other", 0)), ("z", Owner("other", 2**70))]
    with pytest.raises((StorageError, OverflowError)):
        store.owners.keep_owners([*impossible, *owners[1:]])
    assert store.owners.owner("label 0") == Owner("a0", 0)


def test_owners_are_kept_whoever_keeps_them_and_in_whatever_order(place: ResolverDatabase) -> None:
    """Two who take the same rows in two orders must not wait for each other."""
    stores = [place() for _ in range(3)]
    labels = [f"label {number}" for number in range(200)]

    def work(turn: int) -> None:
        mine = labels[turn:] + labels[:turn]
        mine = mine[::-1] if turn % 2 else mine
        for _ in range(3):
            stores[turn % 3].owners.keep_owners([(label, Owner("a", turn)) for label in mine])

    together(work, 6)
    # Each step is one: whoever came last has all.
    found = {stores[0].owners.owner(label) for label in labels}
    assert len(found) == 1
    assert None not in found


# --- acknowledgments ------------------------------------------------------------------------------


def test_acknowledgments_wait_in_order_until_they_are_dropped(store: SqlResolverStore) -> None:
    assert keep_pending(store, []) == []
    assert store.acknowledgments.pending(KEEPER, 0, 9) == []
    assert store.acknowledgments.count_pending(KEEPER) == 0
    numbers = keep_pending(store, [pending(1, 5), pending(2), pending(1, 5)])
    assert numbers == sorted({*numbers})
    kept = [
        pending(each, count, id_)
        for (each, count), id_ in zip([(1, 5), (2, 1), (1, 5)], numbers, strict=True)
    ]
    assert store.acknowledgments.pending(KEEPER, 0, 9) == kept
    assert store.acknowledgments.pending(KEEPER, numbers[0], 1) == kept[1:2]
    assert store.acknowledgments.pending(KEEPER, 2**62, 9) == []
    assert store.acknowledgments.count_pending(KEEPER) == 11
    store.acknowledgments.drop_pending(KEEPER, [])
    store.acknowledgments.drop_pending(KEEPER, [numbers[1], numbers[1], 2**62])
    assert store.acknowledgments.pending(KEEPER, 0, 9) == [kept[0], kept[2]]
    assert store.acknowledgments.count_pending(KEEPER) == 10


def test_acknowledgments_are_kept_in_the_place_of_those_of_their_number(
    store: SqlResolverStore,
) -> None:
    one, two = keep_pending(store, [pending(1), pending(2)])
    later = [pending(3), replace(pending(2, 7), id=two), pending(4)]
    numbers = keep_pending(store, later)
    assert numbers[1] == two
    assert numbers[0] < numbers[2]
    assert store.acknowledgments.pending(KEEPER, 0, 9) == [
        pending(1, 1, one),
        pending(2, 7, two),
        pending(3, 1, numbers[0]),
        pending(4, 1, numbers[2]),
    ]
    again = [replace(each, id=id_) for each, id_ in zip(later, numbers, strict=True)]
    before = store.acknowledgments.pending(KEEPER, 0, 9)
    for _ in range(2):
        assert keep_pending(store, again) == numbers
        assert store.acknowledgments.pending(KEEPER, 0, 9) == before
    keep_pending(store, [pending(1, 2, one), pending(1, 3, one)])
    assert store.acknowledgments.pending(KEEPER, 0, 1) == [pending(1, 3, one)]


def test_no_number_comes_twice(store: SqlResolverStore) -> None:
    [first] = keep_pending(store, [pending(1)])
    store.acknowledgments.drop_pending(KEEPER, [first])
    [second] = keep_pending(store, [pending(2)])
    assert second > first
    store.acknowledgments.drop_pending(KEEPER, [first])
    assert store.acknowledgments.pending(KEEPER, first, 9) == [pending(2, 1, second)]


def test_many_acknowledgments_are_kept_and_dropped_in_one_step(store: SqlResolverStore) -> None:
    many = [pending(number) for number in range(2_500)]
    numbers = keep_pending(store, many)
    kept = [replace(each, id=id_) for each, id_ in zip(many, numbers, strict=True)]
    assert store.acknowledgments.pending(KEEPER, 0, 3_000) == kept
    more = [replace(each, count=2) for each in kept]
    assert keep_pending(store, more) == numbers
    assert store.acknowledgments.count_pending(KEEPER) == 5_000
    with pytest.raises((StorageError, OverflowError)):
        keep_pending(store, [*more, pending(1, 2**70)])
    assert store.acknowledgments.count_pending(KEEPER) == 5_000
    store.acknowledgments.drop_pending(KEEPER, numbers[:-1])
    assert store.acknowledgments.pending(KEEPER, 0, 9) == more[-1:]


def test_threads_and_stores_lose_no_acknowledgment(place: ResolverDatabase) -> None:
    stores = [place() for _ in range(3)]
    given: list[int] = []

    def work(turn: int) -> None:
        store = stores[turn % 3]
        for _ in range(5):
            numbers = keep_pending(store, [pending(turn)] * 20)
            store.acknowledgments.drop_pending(KEEPER, numbers[::2])
            given.extend(numbers)

    together(work, 6)
    assert len({*given}) == len(given) == 600
    assert (
        stores[0].acknowledgments.count_pending(KEEPER)
        == len(stores[1].acknowledgments.pending(KEEPER, 0, 1_000))
        == 300
    )


def keep_apart(place: str) -> None:
    """Keep records in a process of its own."""
    store = SqlResolverStore(database(place), quick=True)
    keeper = secrets.token_hex(8)
    store.processes.register(keeper, DUTIES)
    for number in range(20):
        keep(store, archive(number), event())
        store.owners.keep_owners([("x", Owner("a", number)), ("y", Owner("a", number))])
        store.acknowledgments.keep_pending(keeper, number + 1, [pending(number)])
        keep_conflict(store, conflict())
    store.processes.unregister(keeper)
    store.close()


def test_processes_share_one_database(place: ResolverDatabase) -> None:
    run_at_once((keep_apart, (place.place,)), (keep_apart, (place.place,)))
    store = place()
    assert store.processes.adopt_pending(KEEPER) == 40
    assert len(store.archives.archives()) == 20
    assert (
        len(store.archives.events(0, 99))
        == store.acknowledgments.count_pending(KEEPER)
        == store.conflicts.count_conflicts()
        == 40
    )


# --- tokens, and the whole ------------------------------------------------------------------------


def test_tokens_are_kept_by_name_in_one_order(store: SqlResolverStore) -> None:
    tokens = [
        Token(name, f"digest {name}", "read", 1) for name in ("b", "A", "a", "B", "a-b", "aa")
    ]
    assert all(store.tokens.add_token(token) for token in tokens)
    assert not store.tokens.add_token(replace(tokens[0], digest="other"))
    assert store.tokens.tokens() == sorted(tokens, key=lambda token: token.name)
    assert store.tokens.remove_token("b")
    for unknown in ("b", "", "a\0", "\ud800"):
        assert not store.tokens.remove_token(unknown)
    assert len(store.tokens.tokens()) == 5


def test_everything_is_there_after_closing_and_opening_again(place: ResolverDatabase) -> None:
    store = place()
    keep(store, archive(1), event())
    store.challenges.keep_challenge(challenge("t"))
    keep_conflict(store, conflict())
    store.owners.keep_owners([("x", Owner("a", 1, settled=True))])
    keep_pending(store, [pending(1)])
    store.tokens.add_token(Token("me", "digest", "read", 1))
    before = everything(store)
    assert all(before)
    store.close()
    again = place()
    assert everything(again) == before
    assert again.challenges.challenge("t") == challenge("t")
    assert again.owners.owner("x") == Owner("a", 1, settled=True)


def test_what_was_kept_is_seen_by_others_at_once(place: ResolverDatabase) -> None:
    one, other = place(), place()
    assert other.owners.owner("x") is None
    one.owners.keep_owners([("x", Owner("a", 1))])
    assert other.owners.owner("x") == Owner("a", 1)


def test_a_record_that_somebody_else_wrote_is_a_fault_of_the_storage(
    place: ResolverDatabase,
) -> None:
    store = place()
    keep(store, archive(1), None)
    keep_conflict(store, conflict())
    database = place.database()
    for text in ("", "{}", '{"service": "no label", "key": ""}', "[1]", '{"id": "x"}'):
        for table in ("resolver_archive", "resolver_conflict"):
            statement = f"UPDATE {table} SET document = '{text}'"  # noqa: S608
            database.transaction(partial(_execute, statement))
        with pytest.raises(StorageError, match="cannot be read"):
            store.archives.archives()
        with pytest.raises(StorageError, match="cannot be read"):
            store.conflicts.conflicts(0, 9, only_open=False)
    database.close()


def _execute(statement: str, execute: Execute) -> None:
    execute(statement)


def calls(store: SqlResolverStore) -> Sequence[Callable[[], object]]:
    """Return a call of every method but close."""
    return [
        store.archives.archives,
        lambda: keep(store, archive(1), None),
        lambda: drop(store, "a", event()),
        lambda: store.archives.events(0, 9),
        lambda: store.challenges.keep_challenge(challenge("t")),
        lambda: store.challenges.take_challenge("t"),
        lambda: store.challenges.challenge("t"),
        lambda: store.challenges.forget_challenges(1),
        lambda: store.conflicts.conflicts(0, 9, only_open=True),
        lambda: keep_conflict(store, conflict()),
        store.conflicts.count_conflicts,
        lambda: store.owners.owner("x"),
        lambda: store.owners.keep_owners([("x", Owner("a", 1))]),
        lambda: store.acknowledgments.pending(KEEPER, 0, 9),
        lambda: keep_pending(store, [pending(1)]),
        lambda: store.acknowledgments.drop_pending(KEEPER, [1]),
        lambda: store.acknowledgments.count_pending(KEEPER),
        lambda: store.acknowledgments.last_turn(KEEPER),
        lambda: store.processes.register(f"q{next(TURNS)}", ["watch"]),
        lambda: store.processes.heartbeat(KEEPER, {}),
        lambda: store.processes.adopt_pending(KEEPER),
        lambda: store.processes.unregister("nobody"),
        store.feed.newest,
        lambda: store.feed.news(0, 9),
        lambda: store.archives.note(event(), ["x"]),
        lambda: store.tokens.add_token(Token("me", "digest", "read", 1)),
        store.tokens.tokens,
        lambda: store.tokens.remove_token("me"),
    ]


def test_every_method_says_so_when_the_tables_are_gone(place: ResolverDatabase) -> None:
    store = place()
    for call in calls(store):
        call()
    database = place.database()
    for table in TABLES:
        database.transaction(partial(_execute, f"DROP TABLE resolver_{table}"))
    database.close()
    for call in calls(store):
        with pytest.raises(StorageError):
            call()


def test_a_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    path = str(tmp_path / "registry.sqlite")
    upgrade(path, RESOLVER_MIGRATIONS, postgresql=False)
    database = Sqlite(path)
    store = SqlResolverStore(database, quick=True)

    def fill(execute: Execute) -> None:
        execute("PRAGMA max_page_count = 1")  # SQLite takes the present size for less
        for _ in range(1_000):
            execute("INSERT INTO resolver_token VALUES (hex(randomblob(999)), '', '', 0)")

    with pytest.raises(StorageFullError):
        SqlHandle(database).write(fill)  # a transaction that needs more room than there is
    assert store.tokens.tokens() == []
    store.close()


# --- documents ------------------------------------------------------------------------------------

labels = st.one_of(
    st.builds(lambda number: forms(number).label, st.integers(0, 10**6)),
    st.builds(lambda number: forms(number).short, st.integers(0, 10**6)),
    st.sampled_from(["6qtX3pFwXQZGivnK2Y/SskcB", "lk47b6w/362SFKH"]).map(parse),
)
texts = st.text(max_size=30)
times = st.integers(0, 2**63 - 1)
inclusions = st.builds(
    Inclusion,
    address=texts,
    ip=texts,
    platform_version=texts,
    administrator=texts,
    since=times,
    seen=times,
    confirmed=st.booleans(),
)
outages = st.builds(
    Outage, since=times, failures=st.integers(0, 10**6), next_try=times, reason=texts
)
registered = st.builds(
    RegisteredArchive,
    service=labels,
    key=texts,
    previous_key=texts,
    previous_until=times,
    administrator=texts,
    origin=st.sampled_from(["operator", "mail", "domain"]),
    registered=times,
    confirmed=times,
    hosts=st.lists(texts, max_size=3).map(tuple),
    inclusion=st.none() | inclusions,
    excluded=times,
    outage=st.none() | outages,
)
claims = st.builds(
    Claim,
    archive=texts,
    address=texts,
    url=texts,
    timestamp=texts,
    first_seen=times,
    last_seen=times,
    answer=texts,
)
conflicts = st.builds(
    Conflict,
    id=st.just(0),
    label=labels.map(lambda label: label.canonical),
    claims=st.lists(claims, max_size=3).map(tuple),
    opened=times,
    last_seen=times,
    seen=st.integers(1, 10**9),
    settled=times,
    owner=texts,
    note=texts,
)
# One store for all examples: each is told from those before it.
in_one_store = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@in_one_store
@given(kept=registered)
def test_an_archive_comes_back_as_it_was(store: SqlResolverStore, kept: RegisteredArchive) -> None:
    keep(store, kept, None)
    [found] = [each for each in store.archives.archives() if each.id == kept.id]
    # The store numbers archives in the order in which they are confirmed.
    assert found == replace(kept, seniority=found.seniority)
    assert found.service.spelling == kept.service.spelling


@in_one_store
@given(made=conflicts)
def test_a_conflict_comes_back_as_it_was(store: SqlResolverStore, made: Conflict) -> None:
    kept = keep_conflict(store, made)
    assert kept == replace(made, id=kept.id)
    assert conflict_of(store, made.label) == kept
    assert store.conflicts.conflicts(kept.id - 1, 1, only_open=False) == [kept]
    assert store.conflicts.conflicts(kept.id - 1, 1, only_open=True) == [kept] * kept.is_open


# --- as a resolver opens it -----------------------------------------------------------------------


def test_a_resolver_opens_its_database_and_brings_it_to_the_newest_version(
    empty: str, tmp_path: Path
) -> None:
    wanted = ResolverSettings(
        folder=tmp_path, name="x", address="http://r.example.org", database=empty
    )
    for number in (1, 2):
        store = open_resolver_store(wanted)
        assert store.quick == (not is_url(empty))
        keep(store, archive(number), None)
        assert len(store.archives.archives()) == number
        store.close()


def test_a_database_that_cannot_be_opened_is_a_fault_of_the_storage(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"no database " * 100)
    for name in ("notes.txt", "notes.txt/x.sqlite", "postgresql://u:hunter2@127.0.0.1:1/x"):
        wanted = ResolverSettings(
            folder=tmp_path, name="x", address="http://r.example.org", database=name
        )
        with pytest.raises(StorageError) as refused:
            open_resolver_store(wanted)
        assert "hunter2" not in str(refused.value)
