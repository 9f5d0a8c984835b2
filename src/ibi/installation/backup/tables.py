"""Tables as plain files: `<table>.jsonl`, one JSON object a row, by the names of the columns."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

import apsw
import msgspec
import sqlalchemy as sa

from ibi.archive.storage.catalogue import schema as archive_schema
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.errors import StorageError, shown
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import insert_rows
from ibi.foundation.sql.schema_version import Migrations
from ibi.foundation.sql.sqlite import BUSY_TIMEOUT
from ibi.foundation.system.disk import disk_errors
from ibi.resolver.storage import schema as resolver_schema
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS

POSTGRESQL: Final = ("postgresql://", "postgres://")
_PAGE: Final = 2000
"""Rows that are fetched at once."""


class Snapshot(Protocol):
    """A database at one moment."""

    def rows(self, select: str) -> Iterator[tuple[Any, ...]]:
        """Yield rows, without holding all of them in memory."""
        ...


@contextmanager
def snapshot_of(place: str) -> Iterator[Snapshot]:
    """Open a snapshot of a database at a path or a postgresql:// URL; StorageError if it fails."""
    opened = _of_server(place) if place.startswith(POSTGRESQL) else _of_file(Path(place))
    with opened as snapshot:
        yield snapshot


@contextmanager
def _of_file(path: Path) -> Iterator[Snapshot]:
    if not path.exists():
        raise StorageError(str(path), "it is not there")
    try:
        connection = _connected(path)
        try:
            connection.execute("BEGIN")
            list(connection.execute("SELECT count(*) FROM sqlite_master"))  # begins the snapshot
            yield _FileSnapshot(connection)
        finally:
            connection.close(force=True)
    except apsw.Error as failure:
        raise StorageError(str(path), str(failure)) from failure


def _connected(path: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # Reading a file with a log requires write access to its folder; without it, nothing changes.
    how = "mode=ro" if os.access(path.parent, os.W_OK) else "immutable=1"
    connection = apsw.Connection(f"{path.absolute().as_uri()}?{how}", flags)
    connection.set_busy_timeout(BUSY_TIMEOUT)
    return connection


class _FileSnapshot:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, select: str) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(select)


@contextmanager
def _of_server(url: str) -> Iterator[Snapshot]:
    from ibi.foundation.sql.postgres import TIMEOUT  # noqa: PLC0415  # few installations need it

    with asyncio.Runner() as runner:
        with _storage_errors(url):
            connection = runner.run(_connected_to(url))
        try:
            yield _ServerSnapshot(url, runner, connection)
        finally:
            with _storage_errors(url):
                runner.run(connection.close(timeout=TIMEOUT))


async def _connected_to(url: str) -> Any:  # noqa: ANN401  # asyncpg ships no types
    import asyncpg  # noqa: PLC0415  # few installations need it

    from ibi.foundation.sql.postgres import TIMEOUT  # noqa: PLC0415

    # Between two pages the rows are written to a disk, which may take long.
    patient = {"application_name": "ibi backup", "idle_in_transaction_session_timeout": "0"}
    connection = await asyncpg.connect(url, timeout=TIMEOUT, server_settings=patient)
    transaction = connection.transaction(isolation="repeatable_read", readonly=True)
    await transaction.start()
    await connection.fetchval("SELECT 1")  # begins the snapshot
    return connection


@contextmanager
def _storage_errors(url: str) -> Iterator[None]:
    from ibi.foundation.sql.postgres import LOST, reason_of, without_password  # noqa: PLC0415

    try:
        yield
    except LOST as failure:
        raise StorageError(without_password(url), reason_of(failure, url)) from failure


class _ServerSnapshot:
    def __init__(self, url: str, runner: asyncio.Runner, connection: Any) -> None:  # noqa: ANN401
        self._url = url
        self._runner = runner
        self._connection = connection

    def rows(self, select: str) -> Iterator[tuple[Any, ...]]:
        with _storage_errors(self._url):
            cursor = self._runner.run(self._cursor(select))
        while True:
            with _storage_errors(self._url):
                rows = self._runner.run(cursor.fetch(_PAGE))
            if not rows:
                return
            yield from (tuple(row) for row in rows)

    async def _cursor(self, select: str) -> Any:  # noqa: ANN401
        return await self._connection.cursor(select)


