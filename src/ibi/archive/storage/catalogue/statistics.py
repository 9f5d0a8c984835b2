"""Counts of accesses and of holdings, in SQL. No address of a client is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from ibi.archive.ports.statistics import (
    Access,
    DayAccesses,
    DayUsage,
    HoldingCount,
    ItemAccesses,
    MaintenanceCounts,
    MonthCounts,
    TaskCount,
    Totals,
    TransferCount,
)
from ibi.archive.storage.catalogue.day_counts import WHOLE, count_reads, fill_part
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.store import SqlHandle
from ibi.model.clock import SECOND

T = TypeVar("T")

_SUM: Final = "CAST(sum({}) AS BIGINT)"  # PostgreSQL would return a decimal number
_DAY: Final = 86_400 * SECOND
_COLUMNS: Final = ("items", "files", "bytes", "accesses", "views", "downloads")
"""The counts of a day."""
_AT_ONCE: Final = 250
"""Rows of one statement."""
_ALL: Final = 2**62
"""A number greater than any count of accesses."""


class SqlStatistics:
    """Counts of accesses and of holdings."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._write = handle.write
        self._read = handle.read
        self._survey = handle.survey

    def count_accesses(self, accesses: Sequence[Access]) -> list[bool]:
        """Count each access whose key is unused, in one transaction; return which were counted."""
        return self._write(lambda execute: _count(execute, self._database, accesses))

    def count_usage(self, uses: Mapping[tuple[int, str], tuple[int, int]]) -> None:
        """Add views and downloads by item and day, in one transaction; not of unknown items."""
        self._write(lambda execute: _add_usage(execute, self._database, uses))

    def usage(self, first: str, last: str, item: int = 0) -> list[DayUsage]:
        """Return views and downloads by day, of one item or of all."""
        sums = f"{_SUM.format('views')}, {_SUM.format('downloads')}"
        where = "day >= $1 AND day <= $2 AND (views > 0 OR downloads > 0)"
        if item:  # the days of one item are few
            rows = self._read(
                "SELECT day, views, downloads FROM archive_access "  # noqa: S608  # no values
                f"WHERE {where} AND item = $3 ORDER BY day",
                first,
                last,
                item,
            )
        else:
            rows = self._survey(
                f"SELECT day, {sums} FROM archive_access "  # noqa: S608  # no values
                f"WHERE {where} GROUP BY day ORDER BY day",
                first,
                last,
            )
        return [DayUsage(*row) for row in rows]

    def forget_keys(self, before: int) -> None:
        """Remove used keys that expired before a time."""
        self._write(
            lambda execute: execute("DELETE FROM archive_used_key WHERE until < $1", before)
        )

    def accesses(self, first: str, last: str, item: int = 0) -> list[DayAccesses]:
        """Return accesses by day, of one item or of all."""
        of_item, values = (" AND item = $3", (item,)) if item else ("", ())
        rows = self._survey(
            f"SELECT day, {_SUM.format('count')} FROM archive_access "  # noqa: S608  # no values
            f"WHERE day >= $1 AND day <= $2 AND count > 0{of_item} GROUP BY day ORDER BY day",
            first,
            last,
            *values,
        )
        return [DayAccesses(*row) for row in rows]

    def most_read(
        self, first: str, last: str, limit: int, after: tuple[int, int] | None = None
    ) -> list[ItemAccesses]:
        """Return the items that were read most; among equals, the older first."""
        count, item = after or (_ALL, 0)
        rows = self._survey(
            "SELECT r.item, i.label, r.total "  # noqa: S608  # no values
            f"FROM (SELECT item, {_SUM.format('count')} AS total FROM archive_access "
            "WHERE day >= $1 AND day <= $2 AND count > 0 GROUP BY item) r "
            "JOIN archive_item i ON i.id = r.item "
            "WHERE r.total < $3 OR (r.total = $3 AND r.item > $4) "
            "ORDER BY r.total DESC, r.item LIMIT $5",
            first,
            last,
            count,
            item,
            limit,
        )
        return [ItemAccesses(*row) for row in rows]

    def holdings(self) -> list[HoldingCount]:
        """Return the holdings by kind, state and day of creation."""
        created = self._database.json_field.format(column="i.document", name="created")
        rows = self._survey(
            f"SELECT i.kind, i.state, "  # noqa: S608  # no values
            f"COALESCE(CAST({created} AS BIGINT), 0) / {_DAY} AS day, count(*), "
            "CAST(COALESCE(sum(f.files), 0) AS BIGINT), "
            "CAST(COALESCE(sum(f.bytes), 0) AS BIGINT) "
            "FROM archive_item i LEFT JOIN (SELECT item, count(*) AS files, sum(size) AS bytes "
            "FROM archive_file GROUP BY item) f ON f.item = i.id GROUP BY i.kind, i.state, day"
        )
        # Sorted here, because the order of texts differs between databases.
        return [HoldingCount(*row) for row in sorted(rows)]

    def months(self) -> list[MonthCounts]:
        """Return what came in each month and exists, and its reads, from the first month on."""
        sums = ", ".join(map(_SUM.format, _COLUMNS))
        rows = self._read(
            f"SELECT substr(day, 1, 7) AS month, {sums} FROM archive_day "  # noqa: S608  # our own names
            "GROUP BY month ORDER BY month"
        )
        return [MonthCounts(*row) for row in rows]

    def totals(self) -> Totals:
        """Return how much the archive keeps."""
        [row] = self._read(
            "SELECT CAST(COALESCE(sum(items), 0) AS BIGINT), "
            "CAST(COALESCE(sum(files), 0) AS BIGINT), CAST(COALESCE(sum(bytes), 0) AS BIGINT) "
            "FROM archive_day"
        )
        return Totals(*row)

    def is_whole(self) -> bool:
        """Return whether the counts of months have all items."""
        return self._read("SELECT filled FROM archive_day_state") == [(WHOLE,)]

    def fill(self) -> bool:
        """Count some items that are not in the months yet; return False if none is left."""
        return not self.is_whole() and self._write(
            lambda execute: fill_part(execute, self._database)
        )

    def maintenance_counts(self) -> MaintenanceCounts:
        """Return the numbers of copies, transfers, tasks and damaged files."""
        [(copies, missing, faulty)] = self._survey(
            "SELECT count(*), count(CASE WHEN missing > 0 THEN 1 END), "
            "count(CASE WHEN fault <> '' THEN 1 END) FROM archive_copy"
        )
        [(damaged,)] = self._survey("SELECT count(*) FROM archive_damage")
        exchanges = self._survey(
            "SELECT role, state, count(*) FROM archive_exchange GROUP BY role, state"
        )
        tasks = self._survey(
            "SELECT kind, state, count(*), max(begun) FROM archive_task GROUP BY kind, state"
        )
        return MaintenanceCounts(
            copies=copies,
            missing=missing,
            faulty=faulty,
            damaged=damaged,
            exchanges=tuple(TransferCount(*row) for row in sorted(exchanges)),
            tasks=tuple(TaskCount(*row) for row in sorted(tasks)),
        )


