"""SQLite, by apsw: one file, durable at every commit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

import apsw

from ibi.errors import LedgerUnavailableError
from ibi.foundation.sql.database import Execute
from ibi.foundation.system.private_files import close_database, create_private

T = TypeVar("T")

BUSY_TIMEOUT: Final = 5000
"""Milliseconds to wait for another process that writes; a write takes a few."""

_NEXT_TRY: Final = 0.02
"""Seconds between two attempts to lock a file exclusively."""

_STEPS: Final = 2000
"""Instructions of SQLite between two looks at the clock, some microseconds."""

_MIN_FREE: Final = 65_536
"""Bytes of free space below which an I/O error means that the disk is full."""


_OF_A_FULL_DISK: Final = (apsw.IOError, apsw.FullError, apsw.CantOpenError, apsw.ReadOnlyError)
"""The errors of a file for whose log, or for the index of the log, there may be no room."""


class Sqlite:
    """A database in a file. Threads that write take turns."""

    history = "SELECT ''"  # a file has only one
    for_update = ""  # BEGIN IMMEDIATE locks the whole file
    before_tables = "SELECT 1"  # likewise
    numbering = "SELECT 1"  # SQLite does so by itself
    emptying = "DELETE FROM"
    text_index: Literal["fts5", "tsvector"] = "fts5"
    json_field = "({column} ->> '{name}')"

    def __init__(self, path: Path | str, vfs: str | None = None) -> None:
        """Open the file, created if absent; `vfs` names another file system layer of SQLite."""
        self._path = Path(path).absolute()
        self.name = str(self._path)
        self._vfs = vfs
        self._lock = RLock()
        self._made = self._failed = False
        self._connection: apsw.Connection | None = None
        self._inherited: apsw.Connection | None = None
        self._process = os.getpid()
        self._file = (0, 0)
        self._reading = RLock()
        self._reader: apsw.Connection | None = None
        self._has_log_index = True
        """Whether the reader uses the index of the log on the disk; otherwise one in memory."""
        try:
            self.name.encode()
        except UnicodeEncodeError:
            raise LedgerUnavailableError(self.name, "its path is not UTF-8") from None
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        """Open the file; on a full disk only for reading, until there is room for its log."""
        try:
            self._connected()
        except LedgerUnavailableError as failure:
            is_there = self._path.exists() and self._path.stat().st_size
            if not failure.is_full or not is_there:
                raise
            self.read("SELECT 1")

    def transaction(self, work: Callable[[Execute], T]) -> T:
        """Run `work` with the file locked; durable when this returns, rolled back if it raises."""
        with self._lock:
            try:
                connection = self._connected()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    result = work(lambda sql, *values: list(connection.execute(sql, values)))
                except BaseException:
                    if connection.in_transaction:  # a failing disk ends it already
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
                self._check_file()
            except (apsw.Error, OSError) as failure:
                self._failed |= isinstance(failure, (apsw.IOError, apsw.FullError))
                self._abandon()
                raise LedgerUnavailableError(self.name, self._reason(failure)) from failure
            return result

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT, on a connection that waits for no writer."""
        with self._reading:
            try:
                if self._reader is None:
                    self._reader = self._open_reader()
                return list(self._reader.execute(sql, values))
            except (apsw.Error, OSError) as failure:
                self._abandon_reader()
                raise LedgerUnavailableError(self.name, self._reason(failure)) from failure

    def _open_reader(self) -> apsw.Connection:
        reader = apsw.Connection(self.name, apsw.SQLITE_OPEN_READONLY, vfs=self._vfs)
        reader.set_busy_timeout(BUSY_TIMEOUT)
        self._has_log_index = True
        try:
            reader.execute("PRAGMA schema_version")  # opens the log
        except _OF_A_FULL_DISK:
            reader.close(force=True)
            if not self._is_full():
                raise
        else:
            return reader
        # The index of the log does not fit on the disk: SQLite makes one in memory.
        self._has_log_index = False
        place = f"file:{quote(self.name)}?readonly_shm=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        reader = apsw.Connection(place, flags, vfs=self._vfs)
        reader.set_busy_timeout(BUSY_TIMEOUT)
        return reader

    def survey(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that may take long, on a connection of its own."""
        try:
            with closing(self._open_reader()) as reader:
                return list(reader.execute(sql, values))
        except (apsw.Error, OSError) as failure:
            raise LedgerUnavailableError(self.name, self._reason(failure)) from failure

    def read_within(self, seconds: float, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT like `survey`, and raise TimeoutError if it takes longer than that."""
        end = time.monotonic() + seconds
        try:
            with closing(self._open_reader()) as reader:
                reader.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
                return list(reader.execute(sql, values))
        except apsw.InterruptError:
            raise TimeoutError from None
        except (apsw.Error, OSError) as failure:
            raise LedgerUnavailableError(self.name, self._reason(failure)) from failure

    def _abandon_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(apsw.Error):
                reader.close(force=True)

    def _connected(self) -> apsw.Connection:
        if self._process != os.getpid():
            # Forked without `pause`: the parent's connection must be neither used nor closed.
            self._inherited, self._connection = self._connection, None
            self._process = os.getpid()
        if self._connection is not None:
            self._check_file()
            return self._connection
        try:
            self._connection = self._open() if self._has_log_index else self._reopen()
            self._file = self._identity()
        except (apsw.Error, OSError) as failure:
            raise LedgerUnavailableError(self.name, self._reason(failure)) from failure
        return self._connection

    def _reopen(self) -> apsw.Connection:
        """Open the file for writing, after it could only be read.

        While a connection of this process has the index of the log in memory, none can write.
        """
        with self._reading:
            self._abandon_reader()
            return self._open()

    def _check_file(self) -> None:
        """Raise if the file was replaced: what is written to the old one would be lost."""
        if self._identity() != self._file:
            self._abandon()
            raise LedgerUnavailableError(self.name, "the file was replaced or removed")

    def _open(self) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE
        if not self._made:
            # Only the first time: a file that disappears later must not be created anew.
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(self._path)
            if not self._path.is_file():
                raise LedgerUnavailableError(self.name, "it is not a file")
        connection = apsw.Connection(self.name, flags, vfs=self._vfs)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT)
            if not self._made:
                # A file that is no database, named by mistake, keeps its mode.
                connection.execute("PRAGMA schema_version")
                close_database(self._path)
            _enable_wal(connection, BUSY_TIMEOUT / 1000)
            # FULL: the log is synced at every commit, before the commit returns.
            connection.execute("PRAGMA synchronous = FULL")
            if self._failed:
                _begin_new_log(connection)
        except BaseException:
            connection.close(force=True)
            raise
        self._made = True
        self._failed = False
        return connection

    def _identity(self) -> tuple[int, int]:
        status = self._path.stat()
        if status.st_nlink > 1:
            # SQLite names its log after the file, and would not see the log of the other name.
            raise LedgerUnavailableError(self.name, "it has a second name (a hard link)")
        return status.st_dev, status.st_ino

    def _reason(self, failure: Exception) -> str:
        # SQLite reports a full disk as another error for some of its files.
        if isinstance(failure, _OF_A_FULL_DISK) and self._is_full():
            return LedgerUnavailableError.FULL
        if isinstance(failure, apsw.NotADBError):
            return f"it is not an SQLite database, but {_kind_of(self._path)}"
        return _reason(failure)

    def _is_full(self) -> bool:
        with suppress(OSError):
            return shutil.disk_usage(self._path.parent).free < _MIN_FREE
        return False

    def _abandon(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(force=True)

    def pause(self) -> None:
        """Close the file before a fork: the child must neither use nor close a connection."""
        self._lock.acquire()
        self._abandon()
        self._abandon_reader()

    def resume(self) -> None:
        """Allow the file to be opened again, when it is needed."""
        self._lock.release()

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._reading:
            self._abandon_reader()
            self._abandon()


class SqliteReader(Sqlite):
    """A database in a file that another process writes; this process only reads."""

    def _connected(self) -> apsw.Connection:
        """Return the one connection, which reads; create no file if there is none."""
        if self._reader is None:
            try:
                self._reader = self._open_reader()
            except (apsw.Error, OSError) as failure:
                raise LedgerUnavailableError(self.name, self._reason(failure)) from failure
        return self._reader


def enable_wal(path: str, patience: float) -> None:
    """Switch a file to write-ahead logging, permanently; create it if absent."""
    create_private(Path(path))
    with closing(apsw.Connection(path)) as connection:
        _enable_wal(connection, patience)


def _enable_wal(connection: apsw.Connection, patience: float) -> None:
    # SQLite ignores its busy timeout when it switches to a log while another process writes.
    end = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
            time.sleep(_NEXT_TRY)
        else:
            return


def _begin_new_log(connection: apsw.Connection) -> None:
    """Begin a new log after a failed sync.

    The kernel may regard lost pages of the old log as written, and later commits must not build
    on them.
    """
    [(busy, *_)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if busy:
        raise apsw.BusyError


_REASONS: Final[dict[type[Any], str]] = {
    apsw.BusyError: "another process keeps it locked",
    apsw.FullError: LedgerUnavailableError.FULL,
    apsw.IOError: "the disk reports an error",
    apsw.CantOpenError: "it cannot be opened there",
    apsw.ReadOnlyError: "it may not be written",
    apsw.CorruptError: "it is damaged",
    apsw.PermissionsError: "it may not be opened",
}


_KINDS: Final = {
    b"SQLite format 3\0": "a damaged or encrypted one",
    b"%PDF-": "a PDF",
    b"PK": "a zip file",
    b"\x1f\x8b": "a gzip file",
    b"PGDMP": "a dump of PostgreSQL",
    b"\x7fELF": "a program",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
}
"""Kinds of files by their first bytes."""
_FIRST_BYTES: Final = 4096


def _kind_of(path: Path) -> str:
    """Return what a file is instead of a database, as far as its first bytes tell."""
    try:
        with path.open("rb") as file:
            first = file.read(_FIRST_BYTES)
    except OSError:
        return "a file that cannot be read"
    for beginning, kind in _KINDS.items():
        if first.startswith(beginning):
            return kind
    try:
        first.decode("utf-8")
    except UnicodeDecodeError as fault:
        if fault.end < len(first):  # otherwise the last character is cut off
            return "a file of another kind"
    return "a file of another kind" if b"\0" in first else "a text"


def _reason(failure: Exception) -> str:
    for kind, reason in _REASONS.items():
        if isinstance(failure, kind):
            return reason
    if isinstance(failure, FileExistsError):
        return "its folder is a file"
    if isinstance(failure, OSError):
        return (failure.strerror or str(failure)).lower()
    return str(failure)


def tables_of(path: Path) -> frozenset[str]:
    """Return the tables of a file without changing it; none if it is not there or cannot be read.

    A file in WAL mode that no process has open gets no log either.
    """
    how = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{path.absolute().as_uri()}?{how}", flags)) as connection:
            connection.set_busy_timeout(BUSY_TIMEOUT)
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return frozenset(str(name) for (name,) in found)
    except (apsw.Error, ValueError):
        return frozenset()