Store: TypeAlias = Literal["catalogue", "ledger", "registry"]
"""The databases that an installation may have."""

LEDGER_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class LogicalTable:
    """A table, and the order in which its rows are written."""

    name: str
    columns: tuple[str, ...]
    order: str
    flags: tuple[str, ...] = ()
    """Boolean columns, which SQLite stores as numbers."""
    numbered: str = ""
    """The column whose values the database generates."""

    @property
    def select(self) -> str:
        """The statement that reads all rows."""
        return f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {self.order}"  # noqa: S608  # our own names


def tables_of(store: Store) -> tuple[LogicalTable, ...]:
    """Return the tables of a database, in the newest version."""
    if store == "ledger":
        return _LEDGER
    schema = archive_schema.SCHEMA if store == "catalogue" else resolver_schema.SCHEMA
    left_out = _DERIVED | _TRANSIENT
    return tuple(_table(table) for table in schema.sorted_tables if table.name not in left_out)


def version_of(store: Store) -> tuple[str, str]:
    """Return the statement that reads the version of a database, and the newest version."""
    if store == "ledger":
        return "SELECT version FROM ibi_ledger", LEDGER_VERSION
    migrations = migrations_of(store)
    return f"SELECT version_num FROM {migrations.version_table}", migrations.newest  # noqa: S608


def migrations_of(store: Literal["catalogue", "registry"]) -> Migrations:
    """Return the migrations of a database."""
    return ARCHIVE_MIGRATIONS if store == "catalogue" else RESOLVER_MIGRATIONS


# Tables that are derived from others, or from other machines, and made anew: a restored digest
# would be out of date.
_DERIVED: Final = frozenset(
    {
        *("archive_digest", "archive_epoch"),
        *("archive_search", "archive_facet", "archive_search_state"),
        *("archive_day", "archive_day_state"),
        *("archive_harvest", "archive_harvest_set", "archive_harvest_state"),
        *("archive_text", "archive_text_queue", "archive_text_state", "archive_picture"),
        *("resolver_digest", "resolver_holding", "resolver_followed", "resolver_publication"),
    }
)
# Sessions and one-time links, which a backup leaves out, and a restore drops if an earlier ibi
# wrote them: a session that was ended since, or a link that was used, would be valid again.
_TRANSIENT: Final = frozenset(
    f"{program}_{what}"
    for program in ("archive", "resolver")
    for what in ("session", "account_link", "guess")
)


# In the order of the items: a reader of a backup goes through these tables in parallel, with one
# item at a time in memory.
_ORDERS: Final = {"archive_name": "coalesce(item, 0), name"}


def _table(table: sa.Table) -> LogicalTable:
    key = ", ".join(column.name for column in table.primary_key)
    return LogicalTable(
        table.name,
        tuple(column.name for column in table.columns),
        _ORDERS.get(table.name, key),
        tuple(column.name for column in table.columns if isinstance(column.type, sa.Boolean)),
        next((column.name for column in table.columns if column.identity is not None), ""),
    )


# The ledger's tables have no migrations (docs/adr/0009).
_LEDGER: Final = (
    LogicalTable("ibi_ledger", ("version", "identity"), "version"),
    LogicalTable("ibi_prefix", ("prefix", "mark", "generation", "history"), "prefix"),
    LogicalTable("ibi_beginning", ("prefix", "instant"), "prefix"),
    LogicalTable("ibi_sighting", ("prefix", "boot", "wall", "uptime"), "prefix, boot"),
    LogicalTable("ibi_issue", ("prefix", "key", "request", "instants", "prefixes"), "prefix, key"),
    LogicalTable(
        "ibi_label", ("prefix", "instant", "prefixes", "recorded", "target"), "prefix, instant"
    ),
    LogicalTable("ibi_token", ("name", "digest", "scope", "created"), "name"),
)


_NEEDED: Final = frozenset({"ibi_ledger", "ibi_prefix"})
"""The tables of a ledger of any version, without which labels could be given out twice."""

