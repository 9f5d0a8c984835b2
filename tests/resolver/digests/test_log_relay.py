"""How a process tells others which digests stand for answers, and how long they believe it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.errors import StorageError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.identifier.label import parse
from ibi.resolver.digests.locations import Locations
from ibi.resolver.digests.log_relay import LogRelay
from ibi.resolver.rules.followed_logs import FollowedLogs
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.wire.digest import DigestPage, fingerprint
from tests.support.doubles.minting_machine import FakeClock

HOT = 10.0
ITEM = parse("example.org/a/2026/11.15.12.00")
PAGE = DigestPage("5a" * 16, 0, 7, more=False, held=(fingerprint(ITEM.canonical),))


class Process:
    """What a process of a resolver follows, and how it tells others."""

    def __init__(self, store: SqlResolverStore, name: str, *, is_relayed: bool) -> None:
        """Follow nothing."""
        self.store = store
        self.followed = FollowedLogs(HOT)
        self.followed.begin(is_relayed=is_relayed)
        self.locations = Locations(store.locations, FakeClock(), quick=True)
        self.name = name
        self.fails = False
        self.relay = LogRelay(
            store.followed_logs, self.followed, self.locations, lambda: self.name, self._catch_up
        ).relay

    async def _catch_up(self) -> None:
        if self.fails:
            raise StorageError("of the resolver", "it is down")

    def follow(self, archive: str) -> None:
        """Read the digest of an archive."""
        digest = self.store.locations.begin_digest(archive, 10)
        assert digest is not None
        kept = self.store.locations.keep_page(digest, PAGE, 1)
        assert kept is not None
        self.locations.put(kept)
        self.followed.note_page(archive, now(), notifies=True)

    @property
    def names(self) -> set[str]:
        """The archives that are followed."""
        return set(self.followed.names(now()))


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlResolverStore]:
    path = str(tmp_path / "registry.sqlite")
    upgrade(path, RESOLVER_MIGRATIONS, postgresql=False)
    with closing(SqlResolverStore(Sqlite(path), quick=True)) as store:
        store.processes.register("one", ["digests"])
        store.processes.heartbeat("one", {})
        yield store


@pytest.fixture
def one(store: SqlResolverStore) -> Process:
    return Process(store, "one", is_relayed=False)


@pytest.fixture
def other(store: SqlResolverStore) -> Process:
    return Process(store, "other", is_relayed=True)


async def test_a_state_is_used_from_the_last_read_on_that_saw_neither_of_the_last_two(
    one: Process, other: Process
) -> None:
    one.follow("a")
    await one.relay()
    await other.relay()
    assert other.names == {"a"}
    assert not other.followed.is_valid(now())  # it may have been published long ago
    before = now()
    await other.relay()
    after = now()
    await one.relay()
    await other.relay()
    # The state that was published last may have been looked at before the one before was published.
    assert not other.followed.is_valid(before)
    await one.relay()
    await other.relay()
    assert other.followed.is_valid(before + other.followed.relay_seconds - 0.001)
    assert not other.followed.is_valid(after + other.followed.relay_seconds)


async def test_nothing_is_extended_while_nothing_is_published(one: Process, other: Process) -> None:
    one.follow("a")
    for _ in range(3):
        await one.relay()
        await other.relay()
    end = now() + other.followed.relay_seconds
    for _ in range(3):
        await other.relay()
    one.fails = True  # notifications that others received may be missing
    with pytest.raises(StorageError):
        await one.relay()
    one.fails, one.name = False, ""  # it is alone
    await one.relay()
    await other.relay()
    assert not other.followed.is_valid(end)


async def test_what_changes_is_relayed(one: Process, other: Process) -> None:
    for name in ("a", "b"):
        one.follow(name)
    await one.relay()
    await other.relay()
    assert other.names == {"a", "b"}
    assert await other.locations.holders(ITEM) == frozenset({"a", "b"})
    one.followed.drop("a")
    one.follow("b")  # anew, with another number
    one.followed.drop("b")
    one.followed.note_page("b", now(), notifies=True)
    await one.relay()
    await other.relay()
    assert other.names == {"b"}
    other.locations.replace_all(())  # as they were read a little earlier
    assert await other.locations.holders(ITEM) == frozenset({"b"})
    assert other.locations.publishes("b")


async def test_the_process_that_takes_over_begins_anew(
    store: SqlResolverStore, one: Process, other: Process
) -> None:
    third = Process(store, "third", is_relayed=True)
    for name in ("a", "b"):
        one.follow(name)
    await one.relay()
    await other.relay()
    await third.relay()
    store.processes.register("third", ["digests"])
    store.processes.unregister("one")
    store.processes.heartbeat("third", {})
    third.followed.begin(is_relayed=False)
    third.follow("b")
    await third.relay()
    await one.relay()  # it was only asleep
    await other.relay()
    assert other.names == {"b"}
    one.followed.begin(is_relayed=True)
    await one.relay()
    assert one.names == {"b"}


async def test_a_database_that_was_set_back_is_read_again(
    store: SqlResolverStore, one: Process, other: Process
) -> None:
    one.follow("a")
    for _ in range(4):
        await one.relay()
        await other.relay()
    assert other.followed.is_valid(now())
    store._handle.write(lambda execute: execute("DELETE FROM resolver_followed"))  # noqa: SLF001
    store._handle.write(lambda execute: execute("DELETE FROM resolver_publication"))  # noqa: SLF001
    await other.relay()
    assert not other.followed.is_valid(now())
    assert other.names == set()
