"""Whether a catalogue has the newest tables, without loading what could make them.

SQLAlchemy and Alembic take 27 MB and a second: an archive that starts every day needs them once
in a version.
"""

from __future__ import annotations

from typing import Final

from ibi.adapters.database import Database
from ibi.errors import LedgerUnavailableError

NEWEST: Final = "0001"
"""The last step in `ibi.migrations`; a test holds the two equal."""


def is_newest(database: Database) -> bool:
    """Tell whether the tables are those of this program; no if there are none."""
    try:
        return database.read("SELECT version_num FROM archive_version") == [(NEWEST,)]
    except LedgerUnavailableError:
        return False
