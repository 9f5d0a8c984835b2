"""The interface of a database, which SQLite and PostgreSQL implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Executes one statement with its parameters, and returns the rows.

Parameters are written $1, $2 ..., their first occurrences in this order: SQLite treats them as
names, and numbers them as they occur.
"""

T = TypeVar("T")


class Database(Protocol):
    """A database with transactions that are durable once they are committed."""

    name: str
    history: str
    """A SELECT of a value that changes when the storage continues from an earlier state."""
    for_update: str
    """The suffix of a SELECT that locks its rows, where that needs one."""
    before_tables: str
    """A statement that keeps other processes from creating the tables at the same time."""
    numbering: str
    """A statement after which numbers are generated from the greatest in `{table}.{column}` on."""
    emptying: str
    """The beginning of a statement that empties a table of any size, to precede its name."""
    text_index: Literal["fts5", "tsvector"]
    """The kind of index for full text."""
    json_field: str
    """An expression for a field of the JSON in a column: `{column}` and `{name}`."""

    def transaction(self, work: Callable[[Execute], T]) -> T:
        """Run `work` in one transaction; durable when this returns, rolled back if it raises."""
        ...

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT concurrently with writers, and return committed rows."""
        ...

    def survey(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that may take long, without delaying readers and writers."""
        ...

    def read_within(self, seconds: float, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT like `survey`, and raise TimeoutError if it takes longer than that."""
        ...

    def pause(self) -> None:
        """Disconnect and block callers until `resume`: the process is about to fork."""
        ...

    def resume(self) -> None:
        """Reconnect when needed, in the parent and in the child."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...
