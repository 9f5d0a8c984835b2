"""Disks: what is durable outlives a crash, what is not is lost, and any write may be the last.

Catalogues, ledgers and registries are the real ones, in SQL, on databases in memory. A transaction
is durable when it is committed, as SQLite promises; one in the midst of which the power fails was
never begun. One whose commit reports an error was made all the same, which nobody knows who asked
for it. How a disk can betray that is for `make faults` to show, on real files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from ibi.errors import LedgerUnavailableError, StorageError
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.schema_version import Migrations
from ibi.foundation.sql.upgrade import upgrade
from tests.simulation.world.virtual_time import PROCESS

T = TypeVar("T")

BROKEN: Final = "the disk reports an error"
_WORKS: Final = 0.4
"""How often a disk that fails works all the same."""


class Disk:
    """The disk of one machine; `on_crash` is called in the midst of the write that is the last."""

    def __init__(
        self,
        name: str,
        on_crash: Callable[[], None],
        chance: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """Begin empty; `chance` says whether a disk that fails takes something all the same."""
        self.name = name
        self._chance = chance
        self.is_broken = False
        self.writes_left: int | None = None
        """After how many more writes the power fails."""
        self.writes = 0
        self._on_crash = on_crash
        self.databases: dict[str, MemoryDatabase] = {}

    def write(self) -> None:
        """Come to a moment at which something is about to be durable."""
        self.writes += 1
        if self.writes_left is not None:
            self.writes_left -= 1
            if self.writes_left < 0:
                self.writes_left = None
                self._on_crash()
        elif self.is_broken and self._chance() > _WORKS:
            raise StorageError(self.name, BROKEN)

    def database(self, name: str, tables: Migrations | None = None) -> MemoryDatabase:
        """Return a database on this disk, made if it is not there."""
        if name not in self.databases:
            self.databases[name] = MemoryDatabase(f"{self.name}/{name}", tables)
        return self.databases[name]

    def close(self) -> None:
        """Let go of the memory."""
        for database in self.databases.values():
            database.end()


class MemoryDatabase:
    """A database of SQLite in memory, which belongs to no process: many may use it."""

    history = "SELECT CAST(user_version AS TEXT) FROM pragma_user_version"
    for_update = ""
    before_tables = "SELECT 1"
    numbering = "SELECT 1"
    emptying = "DELETE FROM"
    json_field = "({column} ->> '{name}')"

    def __init__(self, name: str, tables: Migrations | None = None) -> None:
        """Begin with the newest tables of a program, or with none."""
        self.name = name
        self._connection = apsw.Connection(":memory:")
        if tables is not None:
            self._connection.deserialize("main", _newest(tables))
        self.on_commit: Callable[[], None] = lambda: None
        """Is called after every transaction that changed something."""

    def transaction(self, work: Callable[[Execute], T]) -> T:
        """Do the work; durable when this returns, undone if it raises."""
        connection = self._connection
        before = connection.total_changes()
        self._write()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(lambda sql, *values: list(connection.execute(sql, values)))
            is_told = self._last_write()
        except BaseException as failure:
            connection.execute("ROLLBACK")
            if isinstance(failure, apsw.Error):
                raise LedgerUnavailableError(self.name, str(failure)) from failure
            raise
        connection.execute("COMMIT")
        if connection.total_changes() != before:
            self.on_commit()
        if not is_told:
            raise LedgerUnavailableError(self.name, BROKEN)
        return result

    def _last_write(self) -> bool:
        """Come to the commit; False if it is made, and nobody is told so.

        That is how it looks to who loses a database over the network in that very moment.
        """
        try:
            PROCESS.get().write()
        except StorageError:
            return False
        return True

    def _write(self) -> None:
        try:
            PROCESS.get().write()
        except StorageError:
            raise LedgerUnavailableError(self.name, BROKEN) from None

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT."""
        PROCESS.get().check()
        return list(self._connection.execute(sql, values))

    survey = read

    def look(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Read for whoever judges, whether there is a process or not."""
        return list(self._connection.execute(sql, values))

    def watch(self, hook: Callable[[int, str, str, int], None]) -> None:
        """Have every row told that changes."""
        self._connection.set_update_hook(hook)

    def copied(self) -> bytes:
        """Return all of it."""
        return self._connection.serialize("main")

    def restore(self, octets: bytes, history: int | None = None) -> None:
        """Put a copy in its place; a server tells by its `history` that it was set back."""
        self._connection.deserialize("main", octets)
        if history is not None:
            self._connection.pragma("user_version", history)

    def pause(self) -> None:
        """Nobody forks here."""

    def resume(self) -> None:
        """Nobody forks here."""

    def close(self) -> None:
        """A process lets go; the disk does not."""

    def end(self) -> None:
        """Let go of the memory."""
        self._connection.close()


@cache
def _newest(tables: Migrations) -> bytes:
    """Return an empty database with the newest tables, as the migrations make them."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "newest.sqlite")
        upgrade(path, tables, postgresql=False)
        connection = apsw.Connection(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        octets = connection.serialize("main")
        connection.close()
    return octets
