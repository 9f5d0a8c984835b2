"""The catalogue in SQL, the same for every database behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from ibi.adapters import sql_tokens
from ibi.adapters.database import Database, Execute
from ibi.adapters.sql_intake import SqlIntake
from ibi.adapters.sql_items import SqlItems
from ibi.adapters.sql_statistics import SqlStatistics
from ibi.errors import LedgerUnavailableError, StorageError, StorageFullError
from ibi.ports import Token

T = TypeVar("T")

_TOKENS: Final = "archive_token"


class SqlCatalogue(SqlItems, SqlIntake, SqlStatistics):
    """A catalogue on a database; `quick` says that a point read takes microseconds."""

    def __init__(self, database: Database, *, quick: bool) -> None:
        """Take a database that has the newest tables (`sql_schema.upgrade`)."""
        self._database = database
        self.quick = quick

    def _write(self, work: Callable[[Execute], T]) -> T:
        try:
            return self._database.transaction(work)
        except LedgerUnavailableError as failure:
            raise _storage_error(failure) from failure

    def _read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._database.read(sql, *values)
        except LedgerUnavailableError as failure:
            raise _storage_error(failure) from failure

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

    def links(self) -> dict[str, str]:
        """Return what is kept of each resolver."""
        rows = self._read("SELECT resolver, document FROM archive_link")
        # Sorted here and below: a database has an order of its own for texts.
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

    def add_token(self, token: Token) -> bool:
        """Keep a token; False if one of that name is there."""
        return self._write(lambda execute: sql_tokens.add_token(execute, _TOKENS, token))

    def tokens(self) -> list[Token]:
        """Return all tokens, by name."""
        return sorted(sql_tokens.all_tokens(self._read, _TOKENS), key=lambda token: token.name)

    def remove_token(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        return self._write(lambda execute: sql_tokens.remove_token(execute, _TOKENS, name))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _storage_error(failure: LedgerUnavailableError) -> StorageError:
    kind = StorageFullError if failure.reason == "the disk is full" else StorageError
    return kind(failure.ledger, failure.reason)
