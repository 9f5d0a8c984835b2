"""Sites: a new ledger with its machine folder, on SQLite or PostgreSQL.

A site reads the mark of its ledger by other software than the program's adapter.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import asyncpg

from tests.faults.minting.worker import Control
from tests.support.servers.postgres import PLACE, PostgresServer

_ROWS: Final = "SELECT mark FROM ibi_prefix"

_CUT: Final = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"
)

NOTHING: Final = -1


class Site(Protocol):
    """One ledger and one machine folder."""

    kind: str
    ledger: str
    machine: Path
    control_file: Path
    control: Control

    def mark(self) -> int:
        """Return the instant up to which all prefixes are marked as given."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class SqliteSite:
    """A ledger in a file."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = str(folder / "ledger.db")
        self.machine = folder / "machine"
        self.control_file = folder / "control"
        self.control = Control(self.control_file)

    def mark(self) -> int:
        """Return the mark, by the sqlite3 of the standard library."""
        return mark_of(Path(self.ledger))

    def close(self) -> None:
        """Close connections."""

    @property
    def files(self) -> tuple[Path, Path]:
        """The database and its log."""
        return Path(self.ledger), Path(f"{self.ledger}-wal")


def mark_of(path: Path) -> int:
    """Return the mark of a ledger in a file; NOTHING if it has none."""
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        try:
            marks = [mark for (mark,) in connection.execute(_ROWS)]
        except sqlite3.OperationalError as failure:
            if "no such table" in str(failure):
                return NOTHING
            raise
    return min((NOTHING if mark is None else mark for mark in marks), default=NOTHING)


class PostgresSite:
    """A ledger in a database of its own."""

    kind = "postgres"

    def __init__(self, folder: Path, server: PostgresServer, runner: asyncio.Runner) -> None:
        self.folder = folder
        self.server = server
        self.ledger = server.database()
        self.machine = folder / "machine"
        self.control_file = folder / "control"
        self.control = Control(self.control_file)
        self._runner = runner
        self._connection: asyncpg.Connection | None = None

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement on a connection of its own."""

        async def work() -> list[tuple[Any, ...]]:
            connection = await self._connected()
            return [tuple(row) for row in await connection.fetch(sql, *values)]

        return self._runner.run(work())

    def script(self, sql: str) -> None:
        """Run statements, in one transaction."""

        async def work() -> None:
            await (await self._connected()).execute(sql)

        self._runner.run(work())

    def renew(self) -> None:
        """Create another database, and use that one."""
        self.close()
        self._connection = None
        self.ledger = self.server.database()

    def copy_database(self) -> None:
        """Copy the database; no client can connect meanwhile."""
        name = self.database
        self._administer(
            f"DROP DATABASE IF EXISTS {name}_copy",
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
            _CUT.format(name=name),
            f"CREATE DATABASE {name}_copy TEMPLATE {name}",
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS true",
        )

    def swap_in_copy(self) -> None:
        """Replace the database by the copy."""
        name = self.database
        self._administer(
            f"DROP DATABASE {name} WITH (FORCE)",
            f"ALTER DATABASE {name}_copy RENAME TO {name}",
        )

    def _administer(self, *statements: str) -> None:
        async def work() -> None:
            connection = await asyncpg.connect(self.server.url)
            try:
                for statement in statements:
                    await connection.execute(statement)
            finally:
                await connection.close()

        self._runner.run(work())

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self.ledger)
        return self._connection

    def mark(self) -> int:
        """Return the mark, on a connection of its own."""
        marks = [mark for (mark,) in self.query(_ROWS)]
        return min((NOTHING if mark is None else mark for mark in marks), default=NOTHING)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._runner.run(self._connection.close(timeout=10))

    @property
    def database(self) -> str:
        """The name of the database."""
        return urlsplit(self.ledger).path.removeprefix("/")


class SiteFactory:
    """Creates sites on both databases."""

    def __init__(self, folder: Path, server: PostgresServer, runner: asyncio.Runner) -> None:
        self._folder = folder
        self._server = server
        self._runner = runner

    def site(self, kind: str) -> Site:
        """Return a new site."""
        folder = self._folder / secrets.token_hex(4)
        folder.mkdir()
        if kind == SqliteSite.kind:
            return SqliteSite(folder)
        return PostgresSite(folder, self._server, self._runner)


@contextmanager
def site_factory(server: PostgresServer) -> Iterator[SiteFactory]:
    """Yield a factory of sites; remove their files afterwards."""
    with (
        TemporaryDirectory(prefix="ibi-faults-", dir=PLACE) as folder,
        asyncio.Runner() as runner,
    ):
        yield SiteFactory(Path(folder), server, runner)


def copy_files(files: tuple[Path, ...], folder: Path) -> None:
    """Copy a database and its log into a folder, as a careless backup does."""
    folder.mkdir()
    for path in files:
        if path.exists():
            shutil.copyfile(path, folder / path.name)


ReportProgress = Callable[[str], None]
