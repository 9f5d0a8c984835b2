"""Checks whether a database has the newest tables, without loading the migration libraries.

SQLAlchemy and Alembic take 27 MB and a second, and are needed only once per version.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibi.errors import LedgerUnavailableError
from ibi.foundation.sql.database import Database


@dataclass(frozen=True, slots=True)
class Migrations:
    """The migrations of one program; the tables of several programs may share a database."""

    program: str
    """The name of the program, for the version table and for errors."""
    package: str
    """The package with one module for each migration, as Alembic reads them."""
    newest: str
    """The last revision in the package; a test checks that."""

    @property
    def version_table(self) -> str:
        """The table that holds the revision applied last."""
        return f"{self.program}_version"


def is_newest(database: Database, migrations: Migrations) -> bool:
    """Return whether the tables are of the newest version; False if there are none."""
    select = f"SELECT version_num FROM {migrations.version_table}"  # noqa: S608  # our own names
    try:
        return database.read(select) == [(migrations.newest,)]
    except LedgerUnavailableError:
        return False
