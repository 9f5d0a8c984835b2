"""The catalogue in SQL, the same for every database behind it."""

from __future__ import annotations

from functools import partial

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.storage.catalogue.deposits import SqlDeposits, SqlReservations
from ibi.archive.storage.catalogue.digest_log import SqlDigestLog
from ibi.archive.storage.catalogue.drafts import SqlDrafts
from ibi.archive.storage.catalogue.full_text import SqlFullText
from ibi.archive.storage.catalogue.harvest import SqlHarvestLog
from ibi.archive.storage.catalogue.history import SqlHistory
from ibi.archive.storage.catalogue.items import SqlItems
from ibi.archive.storage.catalogue.maintenance import (
    SqlCopies,
    SqlDamages,
    SqlHolders,
    SqlTasks,
    SqlTransfers,
)
from ibi.archive.storage.catalogue.pictures import SqlPictures
from ibi.archive.storage.catalogue.rebuild import SqlRebuild
from ibi.archive.storage.catalogue.search import SqlSearchIndex
from ibi.archive.storage.catalogue.statistics import SqlStatistics
from ibi.foundation.accounts.store import SqlAccounts
from ibi.foundation.figures.store import SqlFigures
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.store import SqlHandle, SqlTokens


def sql_catalogue(database: Database, *, quick: bool) -> Catalogue:
    """Return the catalogue in a database that has the newest tables."""
    handle = SqlHandle(database)
    return Catalogue(
        items=SqlItems(handle),
        history=SqlHistory(handle),
        deposits=SqlDeposits(handle),
        drafts=SqlDrafts(handle),
        reservations=SqlReservations(handle),
        statistics=SqlStatistics(handle),
        tasks=SqlTasks(handle),
        transfers=SqlTransfers(handle),
        copies=SqlCopies(handle),
        holders=SqlHolders(handle),
        damages=SqlDamages(handle),
        digest=SqlDigestLog(handle),
        harvest=SqlHarvestLog(handle),
        search=SqlSearchIndex(handle),
        full_text=SqlFullText(handle),
        pictures=SqlPictures(handle),
        tokens=SqlTokens(handle, "archive_token"),
        figures=SqlFigures(handle, "archive_figure"),
        accounts=SqlAccounts(handle, "archive"),
        settings=SqlSettings(handle),
        links=SqlLinks(handle),
        rebuild=partial(SqlRebuild, handle),
        close=handle.close,
        quick=quick,
    )


class SqlSettings:
    """Values by name, each of which stays until it is dropped."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def get(self, name: str) -> str:
        """Return the value of a name; empty if there is none."""
        rows = self._read("SELECT value FROM archive_setting WHERE name = $1", name)
        return str(rows[0][0]) if rows else ""

    def keep(self, name: str, value: str) -> str:
        """Store a value unless there is one; return the stored value."""
        if found := self.get(name):  # on a full disk nothing can be stored
            return found

        def work(execute: Execute) -> str:
            execute(
                "INSERT INTO archive_setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                name,
                value,
            )
            [(stands,)] = execute("SELECT value FROM archive_setting WHERE name = $1", name)
            return str(stands)

        return self._write(work)

    def drop(self, name: str) -> None:
        """Remove the value of a name."""
        self._write(lambda execute: execute("DELETE FROM archive_setting WHERE name = $1", name))


class SqlLinks:
    """The resolvers that an archive is linked to."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def all(self) -> dict[str, str]:
        """Return the JSON document of each resolver, by its address."""
        rows = self._read("SELECT resolver, document FROM archive_link")
        # Sorted here, because the order of texts differs between databases.
        return {str(resolver): str(document) for resolver, document in sorted(rows)}

    def keep(self, resolver: str, document: str) -> None:
        """Store the document of a resolver, replacing an earlier one."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_link (resolver, document) VALUES ($1, $2) "
                "ON CONFLICT (resolver) DO UPDATE SET document = excluded.document",
                resolver,
                document,
            )
        )

    def drop(self, resolver: str) -> None:
        """Remove a resolver."""
        self._write(
            lambda execute: execute("DELETE FROM archive_link WHERE resolver = $1", resolver)
        )