def _count(execute: Execute, database: Database, accesses: Sequence[Access]) -> list[bool]:
    counted = [False] * len(accesses)
    counts: Counter[tuple[int, str]] = Counter()
    # All transactions lock rows in the same order: otherwise two could deadlock.
    for number in sorted(range(len(accesses)), key=lambda each: _key(accesses[each])):
        access = accesses[number]
        counted[number] = _use(execute, access)
        if counted[number]:
            counts[access.item, access.day] += access.count
            for item, count in _others(execute, access):
                counts[item, access.day] += count
    _add(execute, counts)
    count_reads(execute, database, {place: (count, 0, 0) for place, count in counts.items()})
    return counted


def _others(execute: Execute, access: Access) -> Iterator[tuple[int, int]]:
    """Yield the numbers and counts of the other items that were read and are known."""
    for some in _slices(access.others):
        places = ", ".join(f"${place}" for place in range(1, len(some) + 1))
        found = execute(
            f"SELECT name, item FROM archive_name WHERE name IN ({places})",  # noqa: S608  # no values
            *(label for label, _ in some),
        )
        items: dict[str, int] = dict(found)
        yield from ((items[label], count) for label, count in some if label in items)


def _add(execute: Execute, counts: Mapping[tuple[int, str], int]) -> None:
    for some in _slices(sorted(counts.items())):
        rows = ", ".join(
            f"(${place}, ${place + 1}, ${place + 2})" for place in range(1, 3 * len(some), 3)
        )
        execute(
            f"INSERT INTO archive_access (item, day, count) VALUES {rows} ON CONFLICT "  # noqa: S608  # no values
            "(item, day) DO UPDATE SET count = archive_access.count + excluded.count",
            *(value for (item, day), count in some for value in (item, day, count)),
        )


def _add_usage(
    execute: Execute, database: Database, uses: Mapping[tuple[int, str], tuple[int, int]]
) -> None:
    counted = {}
    for (item, day), (views, downloads) in sorted(uses.items()):
        # The item may have been dropped since.
        rows = execute(
            "INSERT INTO archive_access (item, day, count, views, downloads) "
            "SELECT id, CAST($1 AS TEXT), 0, CAST($2 AS BIGINT), CAST($3 AS BIGINT) "
            "FROM archive_item WHERE id = $4 ON CONFLICT (item, day) DO UPDATE SET "
            "views = archive_access.views + excluded.views, "
            "downloads = archive_access.downloads + excluded.downloads RETURNING item",
            day,
            views,
            downloads,
            item,
        )
        if rows:
            counted[item, day] = (0, views, downloads)
    count_reads(execute, database, counted)


def _slices(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    return (rows[first : first + _AT_ONCE] for first in range(0, len(rows), _AT_ONCE))


def _key(access: Access) -> tuple[int, int]:
    return access.issued, access.nonce


def _use(execute: Execute, access: Access) -> bool:
    """Mark a key as used; return False if it was used before."""
    insert = (
        "INSERT INTO archive_used_key (issued, nonce, until) VALUES ($1, $2, $3) "
        "ON CONFLICT DO NOTHING RETURNING issued"
    )
    return bool(execute(insert, *_key(access), access.until))
