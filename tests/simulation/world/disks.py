"""Disks and databases: durable data outlives a crash, and any write may be the last.

Catalogues, ledgers and registries are the real SQL on SQLite in memory. A committed transaction is
durable, as SQLite promises; a power loss during a transaction leaves nothing of it. A commit on a
failing disk may report an error although it was made. `make faults` tests real files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import apsw

from ibi.errors import LedgerUnavailableError, StorageError
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.schema_version import Migrations
from ibi.foundation.sql.upgrade import upgrade
from tests.simulation.world.virtual_time import PROCESS

T = TypeVar("T")

BROKEN: Final = "the disk reports an error"
_WORKS: Final = 0.4
"""Share of the writes that a failing disk carries out."""


class Disk:
    """The disk of one machine; `on_crash` is called during the last write before a power loss."""

    def __init__(
        self,
        name: str,
        on_crash: Callable[[], None],
        draw: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """Start empty; `draw` decides whether a failing disk carries out a write."""
        self.name = name
        self._draw = draw
        self.is_broken = False
        self.writes_left: int | None = None
        """Number of writes until the power fails; None if it does not."""
        self.writes = 0
        self._on_crash = on_crash
        self.databases: dict[str, MemoryDatabase] = {}

    def write(self) -> None:
        """Account for a write; raise StorageError if it fails."""
        self.writes += 1
        if self.writes_left is not None:
            self.writes_left -= 1
            if self.writes_left < 0:
                self.writes_left = None
                self._on_crash()
        elif self.is_broken and self._draw() > _WORKS:
            raise StorageError(self.name, BROKEN)

    def database(self, name: str, tables: Migrations | None = None) -> MemoryDatabase:
        """Return a database on this disk, created if need be."""
        if name not in self.databases:
            self.databases[name] = MemoryDatabase(f"{self.name}/{name}", tables)
        return self.databases[name]

    def close(self) -> None:
        """Free the memory."""
        for database in self.databases.values():
            database.end()


class MemoryDatabase:
    """A SQLite database in memory, which outlives the processes that use it."""

    history = "SELECT CAST(user_version AS TEXT) FROM pragma_user_version"
    for_update = ""
    before_tables = "SELECT 1"
    numbering = "SELECT 1"
    emptying = "DELETE FROM"
    text_index: Literal["fts5", "tsvector"] = "fts5"
    json_field = "({column} ->> '{name}')"

    def __init__(self, name: str, tables: Migrations | None = None) -> None:
        self.name = name
        self._connection = apsw.Connection(":memory:")
        if tables is not None:
            self._connection.deserialize("main", _newest(tables))
        self.on_commit: Callable[[], None] = lambda: None
        """Called after every transaction that changed something."""

    def transaction(self, work: Callable[[Execute], T]) -> T:
        """Run a transaction: durable when this returns, rolled back if it raises."""
        connection = self._connection
        before = connection.total_changes()
        self._write()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(lambda sql, *values: list(connection.execute(sql, values)))
            is_reported = self._last_write()
        except BaseException as failure:
            connection.execute("ROLLBACK")
            if isinstance(failure, apsw.Error):
                raise LedgerUnavailableError(self.name, str(failure)) from failure
            raise
        connection.execute("COMMIT")
        if connection.total_changes() != before:
            self.on_commit()
        if not is_reported:
            raise LedgerUnavailableError(self.name, BROKEN)
        return result

    def _last_write(self) -> bool:
        """Account for the commit; False if it is made but must be reported as failed.

        A client that loses the connection to its database during a commit sees the same.
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

    def read_within(self, _: float, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT; here it takes no time."""
        return self.read(sql, *values)

    def inspect(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT for the judge, whether a process is alive or not."""
        return list(self._connection.execute(sql, values))

    def watch(self, hook: Callable[[int, str, str, int], None]) -> None:
        """Call `hook` for every row that changes."""
        self._connection.set_update_hook(hook)

    def snapshot(self) -> bytes:
        """Return the database as bytes."""
        return self._connection.serialize("main")

    def restore(self, octets: bytes, history: int | None = None) -> None:
        """Replace the database by a copy; a new `history` shows that it was restored."""
        self._connection.deserialize("main", octets)
        if history is not None:
            self._connection.pragma("user_version", history)

    def pause(self) -> None:
        """Do nothing: no process forks here."""

    def resume(self) -> None:
        """Do nothing: no process forks here."""

    def close(self) -> None:
        """Do nothing: the database outlives its processes."""

    def end(self) -> None:
        """Free the memory."""
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
