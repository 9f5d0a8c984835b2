"""Whether a database has the newest tables, without loading what could make them.

SQLAlchemy and Alembic take 27 MB and a second: what starts every day needs them once in a version.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibi.errors import LedgerUnavailableError
from ibi.foundation.sql.database import Database


@dataclass(frozen=True, slots=True)
class Migrations:
    """The migrations of one program; the tables of several programs may share a database."""

    program: str
    """Names the version table, and the program in errors."""
    package: str
    """The package that has one module a migration, as Alembic reads them."""
    newest: str
    """The last revision in the package; a test holds the two equal."""

    @property
    def version_table(self) -> str:
        """The table that has the revision which was applied last."""
        return f"{self.program}_version"


def is_newest(database: Database, migrations: Migrations) -> bool:
    """Tell whether the tables are those of this program; no if there are none."""
    select = f"SELECT version_num FROM {migrations.version_table}"  # noqa: S608  # our own names
    try:
        return database.read(select) == [(migrations.newest,)]
    except LedgerUnavailableError:
        return False
