"""Many rows by one statement: to a server each statement is a journey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeVar

from ibi.foundation.sql.database import Execute


def is_storable(text: str) -> bool:
    """Tell whether a database can have a text: PostgreSQL has no NUL, none has half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def place_in_order(text: str) -> str:
    """Return a text with the same place in the order of those that a database can have."""
    end = next((i for i, each in enumerate(text) if not is_storable(each)), len(text))
    return text[:end]


def storable(text: str) -> str:
    """Return a text, with a mark in the place of each character that no database can have."""
    if is_storable(text):
        return text
    return "".join(each if is_storable(each) else "\N{REPLACEMENT CHARACTER}" for each in text)


T = TypeVar("T")

GROUP: Final = 100
"""Rows to a statement: more gain nothing on a server, and SQLite looks for each parameter among
all of them (1,000 rows took 54 ms at once, and 3 ms so)."""


def insert_rows(
    execute: Execute, into: str, rows: Sequence[tuple[object, ...]], then: str
) -> list[tuple[Any, ...]]:
    """Insert rows into `table (columns)`; `then` says what of conflicts and what to return."""
    returned: list[tuple[Any, ...]] = []
    for group in groups(rows):
        values = marks(len(group), len(group[0]))
        statement = f"INSERT INTO {into} VALUES {values} {then}"  # noqa: S608  # our own names
        returned += execute(statement, *chain.from_iterable(group))
    return returned


def delete_rows(execute: Execute, table: str, column: str, values: Sequence[object]) -> None:
    """Delete the rows that have one of these values in a column."""
    for group in groups(values):
        execute(f"DELETE FROM {table} WHERE {column} IN {marks(1, len(group))}", *group)  # noqa: S608  # our own names


def groups(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Return rows by as many as go into a statement."""
    return (rows[start : start + GROUP] for start in range(0, len(rows), GROUP))


@lru_cache(maxsize=32)
def marks(rows: int, columns: int) -> str:
    """Write ($1, $2), ($3, $4) and so on."""
    firsts = range(1, rows * columns + 1, columns)
    return ", ".join(
        f"({', '.join(f'${number}' for number in range(first, first + columns))})"
        for first in firsts
    )
