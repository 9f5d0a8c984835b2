"""The version of the registry's tables that this program reads and writes."""

from __future__ import annotations

from typing import Final

from ibi.foundation.sql.schema_version import Migrations

RESOLVER_MIGRATIONS: Final = Migrations("resolver", "ibi.resolver.storage.migrations", "r0001")
