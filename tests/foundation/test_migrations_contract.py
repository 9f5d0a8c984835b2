"""The tables of archive and resolver: made by steps, on every database, whoever comes first."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.storage.catalogue import schema as archive_schema
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.errors import StorageError
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.schema_version import Migrations, is_newest
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.model.token import Token
from ibi.resolver.storage import schema as resolver_schema
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from tests.support.processes.fresh import fresh_processes, run_at_once
from tests.support.servers.postgres import PostgresServer

PROGRAMS = [ARCHIVE_MIGRATIONS, RESOLVER_MIGRATIONS]
SCHEMAS = {"archive": archive_schema.SCHEMA, "resolver": resolver_schema.SCHEMA}
TEXT_INDEXES = ("archive_search_text", "archive_file_terms")
"""Tables that each database has in its own form, in SQLite with tables of their own."""


def compared(migrations: Migrations, connection: sa.Connection) -> Any:  # noqa: ANN401  # Alembic's own values
    """Return what differs between the database and the tables that the program knows."""

    def is_ours(_: object, name: str | None, kind: str, *__: object) -> bool:
        ours = (name or "").startswith(
            f"{migrations.program}_"
        ) and name != migrations.version_table
        is_text_index = (name or "").startswith(TEXT_INDEXES)
        return (ours and not is_text_index) or kind != "table"

    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_object": is_ours}
    )
    return compare_metadata(context, SCHEMAS[migrations.program])


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

    def upgrade(self, migrations: Migrations) -> None:
        """Make the tables."""
        upgrade(self.place, migrations, postgresql=self.postgresql)

    def differences(self, migrations: Migrations) -> Any:  # noqa: ANN401
        """Compare them by SQLAlchemy with what the program knows."""
        return self.read(partial(compared, migrations))

    def read(self, read: Callable[[sa.Connection], Any]) -> Any:  # noqa: ANN401
        """Look at them by SQLAlchemy."""
        return (read_postgres if self.postgresql else read_sqlite)(self.place, read)

    def open(self) -> Database:
        """Open it as the program does."""
        return Postgres(self.place) if self.postgresql else Sqlite(self.place)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield Place(str(tmp_path / "tables.sqlite"), postgresql=False)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    yield Place(server.database(), postgresql=True)


@pytest.fixture(params=PROGRAMS, ids=lambda each: each.program)
def migrations(request: pytest.FixtureRequest) -> Migrations:
    which: Migrations = request.param
    return which


def test_the_steps_make_the_tables_that_the_program_knows(
    place: Place, migrations: Migrations
) -> None:
    assert place.differences(migrations) != []
    place.upgrade(migrations)
    assert place.differences(migrations) == []


def definitions(connection: sa.Connection) -> dict[str, str]:
    """Return how SQLite was told to make each table of ours."""
    rows = connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return {
        name: sql
        for name, sql in rows
        if not name.endswith("_version") and not name.startswith(TEXT_INDEXES)
    }


def test_the_steps_make_tables_of_the_same_kind_in_sqlite(
    tmp_path: Path, migrations: Migrations
) -> None:
    """Alembic compares columns, not how SQLite keeps rows and numbers them."""
    path = str(tmp_path / "steps.sqlite")
    upgrade(path, migrations, postgresql=False)

    def known(connection: sa.Connection) -> dict[str, str]:
        SCHEMAS[migrations.program].create_all(connection)
        return definitions(connection)

    def kinds(found: dict[str, str]) -> dict[str, tuple[bool, bool]]:
        return {
            name: ("WITHOUT ROWID" in sql, "AUTOINCREMENT" in sql) for name, sql in found.items()
        }

    made = kinds(read_sqlite(path, definitions))
    assert made == kinds(read_sqlite(str(tmp_path / "known.sqlite"), known))
    assert any(without_rowid for without_rowid, _ in made.values())


def test_the_newest_step_is_known_without_alembic(place: Place, migrations: Migrations) -> None:
    database = place.open()
    assert not is_newest(database, migrations)
    place.upgrade(migrations)
    assert is_newest(database, migrations)
    assert version(database, migrations) == migrations.newest
    database.close()


def version(database: Database, migrations: Migrations) -> str:
    [(found,)] = database.read(f"SELECT version_num FROM {migrations.version_table}")  # noqa: S608
    return str(found)


def store(place: Place, migrations: Migrations) -> Catalogue | SqlResolverStore:
    """Open the tables as the program does."""
    kind = sql_catalogue if migrations is ARCHIVE_MIGRATIONS else SqlResolverStore
    return kind(place.open(), quick=True)


def test_to_upgrade_twice_changes_nothing(place: Place, migrations: Migrations) -> None:
    place.upgrade(migrations)
    opened = store(place, migrations)
    token = Token("me", "digest", "read", 1)
    opened.tokens.add_token(token)
    place.upgrade(migrations)
    assert opened.tokens.tokens() == [token]
    opened.close()
    assert place.differences(migrations) == []


@pytest.mark.parametrize(
    "order", [PROGRAMS, PROGRAMS[::-1]], ids=["archive first", "resolver first"]
)
def test_both_programs_live_in_one_database(place: Place, order: list[Migrations]) -> None:
    first, second = order
    place.upgrade(first)
    database = place.open()
    assert not is_newest(database, second)
    place.upgrade(second)
    for migrations in (first, second, first):
        place.upgrade(migrations)
        assert is_newest(database, migrations)
        assert place.differences(migrations) == []
    database.close()
    stores = {migrations: store(place, migrations) for migrations in order}
    for migrations, opened in stores.items():
        assert opened.tokens.add_token(Token("me", migrations.program, "read", 1))
    for migrations, opened in stores.items():
        assert [token.digest for token in opened.tokens.tokens()] == [migrations.program]
        opened.close()


def work(place: Place, migrations: Migrations, barrier: Any) -> None:  # noqa: ANN401  # a type that depends on the system
    """Upgrade in a process of its own, at the same moment as others."""
    barrier.wait()
    place.upgrade(migrations)


def test_processes_that_upgrade_at_once_do_no_harm(place: Place) -> None:
    barrier = fresh_processes().Barrier(4)
    run_at_once(*((work, (place, migrations, barrier)) for migrations in PROGRAMS for _ in "ab"))
    assert [place.differences(migrations) for migrations in PROGRAMS] == [[], []]


def test_who_writes_to_a_file_that_keeps_no_log_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")  # SQLite itself gives up at once here
    later = threading.Timer(0.3, other.execute, ["COMMIT"])
    later.start()
    upgrade(str(path), ARCHIVE_MIGRATIONS, postgresql=False)
    later.join()
    other.close()
    with closing(apsw.Connection(str(path))) as mine:
        assert list(mine.execute("PRAGMA journal_mode")) == [("wal",)]


def test_tables_that_a_newer_program_made_are_left_alone(
    place: Place, migrations: Migrations
) -> None:
    for each in PROGRAMS:
        place.upgrade(each)
    database = place.open()
    other = next(each for each in PROGRAMS if each != migrations)
    # The other program's step is as unknown here as one of the future.
    for newer in ("9999", other.newest):
        update = f"UPDATE {migrations.version_table} SET version_num = '{newer}'"  # noqa: S608
        database.transaction(partial(_execute, update))
        assert not is_newest(database, migrations)
        with pytest.raises(StorageError, match="a newer ibi made it"):
            place.upgrade(migrations)
        assert version(database, migrations) == newer
        assert is_newest(database, other)
        place.upgrade(other)
    database.close()


NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None


def upgrade():
    op.add_column("{table}", sa.Column("note", sa.Text(), nullable=False, server_default="none"))
"""


