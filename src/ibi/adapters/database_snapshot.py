"""A database as it is at one moment, read while others go on writing to it.

Nobody is asked for help: SQLite lets another process read what was committed when it began, for as
long as it reads, and so does a server. Nothing is changed by it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import apsw

from ibi.adapters.sqlite import BUSY_TIMEOUT
from ibi.errors import StorageError

POSTGRESQL: Final = ("postgresql://", "postgres://")
_PAGE: Final = 2000
"""Rows to a journey."""


class Snapshot(Protocol):
    """One moment of a database."""

    def rows(self, select: str) -> Iterator[tuple[Any, ...]]:
        """Read rows, as many as there are, without having all of them at once."""
        ...


@contextmanager
def snapshot_of(place: str) -> Iterator[Snapshot]:
    """Open the database at a path or a postgresql:// URL as it is now; StorageError if it fails."""
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
            list(connection.execute("SELECT count(*) FROM sqlite_master"))  # the moment is now
            yield _FileSnapshot(connection)
        finally:
            connection.close(force=True)
    except apsw.Error as failure:
        raise StorageError(str(path), str(failure)) from failure


def _connected(path: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # Beside a log one reads only where one may write; where nobody may, nothing changes either.
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
    from ibi.adapters.postgres import TIMEOUT  # noqa: PLC0415  # few installations need it

    with asyncio.Runner() as runner:
        with _words_of_ours(url):
            connection = runner.run(_connected_to(url))
        try:
            yield _ServerSnapshot(url, runner, connection)
        finally:
            with _words_of_ours(url):
                runner.run(connection.close(timeout=TIMEOUT))


async def _connected_to(url: str) -> Any:  # noqa: ANN401  # asyncpg ships no types
    import asyncpg  # noqa: PLC0415  # few installations need it

    from ibi.adapters.postgres import TIMEOUT  # noqa: PLC0415

    # Between two pages we write to a disk, which may take its time.
    patient = {"application_name": "ibi backup", "idle_in_transaction_session_timeout": "0"}
    connection = await asyncpg.connect(url, timeout=TIMEOUT, server_settings=patient)
    transaction = connection.transaction(isolation="repeatable_read", readonly=True)
    await transaction.start()
    await connection.fetchval("SELECT 1")  # the moment is now
    return connection


@contextmanager
def _words_of_ours(url: str) -> Iterator[None]:
    from ibi.adapters.postgres import LOST, without_password  # noqa: PLC0415

    try:
        yield
    except LOST as failure:
        reason = str(failure).strip().partition("\n")[0].rstrip(".") or type(failure).__name__
        raise StorageError(without_password(url), reason) from failure


class _ServerSnapshot:
    def __init__(self, url: str, runner: asyncio.Runner, connection: Any) -> None:  # noqa: ANN401
        self._url = url
        self._runner = runner
        self._connection = connection

    def rows(self, select: str) -> Iterator[tuple[Any, ...]]:
        with _words_of_ours(self._url):
            cursor = self._runner.run(self._cursor(select))
        while True:
            with _words_of_ours(self._url):
                rows = self._runner.run(cursor.fetch(_PAGE))
            if not rows:
                return
            yield from (tuple(row) for row in rows)

    async def _cursor(self, select: str) -> Any:  # noqa: ANN401
        return await self._connection.cursor(select)
