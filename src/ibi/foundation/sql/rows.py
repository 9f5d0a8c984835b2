"""Statements for many rows at once: each statement to a server costs a round trip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeVar

from ibi.foundation.sql.database import Execute


def is_storable(text: str) -> bool:
    """Return whether databases can store a text: PostgreSQL has no NUL, none has surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def place_in_order(text: str) -> str:
    """Return a storable text that sorts in the same place among storable texts."""
    end = next((i for i, each in enumerate(text) if not is_storable(each)), len(text))
    return text[:end]


def storable(text: str) -> str:
    """Return a text with U+FFFD in the place of each character that databases cannot store."""
    if is_storable(text):
        return text
    return "".join(each if is_storable(each) else "\N{REPLACEMENT CHARACTER}" for each in text)


T = TypeVar("T")

GROUP: Final = 100
"""Rows per statement: more gain nothing on a server, and SQLite searches all parameters for each
one (1,000 rows took 54 ms at once, and 3 ms in groups)."""


def insert_rows(
    execute: Execute, into: str, rows: Sequence[tuple[object, ...]], then: str
) -> list[tuple[Any, ...]]:
    """Insert rows into `table (columns)`; `then` handles conflicts and returns columns."""
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
    """Return the rows in groups of as many as one statement takes."""
    return (rows[start : start + GROUP] for start in range(0, len(rows), GROUP))


@lru_cache(maxsize=32)
def marks(rows: int, columns: int) -> str:
    """Return placeholders: ($1, $2), ($3, $4) and so on."""
    firsts = range(1, rows * columns + 1, columns)
    return ", ".join(
        f"({', '.join(f'${number}' for number in range(first, first + columns))})"
        for first in firsts
    )
