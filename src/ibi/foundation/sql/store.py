"""What the stores of all programs share: a database handle, and the storage of tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from ibi.errors import LedgerUnavailableError, StorageError, StorageFullError
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import is_storable
from ibi.model.token import Token

_UNTIL: Final = "@"
"""Between a digest and the time at which its token expires.

Both are in one column: a version that knows nothing of the time finds no token by such a digest,
and so refuses what it could not check.
"""


def add_token(execute: Execute, table: str, token: Token) -> bool:
    """Store a token; return False if the name is taken."""
    insert = (
        f"INSERT INTO {table} (name, digest, scope, created) VALUES ($1, $2, $3, $4) "  # noqa: S608  # our own names
        "ON CONFLICT DO NOTHING RETURNING name"
    )
    known_by = f"{token.digest}{_UNTIL}{token.expires}" if token.expires else token.digest
    return bool(execute(insert, token.name, known_by, token.scope, token.created))


def all_tokens(execute: Execute, table: str) -> list[Token]:
    """Return all tokens, in no order."""
    select = f"SELECT name, digest, scope, created FROM {table}"  # noqa: S608  # our own names
    return [_token(*row) for row in execute(select)]


def _token(name: str, known_by: str, scope: str, created: int) -> Token:
    digest, _, expires = known_by.partition(_UNTIL)
    return Token(name, digest, scope, created, int(expires or 0))


def remove_token(execute: Execute, table: str, name: str) -> bool:
    """Remove a token; return False if there is none of this name."""
    delete = f"DELETE FROM {table} WHERE name = $1 RETURNING name"  # noqa: S608  # our own names
    return bool(execute(delete, name))


T = TypeVar("T")


class SqlHandle:
    """A database whose failures are raised as StorageError; all parts of a store share one."""

    __slots__ = ("database",)

    def __init__(self, database: Database) -> None:
        """Take a database that has the newest tables (`databases.open_newest`)."""
        self.database = database

    def write(self, work: Callable[[Execute], T]) -> T:
        """Run `work` in one transaction; durable when this returns, rolled back if it raises."""
        try:
            return self.database.transaction(work)
        except LedgerUnavailableError as failure:
            raise storage_error(failure) from failure

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that is quick."""
        try:
            return self.database.read(sql, *values)
        except LedgerUnavailableError as failure:
            raise storage_error(failure) from failure

    def survey(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that may take long."""
        try:
            return self.database.survey(sql, *values)
        except LedgerUnavailableError as failure:
            raise storage_error(failure) from failure

    def read_within(self, seconds: float, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that may take so many seconds; raise TimeoutError after these."""
        try:
            return self.database.read_within(seconds, sql, *values)
        except LedgerUnavailableError as failure:
            raise storage_error(failure) from failure

    def close(self) -> None:
        """Disconnect from the database."""
        self.database.close()


class SqlTokens:
    """Bearer tokens in a table."""

    def __init__(self, handle: SqlHandle, table: str) -> None:
        self._handle = handle
        self._table = table

    def add_token(self, token: Token) -> bool:
        """Store a token; return False if the name is taken."""
        return self._handle.write(lambda execute: add_token(execute, self._table, token))

    def tokens(self) -> list[Token]:
        """Return all tokens, by name."""
        # Sorted here, because databases differ in how they sort texts.
        found = all_tokens(self._handle.read, self._table)
        return sorted(found, key=lambda token: token.name)

    def remove_token(self, name: str) -> bool:
        """Remove a token; return False if there is none of this name."""
        return is_storable(name) and self._handle.write(
            lambda execute: remove_token(execute, self._table, name)
        )


def storage_error(failure: LedgerUnavailableError) -> StorageError:
    """Return the storage error for a failure of the database."""
    kind = StorageFullError if failure.is_full else StorageError
    return kind(failure.ledger, failure.reason)