CHANGED: Final = "its bytes are not those that were backed up"
_ROWS: Final = 5000
"""Rows that are inserted in one transaction."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(dict[str, Any]).decode


class TableFile(msgspec.Struct, frozen=True):
    """The record of the file of a table."""

    rows: int
    sha256: str


class StoreFiles(msgspec.Struct, frozen=True):
    """The record of the files of a database."""

    version: str
    tables: dict[str, TableFile]


def dump(place: str, store: Store, folder: Path) -> StoreFiles:
    """Write all tables of a database, at one moment, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    select, newest = version_of(store)
    with snapshot_of(place) as snapshot:
        version = str(next(snapshot.rows(select), ("",))[0])
        if version != newest:
            reason = (
                f"its tables are of version {version}, not {newest}: start it once, by this ibi"
            )
            raise StorageError(place, reason)
        tables = {table.name: _write(snapshot, table, folder) for table in tables_of(store)}
    return StoreFiles(version, tables)


def _write(snapshot: Snapshot, table: LogicalTable, folder: Path) -> TableFile:
    rows, digest = 0, hashlib.sha256()
    path = path_of(folder, table.name)
    flags = [table.columns.index(flag) for flag in table.flags]
    with disk_errors(str(path)), path.open("wb") as file:
        for row in snapshot.rows(table.select):
            values = list(row)
            for flag in flags:
                values[flag] = bool(values[flag])
            line = _ENCODE(dict(zip(table.columns, values, strict=True))) + b"\n"
            file.write(line)
            digest.update(line)
            rows += 1
        file.flush()
        os.fsync(file.fileno())
    return TableFile(rows, digest.hexdigest())


def path_of(folder: Path, table: str) -> Path:
    """Return the path of the file of a table."""
    return folder / f"{table}.jsonl"


def read_rows(folder: Path, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; StorageError if it is not what `dump` wrote."""
    path = path_of(folder, table)
    with disk_errors(str(path)), closing(path.open("rb")) as file:
        for number, line in enumerate(file, 1):
            try:
                yield _DECODE(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                raise StorageError(str(path), f"its line {number} is damaged") from None


def is_as_written(folder: Path, table: str, file: TableFile) -> bool:
    """Return whether the file of a table is what `dump` wrote, to its last byte."""
    path = path_of(folder, table)
    with disk_errors(str(path)), path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256


def check_tables(place: Path, store: Store, files: StoreFiles) -> None:
    """Raise if a backup has other tables than a database of ours: their rows would be inserted.

    Several programs may share one database. Later versions have further tables, and none was ever
    removed.
    """
    newest = version_of(store)[1]
    if files.version > newest:
        raise StorageError(str(place), "a newer ibi made it")
    own = {table.name for table in tables_of(store)}
    program = "archive" if store == "catalogue" else "resolver" if store == "registry" else store
    dropped = {name for name in _TRANSIENT if name.startswith(f"{program}_")}
    for name in sorted(files.tables.keys() - own - dropped):
        raise StorageError(str(place), f"no {store} of ours has a table {shown(name)}")
    needed = _NEEDED if store == "ledger" else own if files.version == newest else frozenset()
    for name in sorted(needed - files.tables.keys()):
        raise StorageError(str(place), f"it has no table {name} of the {store}")


def load(database: Database, store: Store, folder: Path, files: StoreFiles) -> None:
    """Insert all rows into a database that has the tables of that version, and no rows."""
    numbered = {table.name: table.numbered for table in tables_of(store)}
    for name in [each for each in files.tables if each not in _TRANSIENT]:
        rows = read_rows(folder, name)
        while part := list(islice(rows, _ROWS)):
            _load(database, name, part, folder)
        if numbered.get(name):
            numbering = database.numbering.format(table=name, column=numbered[name])
            database.transaction(partial(_run, numbering))


def _load(database: Database, table: str, rows: list[dict[str, Any]], folder: Path) -> None:
    columns = list(rows[0])
    for column in columns:
        _check_name(folder, column)
    into = f"{table} ({', '.join(columns)})"
    values = [tuple(map(row.get, columns)) for row in rows]
    database.transaction(lambda execute: insert_rows(execute, into, values, ""))


def _run(statement: str, execute: Execute) -> None:
    execute(statement)


def _check_name(folder: Path, name: str) -> None:
    """Raise if a text is not a name, because names become part of statements."""
    if not _NAME.fullmatch(name):
        raise StorageError(str(folder), "it has a table or column that no database of ours has")
