"""Where things are kept: a file of SQLite, or PostgreSQL, by the place alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ibi.adapters.database import Database
from ibi.adapters.sql_ledger import SqlLedger
from ibi.adapters.sqlite import Sqlite, SqliteReader
from ibi.errors import LedgerUnavailableError, MintingRequestError, StorageError, shown
from ibi.settings import POSTGRESQL, ArchiveSettings, ResolverSettings

if TYPE_CHECKING:
    from ibi.adapters.schema_version import Part
    from ibi.adapters.sql_catalogue import SqlCatalogue
    from ibi.adapters.sql_resolver_store import SqlResolverStore


def open_ledger(place: str, *, existing: bool = False) -> SqlLedger:
    """Open the ledger at a path or a postgresql:// URL; make it, unless it should exist."""
    if not place.startswith(POSTGRESQL) and existing and not Path(place).exists():
        msg = f"There is no ledger at {shown(place)}: name the one that the minter uses."
        raise MintingRequestError(msg)
    return SqlLedger(open_database(place))


def open_catalogue(settings: ArchiveSettings) -> SqlCatalogue:
    """Open the catalogue of an archive, and bring it to the newest version."""
    from ibi.adapters.sql_catalogue import SqlCatalogue

    place = settings.place(settings.catalogue)
    database = _newest(place, "archive")
    return SqlCatalogue(database, quick=not place.startswith(POSTGRESQL))


def read_catalogue(settings: ArchiveSettings) -> SqlCatalogue:
    """Open the catalogue of an archive that another process keeps, only to read it."""
    from ibi.adapters.sql_catalogue import SqlCatalogue

    place = settings.place(settings.catalogue)
    try:
        if place.startswith(POSTGRESQL):
            from ibi.adapters.postgres import Postgres

            return SqlCatalogue(Postgres(place, read_only=True), quick=False)
        return SqlCatalogue(SqliteReader(place), quick=True)
    except LedgerUnavailableError as failure:
        raise StorageError(failure.ledger, failure.reason) from failure


def open_resolver_store(settings: ResolverSettings) -> SqlResolverStore:
    """Open the database of a resolver, and bring it to the newest version."""
    from ibi.adapters.sql_resolver_store import SqlResolverStore

    database = _newest(settings.place, "resolver")
    return SqlResolverStore(database, quick=not settings.place.startswith(POSTGRESQL))


def _newest(place: str, part: Part) -> Database:
    """Open a database that has the newest tables of a part."""
    from ibi.adapters.schema_version import is_newest

    try:
        database = open_database(place)
    except LedgerUnavailableError as failure:
        raise StorageError(failure.ledger, failure.reason) from failure
    if is_newest(database, part):
        return database
    # New tables are made by another SQLite than ours, which takes the log of the file with it when
    # it leaves: nobody may have the file open then, and write to that log afterwards.
    database.close()
    from ibi.adapters.sql_schema import upgrade

    upgrade(place, postgresql=place.startswith(POSTGRESQL), part=part)
    return open_database(place)


def open_database(place: str) -> Database:
    """Open a file of SQLite, made if need be, or a server; LedgerUnavailableError if it fails."""
    if not place.startswith(POSTGRESQL):
        return Sqlite(place)
    from ibi.adapters.postgres import Postgres

    return Postgres(place)
