"""Whether a database has the newest tables, without loading what could make them.

SQLAlchemy and Alembic take 27 MB and a second: what starts every day needs them once in a version.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from ibi.errors import LedgerUnavailableError
from ibi.foundation.sql.database import Database

Part: TypeAlias = Literal["archive", "resolver"]
"""Whose tables: each part has its own steps, and both may live in one database."""

NEWEST: Final[dict[Part, str]] = {"archive": "0004", "resolver": "s0003"}
"""The last step of each part in `ibi.archive.storage.migrations`; a test holds the two equal."""


def version_table(part: Part) -> str:
    """Return the name of the table that says which step was made last."""
    return f"{part}_version"


def is_newest(database: Database, part: Part) -> bool:
    """Tell whether the tables are those of this program; no if there are none."""
    select = f"SELECT version_num FROM {version_table(part)}"  # noqa: S608  # our own names
    try:
        return database.read(select) == [(NEWEST[part],)]
    except LedgerUnavailableError:
        return False
