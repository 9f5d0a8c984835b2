"""Steps from one schema to the next, run by Alembic; a released one is never changed."""

from __future__ import annotations

from typing import Final

from ibi.foundation.sql.schema_version import Migrations

ARCHIVE_MIGRATIONS: Final = Migrations("archive", __name__, "a0013")
