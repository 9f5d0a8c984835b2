"""Migrations: the upgrade of tables from any version to the newest one.

The `storage.migrations` of a program hold the steps; a test checks that they add up to the tables
of the program's `schema` on every database. SQLAlchemy and Alembic are used in these modules and
nowhere else: reads go to the database directly.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import apsw
import asyncpg
import sqlalchemy as sa
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy.ext.asyncio import create_async_engine

from ibi.errors import StorageError
from ibi.foundation.sql.postgres import LOST, TIMEOUT, reason_of, without_password
from ibi.foundation.sql.schema_version import Migrations
from ibi.foundation.sql.sqlite import enable_wal

_LOCK: Final = sa.text("SELECT pg_advisory_xact_lock(1768057194)")
_PATIENCE: Final = 60
"""Seconds to wait for another process that makes the same tables: longer than for one row."""


def upgrade(place: str, migrations: Migrations, *, postgresql: bool, version: str = "") -> None:
    """Upgrade the tables of a program at a path or a postgresql:// URL to the newest version.

    `version` names an older one, for a restore of rows of that version.
    """
    try:
        if postgresql:
            asyncio.run(_upgrade_postgres(place, migrations, version))
        else:
            _upgrade_sqlite(place, migrations, version)
    except (sa.exc.SQLAlchemyError, apsw.Error, CommandError, *LOST) as failure:
        # SQLAlchemy's message has the driver's own message first, and then the statement.
        cause = getattr(failure, "orig", None) or failure
        reason = reason_of(cause, place if postgresql else "")
        raise StorageError(without_password(place) if postgresql else place, reason) from failure


def _upgrade_sqlite(path: str, migrations: Migrations, version: str) -> None:
    # Not from a text: a path may have any character that is special in a URL.
    url = sa.URL.create("sqlite", database=path)
    waiting = {"timeout": _PATIENCE}
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args=waiting)
    enable_wal(path, _PATIENCE)
    with engine.connect() as connection:
        # The driver begins transactions only before it writes rows: two processes that make tables
        # at the same time would collide.
        connection.connection.driver_connection.isolation_level = None  # type: ignore[union-attr]  # an open one has it
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        _run(connection, migrations, version)
        connection.exec_driver_sql("COMMIT")


async def _upgrade_postgres(url: str, migrations: Migrations, version: str) -> None:
    # The URL is parsed by asyncpg, as elsewhere: SQLAlchemy supports less of it, and differently.
    engine = create_async_engine(
        "postgresql+asyncpg://",
        poolclass=sa.pool.NullPool,
        async_creator=lambda: asyncpg.connect(url, timeout=TIMEOUT),
    )
    try:
        async with engine.begin() as connection:
            await connection.execute(_LOCK)
            await connection.run_sync(_run, migrations, version)
    finally:
        await engine.dispose()


def _run(connection: sa.Connection, migrations: Migrations, version: str) -> None:
    folder = Path(str(files(migrations.package)))
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("version_locations", str(folder))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, _: MigrationContext) -> Any:  # noqa: ANN401  # Alembic's own values
        known = {each.revision for each in script.walk_revisions()}
        if isinstance(revision, tuple) and any(each not in known for each in revision):
            raise StorageError(f"of the {migrations.program}", "a newer ibi made it")
        return script._upgrade_revs(version or "head", revision)  # noqa: SLF001  # what its own command runs

    context = MigrationContext.configure(
        connection,
        opts={
            "fn": steps,
            "version_table": migrations.version_table,
            "transaction_per_migration": False,
        },
    )
    with Operations.context(context):
        context.run_migrations()
