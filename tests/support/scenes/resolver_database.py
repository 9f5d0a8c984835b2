"""A place for a resolver's records on each database, and short ways to keep something there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from ibi.foundation.sql.database import Database
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.model.conflict import Conflict
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.store import (
    ArchiveChange,
    ConflictChange,
    PendingAcknowledgment,
    RegistryEvent,
)
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore

KEEPER = "keeper"
"""A process that has joined."""
DUTIES = ("acknowledge", "watch")
TURNS = count(1)


@dataclass
class ResolverDatabase:
    """Where a resolver's database lies, and may be opened again and again."""

    place: str
    database: Callable[[], Database]
    opened: list[SqlResolverStore] = field(default_factory=list)

    def __call__(self) -> SqlResolverStore:
        """Open it."""
        self.opened.append(SqlResolverStore(self.database(), quick=True))
        return self.opened[-1]


def is_url(place: str) -> bool:
    return place.startswith("postgresql://")


def database(place: str) -> Database:
    return Postgres(place) if is_url(place) else Sqlite(place)


@contextmanager
def made(place: str) -> Iterator[ResolverDatabase]:
    """Make the tables at an empty place, and let a keeper join."""
    upgrade(place, RESOLVER_MIGRATIONS, postgresql=is_url(place))
    found = ResolverDatabase(place, partial(database, place))
    with ExitStack() as stack:
        found().processes.register(KEEPER, DUTIES)
        yield found
        for store in found.opened:
            stack.callback(store.close)


def keep(store: SqlResolverStore, archive: RegisteredArchive, event: RegistryEvent | None) -> None:
    """Keep an archive, whatever stands there."""
    store.archives.change_archive(archive.id, lambda _: ArchiveChange(archive, event))


def drop(store: SqlResolverStore, name: str, event: RegistryEvent) -> bool:
    """Forget an archive; tell whether there was one."""
    found = []

    def dropped(before: RegisteredArchive | None) -> ArchiveChange | None:
        found.append(before)
        return None if before is None else ArchiveChange(None, event)

    assert store.archives.change_archive(name, dropped) is None
    return found != [None]


def keep_conflict(store: SqlResolverStore, conflict: Conflict) -> Conflict:
    """Keep a conflict, in the place of the one of its number."""
    kept = store.conflicts.change_conflict(conflict.id, lambda _: ConflictChange(conflict))
    assert kept is not None
    return kept


def conflict_of(store: SqlResolverStore, label: str) -> Conflict | None:
    """Return the newest conflict about a label."""
    return store.conflicts.change_conflict(label, lambda _: None)


def keep_pending(store: SqlResolverStore, rows: Sequence[PendingAcknowledgment]) -> list[int]:
    """Keep rows in a turn of their own."""
    numbers = store.acknowledgments.keep_pending(KEEPER, next(TURNS), rows)
    assert numbers is not None
    return numbers


def together(work: Callable[[int], None], count: int) -> None:
    """Do something in so many threads at once."""
    barrier = threading.Barrier(count)

    def begin(number: int) -> None:
        barrier.wait()
        work(number)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
