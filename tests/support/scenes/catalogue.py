"""Where a catalogue lies, on SQLite or on PostgreSQL, for tests that run on both."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.foundation.sql.database import Database
from ibi.foundation.sql.postgres import Postgres
from tests.support.servers.postgres import PostgresServer


@dataclass
class CatalogueDatabase:
    """Where a catalogue lies, and may be opened again and again."""

    place: str
    database: Callable[[], Database]
    postgresql: bool
    opened: list[Catalogue] = field(default_factory=list)

    def __call__(self) -> Catalogue:
        """Open it."""
        self.opened.append(sql_catalogue(self.database(), quick=True))
        return self.opened[-1]


def schema(server: PostgresServer) -> str:
    """Return the URL of an empty place; much quicker than a database of its own."""
    name = f"ibi_{secrets.token_hex(8)}"
    database = Postgres(server.url)
    database.transaction(lambda execute: execute(f"CREATE SCHEMA {name}"))
    database.close()
    return f"{server.url}?search_path={name}"
