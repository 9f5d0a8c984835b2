"""The tables of the catalogue, and the way to them from whatever version is there.

`ibi.migrations` holds the steps; a test holds their sum equal to these tables on every database.
SQLAlchemy and Alembic are used here and nowhere else: reads go to the database directly.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import asyncpg
import sqlalchemy as sa
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import create_async_engine

import ibi.migrations
from ibi.adapters.postgres import LOST, TIMEOUT, without_password
from ibi.errors import StorageError

SCHEMA: Final = sa.MetaData()
# SQLite numbers rows by itself only in an INTEGER, PostgreSQL runs out of them in one.
_NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

item = sa.Table(
    "archive_item",
    SCHEMA,
    sa.Column("id", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("label", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Index("archive_item_of_kind", "kind", "id"),
)
# Every name that was ever given stays here, so that none is given twice; `item` is empty while a
# label is only reserved.
name = sa.Table(
    "archive_name",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("item", sa.BigInteger),
    sqlite_with_rowid=False,
)
file = sa.Table(
    "archive_file",
    SCHEMA,
    sa.Column("item", sa.BigInteger, primary_key=True),
    sa.Column("path", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("sha512", sa.Text, nullable=False),
    sa.Column("modified", sa.BigInteger, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
history = sa.Table(
    "archive_history",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("change", sa.Text, nullable=False, unique=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("act", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index("archive_history_of_label", "label", "number"),
)
deposit = sa.Table(
    "archive_deposit",
    SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("opened", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("completed", sa.Text, nullable=False),
)
reservation = sa.Table(
    "archive_reservation",
    SCHEMA,
    sa.Column("label", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("short", sa.Text, nullable=False, unique=True),
    sa.Column("forms", sa.Text, nullable=False),
    sa.Column("reserved", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
)
access = sa.Table(
    "archive_access",
    SCHEMA,
    sa.Column("item", sa.BigInteger, primary_key=True),
    sa.Column("day", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
used_key = sa.Table(
    "archive_used_key",
    SCHEMA,
    sa.Column("issued", sa.BigInteger, primary_key=True),
    sa.Column("nonce", sa.BigInteger, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
token = sa.Table(
    "archive_token",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
)
setting = sa.Table(
    "archive_setting",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
link = sa.Table(
    "archive_link",
    SCHEMA,
    sa.Column("resolver", sa.Text, primary_key=True),
    sa.Column("document", sa.Text, nullable=False),
)

_VERSION_TABLE: Final = "archive_version"
_LOCK: Final = sa.text("SELECT pg_advisory_xact_lock(1768057194)")


def upgrade(place: str, *, postgresql: bool) -> None:
    """Bring the tables at a path or a postgresql:// URL to the newest version."""
    try:
        if postgresql:
            asyncio.run(_upgrade_postgres(place))
        else:
            _upgrade_sqlite(place)
    except (sa.exc.SQLAlchemyError, *LOST) as failure:
        # SQLAlchemy tells the driver's own words, and then its own with the statement.
        cause = getattr(failure, "orig", None) or failure
        reason = str(cause).strip().partition("\n")[0].rstrip(".") or type(cause).__name__
        raise StorageError(without_password(place) if postgresql else place, reason) from failure


def _upgrade_sqlite(path: str) -> None:
    # Not from a text: a path may have any character that is a sign in a URL.
    url = sa.URL.create("sqlite", database=path)
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        # The driver begins transactions only before it writes rows: two who make tables at once
        # would meet in the middle.
        connection.connection.driver_connection.isolation_level = None  # type: ignore[union-attr]  # an open one has it
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        _run(connection)
        connection.exec_driver_sql("COMMIT")


async def _upgrade_postgres(url: str) -> None:
    # The URL is read by asyncpg, as for all else: SQLAlchemy reads less of it, and otherwise.
    engine = create_async_engine(
        "postgresql+asyncpg://",
        poolclass=sa.pool.NullPool,
        async_creator=lambda: asyncpg.connect(url, timeout=TIMEOUT),
    )
    try:
        async with engine.begin() as connection:
            await connection.execute(_LOCK)
            await connection.run_sync(_run)
    finally:
        await engine.dispose()


def _run(connection: sa.Connection) -> None:
    folder = Path(ibi.migrations.__file__).parent
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("version_locations", str(folder))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _: MigrationContext) -> Any:  # noqa: ANN401  # Alembic's own values
        known = {each.revision for each in script.walk_revisions()}
        if isinstance(revision, tuple) and any(each not in known for each in revision):
            raise StorageError("of the catalogue", "a newer ibi made it")
        return script._upgrade_revs("head", revision)  # noqa: SLF001  # what its own command runs

    context = MigrationContext.configure(
        connection,
        opts={"fn": steps, "version_table": _VERSION_TABLE, "transaction_per_migration": False},
    )
    with Operations.context(context):
        context.run_migrations()