@pytest.fixture
def future(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, migrations: Migrations) -> Migrations:
    """Return the migrations of a later version of a program, which adds a column to its tokens."""
    package = f"later_{migrations.program}_{secrets.token_hex(4)}"
    folder = tmp_path / "packages" / package
    shutil.copytree(str(files(migrations.package)), folder)
    revision = f"{migrations.newest[0]}9999"
    table = f"{migrations.program}_token"
    text = NEXT.format(revision=revision, before=migrations.newest, table=table)
    (folder / f"{revision}_note.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder.parent))
    return Migrations(migrations.program, package, revision)


def test_tables_of_an_older_program_are_brought_to_the_newest(
    place: Place, migrations: Migrations, future: Migrations
) -> None:
    place.upgrade(migrations)
    opened = store(place, migrations)
    token = Token("me", "digest", "read", 1)
    opened.tokens.add_token(token)
    opened.close()
    database = place.open()
    assert not is_newest(database, future)
    database.close()
    place.upgrade(future)
    database = place.open()
    assert is_newest(database, future)
    rows = database.read(f"SELECT name, digest, note FROM {migrations.program}_token")  # noqa: S608
    assert rows == [("me", "digest", "none")]
    # The older program leaves alone what the newer one made.
    with pytest.raises(StorageError, match="a newer ibi made it"):
        place.upgrade(migrations)
    assert is_newest(database, future)
    database.close()


def test_tables_are_made_as_they_were_and_then_brought_to_the_newest(
    place: Place, migrations: Migrations, future: Migrations
) -> None:
    """So rows of an older backup are restored."""
    upgrade(place.place, future, postgresql=place.postgresql, version=migrations.newest)
    database = place.open()
    assert is_newest(database, migrations)
    assert place.differences(migrations) == []
    database.close()
    place.upgrade(future)
    assert place.differences(migrations) != []


def _execute(statement: str, execute: Execute) -> None:
    execute(statement)


def complaint(place: str, *, postgresql: bool) -> str:
    with pytest.raises(StorageError) as refused:
        upgrade(place, ARCHIVE_MIGRATIONS, postgresql=postgresql)
    text = str(refused.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert not text.endswith("..")
    return text


@pytest.mark.parametrize("name", ["a?b=c", "a#b", "a%41b", "a b'c", "ç%", "a;b", ":memory:x"])
def test_a_path_may_have_any_character(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    upgrade(str(path), ARCHIVE_MIGRATIONS, postgresql=False)
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith(f"{name}-")] == [
        name
    ]
    assert read_sqlite(str(path), partial(compared, ARCHIVE_MIGRATIONS)) == []


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
    upgrade(path, ARCHIVE_MIGRATIONS, postgresql=False)
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
    upgrade(url, ARCHIVE_MIGRATIONS, postgresql=True)
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1"
    [(count,)] = database.read(tables, schema)
    # The version, and the indexes for full text.
    assert count == len(SCHEMAS["archive"].tables) + 1 + len(TEXT_INDEXES)
    database.close()
