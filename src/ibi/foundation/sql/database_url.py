"""Opens a database by its place: a file of SQLite, or the URL of a PostgreSQL server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibi.errors import LedgerUnavailableError, StorageError
from ibi.foundation.settings_file import POSTGRESQL
from ibi.foundation.sql.database import Database
from ibi.foundation.sql.sqlite import Sqlite

if TYPE_CHECKING:
    from ibi.foundation.sql.schema_version import Migrations


def open_newest(place: str, migrations: Migrations) -> Database:
    """Open a database, and upgrade the tables of a program to the newest version."""
    from ibi.foundation.sql.schema_version import is_newest

    try:
        database = open_database(place)
    except LedgerUnavailableError as failure:
        raise StorageError(failure.ledger, failure.reason) from failure
    if is_newest(database, migrations):
        return database
    # New tables are made by another SQLite library than ours, which removes the write-ahead log of
    # the file when it closes: no other connection may have the file open and write to that log
    # later.
    database.close()
    from ibi.foundation.sql.upgrade import upgrade

    upgrade(place, migrations, postgresql=place.startswith(POSTGRESQL))
    return open_database(place)


def open_database(place: str) -> Database:
    """Open a SQLite file, created if absent, or a server; LedgerUnavailableError if it fails."""
    if not place.startswith(POSTGRESQL):
        return Sqlite(place)
    from ibi.foundation.sql.postgres import Postgres

    return Postgres(place)
