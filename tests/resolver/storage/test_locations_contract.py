"""Whatever keeps digests for a resolver: every database behaves the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.errors import StorageError
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.resolver.ports.store import DigestProgress, DigestRefusal
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.wire.digest import FINGERPRINT_END, DigestPage
from tests.support.scenes.catalogue import schema

EPOCH = "00112233445566778899aabbccddeeff"
OTHER = "f" * 32


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    database: Database
    if request.param == "sqlite":
        path = str(tmp_path / "registry.sqlite")
        upgrade(path, RESOLVER_MIGRATIONS, postgresql=False)
        database = Sqlite(path)
    else:
        url = schema(request.getfixturevalue("postgres"))
        upgrade(url, RESOLVER_MIGRATIONS, postgresql=True)
        database = Postgres(url)
    with ExitStack() as stack:
        stack.callback(database.close)
        yield database


@pytest.fixture
def store(database: Database) -> SqlResolverStore:
    return SqlResolverStore(database, quick=True)


def page(
    *held: int,
    dropped: tuple[int, ...] = (),
    after: int = 0,
    last: int = 10,
    more: bool = False,
    epoch: str = EPOCH,
) -> DigestPage:
    return DigestPage(epoch, after, last, more, tuple(sorted(held)), dropped)


def begun(store: SqlResolverStore, archive: str) -> DigestProgress:
    """Begin a digest, however much waits to be swept away."""
    digest = store.locations.begin_digest(archive, FINGERPRINT_END)
    assert digest is not None
    return digest


def kept(
    store: SqlResolverStore, digest: DigestProgress, said: DigestPage, at: int = 5
) -> DigestProgress:
    found = store.locations.keep_page(digest, said, at)
    assert found is not None
    return found


def test_a_digest_begins_with_nothing(store: SqlResolverStore) -> None:
    assert store.locations.digests() == []
    digest = begun(store, "a")
    assert digest == DigestProgress("a", digest.number)
    assert store.locations.digests() == [digest]
    assert store.locations.holders(1) == []


def test_pages_add_and_take_away(store: SqlResolverStore) -> None:
    one = begun(store, "a")
    one = kept(store, one, page(1, 2, FINGERPRINT_END - 1, more=True))
    assert one == DigestProgress("a", one.number, EPOCH, 10, whole=False, confirmed=0, count=3)
    one = kept(store, one, page(3, 2, dropped=(1, 77), after=10, last=20), 8)
    assert one == DigestProgress("a", one.number, EPOCH, 20, whole=True, confirmed=8, count=3)
    assert [store.locations.holders(each) for each in (1, 2, 3, FINGERPRINT_END - 1)] == [
        []
    ] + 3 * [[one.number]]
    two = kept(store, begun(store, "b"), page(2))
    assert sorted(store.locations.holders(2)) == sorted((one.number, two.number))
    assert sorted(store.locations.holders_of_each([1, 2, 3, 99])) == sorted(
        [(2, one.number), (2, two.number), (3, one.number)]
    )
    assert store.locations.holders_of_each([]) == []
    assert sorted(store.locations.digests(), key=lambda each: each.archive) == [one, two]
    more = kept(store, one, page(4, after=20, last=30, more=True), 9)
    assert (more.whole, more.confirmed) == (True, 8)


def test_the_same_page_again_changes_nothing(store: SqlResolverStore) -> None:
    digest = begun(store, "a")
    first = kept(store, digest, page(1, 2))
    assert store.locations.keep_page(digest, page(1, 2), 6) is None
    assert store.locations.digests() == [first]


def test_a_page_of_one_who_was_overtaken_is_not_kept(store: SqlResolverStore) -> None:
    late = kept(store, begun(store, "a"), page(1))
    ahead = kept(store, late, page(dropped=(1,), after=10, last=20))
    assert store.locations.keep_page(late, page(1, 5, after=10, last=15), 7) is None
    assert store.locations.holders(1) == store.locations.holders(5) == []
    assert store.locations.digests() == [ahead]
    anew = begun(store, "a")
    assert store.locations.keep_page(ahead, page(6, after=20, last=30), 7) is None
    assert store.locations.holders(6) == []
    assert store.locations.digests() == [anew]
    store.locations.drop_digest("a")
    assert store.locations.keep_page(anew, page(6), 7) is None
    assert store.locations.holders(6) == []


def test_the_refusal_of_a_digest_is_kept_until_it_is_begun_anew(store: SqlResolverStore) -> None:
    digest = kept(store, begun(store, "a"), page(1))
    refused = store.locations.refuse_digest("a", DigestRefusal.TOO_MANY_NAMES)
    assert (refused.refusal, refused.epoch, refused.count) == (DigestRefusal.TOO_MANY_NAMES, "", 0)
    assert store.locations.digests() == [refused]
    assert store.locations.keep_page(digest, page(2), 7) is None
    swept(store)
    assert store.locations.holders(1) == []
    anew = begun(store, "a")
    assert anew.refusal is None
    assert store.locations.digests() == [anew]


def test_a_page_that_was_kept_in_part_is_kept_again(
    database: Database, store: SqlResolverStore
) -> None:
    names = random.Random(1).sample(range(FINGERPRINT_END), 10_000)  # noqa: S311  # the same each time
    digest = begun(store, "a")

    class Dies(Exception):  # noqa: N818  # a power cut
        pass

    left = 2

    class Failing:
        def __getattr__(self, name: str) -> object:
            return getattr(database, name)

        def transaction(self, work: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise Dies
            return database.transaction(work)  # type: ignore[arg-type]

    failing = SqlResolverStore(Failing(), quick=True)  # type: ignore[arg-type]
    with pytest.raises(Dies):
        failing.locations.keep_page(digest, page(*names), 5)
    [half] = store.locations.digests()
    assert (half.last, half.whole, 0 < half.count < 10_000) == (0, False, True)
    assert kept(store, half, page(*names)).count == 10_000
    gone = tuple(sorted(names[:9000]))
    after = kept(store, store.locations.digests()[0], page(dropped=gone, after=10, last=20))
    assert after.count == 1000
    assert store.locations.holders(names[0]) == []
    assert store.locations.holders(names[9999]) == [after.number]


def rows(database: Database) -> int:
    [(count,)] = database.read("SELECT count(*) FROM resolver_holding")
    return int(count)


def swept(store: SqlResolverStore) -> int:
    """Sweep once from the beginning to the end; return in how many steps."""
    steps, place = 1, store.locations.sweep_digests(0)
    while place:
        steps, place = steps + 1, store.locations.sweep_digests(place)
    return steps


def test_what_is_forgotten_is_swept_away_in_parts(
    database: Database, store: SqlResolverStore
) -> None:
    names = sorted(random.Random(2).sample(range(FINGERPRINT_END), 15_000))  # noqa: S311  # the same each time
    assert swept(store) == 1
    old = kept(store, begun(store, "a"), page(*names))
    kept(store, begun(store, "b"), page(*names[:100]))
    gone = kept(store, begun(store, "c"), page(*names[50:150]))
    new = kept(store, begun(store, "a"), page(*names[:10]))
    store.locations.drop_digest("c")
    assert old.number not in {each.number for each in store.locations.digests()}
    assert set(store.locations.holders(names[99])) >= {old.number, gone.number}
    assert swept(store) > 1
    assert rows(database) == 110
    assert old.number not in store.locations.holders(names[99])
    assert new.number in store.locations.holders(names[0])
    assert database.read("SELECT count(*) FROM resolver_digest") == [(2,)]
    assert store.locations.sweep_digests(0) == 0


def test_what_is_forgotten_meanwhile_is_swept_the_next_time(
    database: Database, store: SqlResolverStore
) -> None:
    names = sorted(random.Random(3).sample(range(FINGERPRINT_END), 12_000))  # noqa: S311  # the same each time
    kept(store, begun(store, "a"), page(*names))
    kept(store, begun(store, "b"), page(*names[:3]))
    store.locations.drop_digest("a")
    place = store.locations.sweep_digests(0)
    assert place
    store.locations.drop_digest("b")
    while place:
        place = store.locations.sweep_digests(place)
    assert rows(database) == 3
    swept(store)
    assert rows(database) == 0
    assert database.read("SELECT count(*) FROM resolver_digest") == [(0,)]


def test_none_begins_while_too_much_waits_to_be_swept_away(
    database: Database, store: SqlResolverStore
) -> None:
    """Who begins anew time and again, each time with other names, fills no disk."""
    for number in range(4):
        digest = store.locations.begin_digest("a", 5)
        if digest is not None:
            kept(store, digest, page(*range(10 * number, 10 * number + 3)))
    # Three are not too many, and six are.
    assert digest is None
    assert store.locations.digests() == []
    assert rows(database) == 6
    assert store.locations.begin_digest("b", 5) is None
    swept(store)
    assert rows(database) == 0
    assert store.locations.begin_digest("b", 5) is not None


def test_no_number_comes_twice(store: SqlResolverStore) -> None:
    numbers = set()
    for _ in range(3):
        numbers.add(begun(store, "a").number)
        store.locations.drop_digest("a")
        swept(store)
    assert len(numbers) == 3


def test_a_store_that_is_gone_is_a_fault_of_the_storage(
    database: Database, store: SqlResolverStore
) -> None:
    def remove(execute: Execute) -> None:
        execute("DROP TABLE resolver_holding")

    database.transaction(remove)
    with pytest.raises(StorageError):
        store.locations.holders(1)
