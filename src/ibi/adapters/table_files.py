"""Tables as plain files: `<table>.jsonl`, a JSON object a row, by the names of the columns."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from ibi.adapters.database import Database, Execute
from ibi.adapters.database_snapshot import Snapshot, snapshot_of
from ibi.adapters.disk import disk_errors
from ibi.adapters.logical_tables import LogicalTable, Store, tables_of, version_of
from ibi.adapters.sql_rows import insert_rows
from ibi.errors import StorageError

CHANGED: Final = "its bytes are not those that were backed up"
_ROWS: Final = 5000
"""Rows to a transaction."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(dict[str, Any]).decode


class TableFile(msgspec.Struct, frozen=True):
    """What is known of the file of a table."""

    rows: int
    sha256: str


class StoreFiles(msgspec.Struct, frozen=True):
    """What is known of the files of a database."""

    version: str
    tables: dict[str, TableFile]


def dump(place: str, store: Store, folder: Path) -> StoreFiles:
    """Write all tables of a database, as they are at one moment, into a folder."""
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
    """Return where the file of a table lies."""
    return folder / f"{table}.jsonl"


def read_rows(folder: Path, table: str) -> Iterator[dict[str, Any]]:
    """Read the rows of a table; StorageError if it is not what `dump` wrote."""
    path = path_of(folder, table)
    with disk_errors(str(path)), closing(path.open("rb")) as file:
        for number, line in enumerate(file, 1):
            try:
                yield _DECODE(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                raise StorageError(str(path), f"its line {number} is damaged") from None


def is_as_written(folder: Path, table: str, file: TableFile) -> bool:
    """Tell whether the file of a table is what `dump` wrote, to its last byte."""
    path = path_of(folder, table)
    with disk_errors(str(path)), path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256


def check_files(folder: Path, files: StoreFiles) -> None:
    """Refuse tables of which a row may be missing, or another: nobody would see it later."""
    for name, file in files.tables.items():
        _check_name(folder, name)
        if not is_as_written(folder, name, file):
            raise StorageError(str(path_of(folder, name)), CHANGED)


def load(database: Database, store: Store, folder: Path, files: StoreFiles) -> None:
    """Write all rows into a database that has the tables of that version, and nothing in them."""
    numbered = {table.name: table.numbered for table in tables_of(store)}
    for name in files.tables:
        _check_name(folder, name)
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
    """Let nothing but a name into a statement."""
    if not _NAME.fullmatch(name):
        raise StorageError(str(folder), "it has a table or column that no database of ours has")
