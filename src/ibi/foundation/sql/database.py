"""What ledger and catalogue need of a database; SQLite and PostgreSQL give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs one statement with its parameters, and returns the rows.

They are written $1, $2 ..., each first in this order: SQLite takes them as names, and numbers them
as they come.
"""

T = TypeVar("T")


class Database(Protocol):
    """A database that does transactions, and makes them durable before it says so."""

    name: str
    history: str
    """A SELECT of what changes when the storage goes on from an earlier state of itself."""
    for_update: str
    """What ends a SELECT that must keep others from the rows, where that needs saying."""
    before_tables: str
    """A statement that keeps others from making the tables at the same time."""
    numbering: str
    """A statement by which numbers go on after the greatest in `{table}` and `{column}`."""
    emptying: str
    """What empties a table, however long it is, before its name."""
    json_field: str
    """An expression for what the JSON in a column has under a name: `{column}` and `{name}`."""

    def transaction(self, work: Callable[[Execute], T]) -> T:
        """Do the work, alone; durable when this returns, undone if it raises."""
        ...

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT beside whatever is being written, and return what is committed."""
        ...

    def survey(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one SELECT that may take long: nobody who reads or writes waits for it."""
        ...

    def pause(self) -> None:
        """Let go of it and let nobody in until `resume`: the process is about to fork."""
        ...

    def resume(self) -> None:
        """Go on, in the parent and in the child."""
        ...

    def close(self) -> None:
        """Let go."""
        ...
