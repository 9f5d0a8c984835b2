"""The tables of the catalogue: made by steps, on every database, whoever comes first."""

from __future__ import annotations

import asyncio
import multiprocessing
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from ibi.adapters.catalogue_version import NEWEST, is_newest
from ibi.adapters.database import Database
from ibi.adapters.postgres import Postgres
from ibi.adapters.sql_catalogue import SqlCatalogue
from ibi.adapters.sql_schema import SCHEMA, upgrade
from ibi.adapters.sqlite import Sqlite
from ibi.errors import StorageError
from postgres_server import PostgresServer


def compared(connection: sa.Connection) -> Any:  # noqa: ANN401  # Alembic's own values
    """Return what differs between the database and the tables that the program knows."""

    def is_ours(_: object, name: str | None, kind: str, *__: object) -> bool:
        ours = (name or "").startswith("archive_") and name != "archive_version"
        return ours or kind != "table"

    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_object": is_ours}
    )
    return compare_metadata(context, SCHEMA)


def read_sqlite(path: str, read: Callable[[sa.Connection], Any]) -> Any:  # noqa: ANN401
    engine = sa.create_engine(sa.URL.create("sqlite", database=path), poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        return read(connection)


def read_postgres(url: str, read: Callable[[sa.Connection], Any]) -> Any:  # noqa: ANN401
    async def ask() -> Any:  # noqa: ANN401
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=lambda: asyncpg.connect(url),
            poolclass=sa.pool.NullPool,
        )
        async with engine.connect() as connection:
            found = await connection.run_sync(read)
        await engine.dispose()
        return found

    return asyncio.run(ask())


class Place:
    """An empty database."""

    def __init__(self, place: str, *, postgresql: bool) -> None:
        """Name it."""
        self.place = place
        self.postgresql = postgresql

    def upgrade(self) -> None:
        """Make the tables."""
        upgrade(self.place, postgresql=self.postgresql)

    def read(self, read: Callable[[sa.Connection], Any]) -> Any:  # noqa: ANN401
        """Look at them by SQLAlchemy."""
        return (read_postgres if self.postgresql else read_sqlite)(self.place, read)

    def open(self) -> Database:
        """Open it as the program does."""
        return Postgres(self.place) if self.postgresql else Sqlite(self.place)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield Place(str(tmp_path / "catalogue.sqlite"), postgresql=False)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    yield Place(server.database(), postgresql=True)


def test_the_steps_make_the_tables_that_the_program_knows(place: Place) -> None:
    assert place.read(compared) != []
    place.upgrade()
    assert place.read(compared) == []


def test_the_newest_step_is_known_without_alembic(place: Place) -> None:
    database = place.open()
    assert not is_newest(database)
    place.upgrade()
    assert is_newest(database)
    assert database.read("SELECT version_num FROM archive_version") == [(NEWEST,)]
    database.close()


def test_to_upgrade_twice_changes_nothing(place: Place) -> None:
    place.upgrade()
    catalogue = SqlCatalogue(place.open(), quick=True)
    catalogue.keep_setting("name", "value")
    place.upgrade()
    assert catalogue.setting("name") == "value"
    catalogue.close()
    assert place.read(compared) == []


def work(place: Place, barrier: Any) -> None:  # noqa: ANN401  # a type that depends on the system
    """Upgrade in a process of its own, at the same moment as others."""
    barrier.wait()
    place.upgrade()


def test_processes_that_upgrade_at_once_do_no_harm(place: Place) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    processes = [context.Process(target=work, args=(place, barrier)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert place.read(compared) == []


def test_a_catalogue_that_a_newer_program_made_is_left_alone(place: Place) -> None:
    place.upgrade()
    database = place.open()
    database.transaction(lambda execute: execute("UPDATE archive_version SET version_num = '9999'"))
    assert not is_newest(database)
    with pytest.raises(StorageError, match="a newer ibi made it"):
        place.upgrade()
    assert database.read("SELECT version_num FROM archive_version") == [("9999",)]
    database.close()


def complaint(place: str, *, postgresql: bool) -> str:
    with pytest.raises(StorageError) as refused:
        upgrade(place, postgresql=postgresql)
    text = str(refused.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert not text.endswith("..")
    return text


@pytest.mark.parametrize("name", ["a?b=c", "a#b", "a%41b", "a b'c", "ç%", "a;b", ":memory:x"])
def test_a_path_may_have_any_character(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    upgrade(str(path), postgresql=False)
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith(f"{name}-")] == [
        name
    ]
    assert read_sqlite(str(path), compared) == []


def test_a_wrong_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_bytes(b"no database " * 100)
    assert "not a database" in complaint(str(text), postgresql=False)
    assert text.read_bytes() == b"no database " * 100
    assert str(tmp_path) in complaint(str(tmp_path), postgresql=False)
    assert "missing" in complaint(str(tmp_path / "missing" / "c.sqlite"), postgresql=False)


def test_a_file_that_another_process_keeps_locked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "c.sqlite")
    upgrade(path, postgresql=False)
    connect = sqlite3.connect
    monkeypatch.setattr(
        "sqlite3.dbapi2.connect", lambda *each, **named: connect(*each, **named | {"timeout": 0.1})
    )
    holder = connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "locked" in complaint(path, postgresql=False)
    holder.close()


def test_a_server_that_refuses_is_named_without_the_password(postgres: PostgresServer) -> None:
    user, _, rest = postgres.url.partition("://")[2].partition("@")
    name, _, password = user.partition(":")
    port = rest.partition("/")[0].rpartition(":")[2]
    wrong = {
        f"postgresql://{name}:hunter2@{rest}": "password authentication failed",
        f"postgresql://{rest}?user={name}&password=hunter2": "password authentication failed",
        f"postgresql://{name}:{password}@{rest}_nothing": "does not exist",
        f"postgresql://{name}:hunter2@127.0.0.1:1/x": "",
        f"postgresql://{name}:hunter2@[bad/x": "",
        f"postgresql://{name}:hunter2@127.0.0.1:notaport/x": "",
        f"postgresql://{name}:{password}@{rest}?sslmode=require": "",
        f"postgresql://{name}:hunter2@127.0.0.1:{port}/x?sslmode=hunter3": "",
    }
    for url, reason in wrong.items():
        text = complaint(url, postgresql=True)
        assert reason in text, url
        assert "hunter2" not in text
        assert password not in text


def test_whatever_asyncpg_reads_in_a_url_is_good(postgres: PostgresServer) -> None:
    schema = f"ibi_{secrets.token_hex(8)}"
    database = Postgres(postgres.url)
    database.transaction(lambda execute: execute(f"CREATE SCHEMA {schema}"))
    url = f"{postgres.url}?sslmode=prefer&application_name=test&search_path={schema}"
    upgrade(url, postgresql=True)
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1"
    [(count,)] = database.read(tables, schema)
    assert count == len(SCHEMA.tables) + 1
    database.close()
