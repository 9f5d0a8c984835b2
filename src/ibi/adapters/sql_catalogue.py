"""The catalogue in SQL, the same for every database behind it."""

from __future__ import annotations

from ibi.adapters.database import Execute
from ibi.adapters.sql_digest import SqlDigest
from ibi.adapters.sql_history import SqlHistory
from ibi.adapters.sql_intake import SqlIntake
from ibi.adapters.sql_items import SqlItems
from ibi.adapters.sql_renewal import SqlRenewal
from ibi.adapters.sql_statistics import SqlStatistics
from ibi.adapters.sql_store import SqlStore
from ibi.adapters.sql_upkeep import SqlUpkeep


class SqlCatalogue(SqlStore, SqlItems, SqlHistory, SqlIntake, SqlStatistics, SqlUpkeep, SqlDigest):
    """A catalogue on a database."""

    token_table = "archive_token"  # noqa: S105  # the name of a table

    def setting(self, name: str) -> str:
        """Return what was kept under a name; empty if nothing was."""
        rows = self._read("SELECT value FROM archive_setting WHERE name = $1", name)
        return str(rows[0][0]) if rows else ""

    def keep_setting(self, name: str, value: str) -> str:
        """Keep a value unless there is one, and return what stands there."""

        def work(execute: Execute) -> str:
            execute(
                "INSERT INTO archive_setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                name,
                value,
            )
            [(stands,)] = execute("SELECT value FROM archive_setting WHERE name = $1", name)
            return str(stands)

        return self._write(work)

    def renewal(self) -> SqlRenewal:
        """Begin to write all items anew, or find what somebody began and could not finish."""
        return SqlRenewal(self._write, self._read, self._database)

    def links(self) -> dict[str, str]:
        """Return what is kept of each resolver."""
        rows = self._read("SELECT resolver, document FROM archive_link")
        # Sorted here: a database has an order of its own for texts.
        return {str(resolver): str(document) for resolver, document in sorted(rows)}

    def keep_link(self, resolver: str, document: str) -> None:
        """Keep it, in the place of what was kept before."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_link (resolver, document) VALUES ($1, $2) "
                "ON CONFLICT (resolver) DO UPDATE SET document = excluded.document",
                resolver,
                document,
            )
        )

    def drop_link(self, resolver: str) -> None:
        """Forget a resolver."""
        self._write(
            lambda execute: execute("DELETE FROM archive_link WHERE resolver = $1", resolver)
        )
