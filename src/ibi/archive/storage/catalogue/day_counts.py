"""Counts by day in SQL: items, files and bytes that came on it, accesses, views and downloads.

They are written in the transaction of each change, so that a page with statistics reads a few rows
and not all items. They count what exists: a deleted item is not counted on the day it came. Items
are counted up to the number `filled`; later ones are added in parts while the archive serves, or
when it was upgraded or rebuilt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from ibi.archive.rules.calendar import day_of
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import marks
from ibi.model.clock import SECOND

WHOLE: Final = 2**62
"""The value of `filled` when all items are counted."""
_PART: Final = 200
"""Items that are counted in one transaction, which blocks all other writers."""
_LABELS: Final = 250
"""Labels of one statement."""
_DAY: Final = 86_400 * SECOND
_LOCKED: Final = "SELECT filled FROM archive_day_state{lock}"

_Counts: TypeAlias = dict[str, list[int]]
"""Items, files, bytes, accesses, views and downloads by day."""
Reads: TypeAlias = Mapping[tuple[int, str], tuple[int, int, int]]
"""Accesses, views and downloads by item and day."""


@contextmanager
def counting(execute: Execute, database: Database, labels: Sequence[str]) -> Iterator[None]:
    """Count what the block changes of the items with these canonical labels."""
    before = _items(execute, database, labels)
    yield
    after = _items(execute, database, labels)
    if before == after:
        return
    is_counted = _counted(execute, database)
    counts = _none()
    for items, sign in ((before, -1), (after, 1)):
        for number, (day, files, size) in items.items():
            if is_counted(number):
                _add(counts[day], (sign, sign * files, sign * size))
    _write(execute, counts)


def count_reads(execute: Execute, database: Database, reads: Reads) -> None:
    """Count accesses, views and downloads."""
    is_counted = _counted(execute, database)
    counts = _none()
    for (item, day), numbers in reads.items():
        if is_counted(item):
            _add(counts[day], (0, 0, 0, *numbers))
    _write(execute, counts)


def forget_reads(execute: Execute, database: Database, item: int) -> None:
    """Remove the accesses, views and downloads of an item that is dropped."""
    rows = execute(
        "DELETE FROM archive_access WHERE item = $1 RETURNING day, -count, -views, -downloads", item
    )
    if rows:
        count_reads(execute, database, {(item, day): tuple(lost) for day, *lost in rows})


def fill_part(execute: Execute, database: Database) -> bool:
    """Count some items that are not counted yet; return False if none is left."""
    [(filled,)] = execute(_LOCKED.format(lock=database.for_update))
    rows = execute("SELECT id FROM archive_item WHERE id > $1 ORDER BY id LIMIT $2", filled, _PART)
    if not rows:
        execute("UPDATE archive_day_state SET filled = $1", WHOLE)
        return False
    place = rows[-1][0]
    counts = _none()
    found = _found(execute, database, "i.id > $1 AND i.id <= $2", (filled, place))
    for day, files, size in found.values():
        _add(counts[day], (1, files, size))
    reads = execute(
        "SELECT day, CAST(sum(count) AS BIGINT), CAST(sum(views) AS BIGINT), "
        "CAST(sum(downloads) AS BIGINT) FROM archive_access "
        "WHERE item > $1 AND item <= $2 GROUP BY day",
        filled,
        place,
    )
    for day, *numbers in reads:
        _add(counts[day], (0, 0, 0, *numbers))
    _write(execute, counts)
    execute("UPDATE archive_day_state SET filled = $1", place)
    return True


def empty_day_counts(execute: Execute, database: Database) -> None:
    """Empty the counts, to be filled anew."""
    execute(f"{database.emptying} archive_day")
    execute("UPDATE archive_day_state SET filled = 0")


def _counted(execute: Execute, database: Database) -> Callable[[int], bool]:
    """Return which items are counted; until all are, no other transaction changes that."""
    [(filled,)] = execute("SELECT filled FROM archive_day_state")
    if filled != WHOLE:
        [(filled,)] = execute(_LOCKED.format(lock=database.for_update))
    last: int = filled
    return lambda item: item <= last


def _items(
    execute: Execute, database: Database, labels: Sequence[str]
) -> dict[int, tuple[str, int, int]]:
    items: dict[int, tuple[str, int, int]] = {}
    for first in range(0, len(labels), _LABELS):
        some = labels[first : first + _LABELS]
        items |= _found(execute, database, f"i.label IN {marks(1, len(some))}", some)
    return items


def _found(
    execute: Execute, database: Database, where: str, values: Iterable[Any]
) -> dict[int, tuple[str, int, int]]:
    """Return day, files and bytes of each item of data that exists, by its number.

    `where` alone finds the items. With a condition on their kind, or if the join with their files
    is grouped, SQLite reads all items of data instead.
    """
    created = database.json_field.format(column="i.document", name="created")
    rows = execute(
        f"SELECT i.kind, i.id, COALESCE(CAST({created} AS BIGINT), 0) / {_DAY}, "  # noqa: S608  # no values
        "(SELECT count(*) FROM archive_file f WHERE f.item = i.id), "
        "(SELECT CAST(COALESCE(sum(f.size), 0) AS BIGINT) FROM archive_file f WHERE f.item = i.id) "
        f"FROM archive_item i WHERE {where} AND i.state NOT IN ('', 'Deleted')",
        *values,
    )
    return {
        number: (day_of(day).isoformat(), files, size)
        for kind, number, day, files, size in rows
        if kind == "data"
    }


def _none() -> _Counts:
    return defaultdict(lambda: [0, 0, 0, 0, 0, 0])


def _add(sums: list[int], numbers: Sequence[int]) -> None:
    for place, number in enumerate(numbers):
        sums[place] += number


def _write(execute: Execute, counts: _Counts) -> None:
    # In one order: two transactions that lock the same rows would wait for each other.
    for day, numbers in sorted(counts.items()):
        if any(numbers):
            execute(
                "INSERT INTO archive_day (day, items, files, bytes, accesses, views, downloads) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (day) DO UPDATE SET "
                "items = archive_day.items + excluded.items, "
                "files = archive_day.files + excluded.files, "
                "bytes = archive_day.bytes + excluded.bytes, "
                "accesses = archive_day.accesses + excluded.accesses, "
                "views = archive_day.views + excluded.views, "
                "downloads = archive_day.downloads + excluded.downloads",
                day,
                *numbers,
            )
