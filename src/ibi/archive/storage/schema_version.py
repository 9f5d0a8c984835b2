"""The version of the catalogue's tables that this program reads and writes."""

from __future__ import annotations

from typing import Final

from ibi.foundation.sql.schema_version import Migrations

ARCHIVE_MIGRATIONS: Final = Migrations("archive", "ibi.archive.storage.migrations", "a0001")
