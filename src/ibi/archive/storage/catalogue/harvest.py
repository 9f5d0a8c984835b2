"""The log of published items in SQL: what harvesters read, in the order of its changes.

Each row is written in the transaction of the change that it records. All of these transactions lock
the one row of `archive_harvest_state` until they end. So numbers become visible in their order, on
PostgreSQL too: no row is inserted before one that was read. A row is found by its place in an
index, so a page at the end of a million rows is read as quickly as the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ibi.archive.ports.harvest import HarvestPlace, HarvestRow, HarvestState
from ibi.archive.rules.harvest.publication import fingerprint, is_published, sets_of, subjects
from ibi.archive.rules.manifest import read_document
from ibi.archive.storage.catalogue.search_rows import find_item, find_record
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import delete_rows, groups, insert_rows, marks
from ibi.foundation.sql.store import SqlHandle
from ibi.identifier.label import parse
from ibi.model.clock import SECOND
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms

_PART: Final = 100
"""Items that are logged in one transaction, which blocks all other writers."""
_WHOLE: Final = 2**62
"""The value of `filled` when all items that are older than the log have been logged."""
_ROW: Final = "SELECT label, number, stamp, name, deleted, sets FROM archive_harvest"
_QUICK_ROWS: Final = 1001
"""Rows that are read in the common connection, within some milliseconds."""
_GONE: Final = b"-"
"""The digest of an item that is not published any more."""


class _News(NamedTuple):
    """What a row is to say of an item."""

    label: str
    name: str
    deleted: bool
    sets: str
    digest: bytes


class SqlHarvestLog:
    """The log of published items."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._write = handle.write
        self._read = handle.read
        self._survey = handle.survey

    def state(self) -> HarvestState:
        """Return the state of the log."""
        rows = self._read("SELECT epoch, last, filled FROM archive_harvest_state")
        [(epoch, last, filled)] = rows
        return HarvestState(epoch, last, filled == _WHOLE)

    def earliest(self) -> int:
        """Return the earliest datestamp; 0 if there is none."""
        rows = self._read("SELECT stamp FROM archive_harvest ORDER BY stamp, number LIMIT 1")
        return int(rows[0][0]) if rows else 0

    def find(self, label: str) -> HarvestRow | None:
        """Return the row of an item by its canonical label; None if it was never published."""
        rows = self._read(f"{_ROW} WHERE label = $1", label)
        return _row(rows[0]) if rows else None

    def page(
        self, after: HarvestPlace, until: int, limit: int, set_spec: str = ""
    ) -> list[HarvestRow]:
        """Return rows after a place, up to a datestamp, in the order of places."""
        # The limit is part of the text: a database that plans without looking at values would
        # take it for a tenth of all rows, and sort these.
        order = f"AND stamp <= $3 ORDER BY stamp, number LIMIT {limit:d}"
        if not set_spec:
            where = f"WHERE (stamp, number) > ($1, $2) {order}"
            return [_row(row) for row in self._rows(limit, f"{_ROW} {where}", *after, until)]
        order = order.replace("$3", "$4")
        numbers = self._rows(
            limit,
            "SELECT number FROM archive_harvest_set "  # noqa: S608  # a number
            f"WHERE spec = $1 AND (stamp, number) > ($2, $3) {order}",
            set_spec,
            *after,
            until,
        )
        return self._numbered([number for (number,) in numbers])

    def _rows(self, limit: int, select: str, *values: object) -> list[tuple[Any, ...]]:
        # To open a connection takes longer than to read few rows; for many, other reads would wait.
        read = self._read if limit <= _QUICK_ROWS else self._survey
        return read(select, *values)

    def _numbered(self, numbers: Sequence[int]) -> list[HarvestRow]:
        rows: list[HarvestRow] = []
        for group in groups(numbers):
            select = f"{_ROW} WHERE number IN {marks(1, len(group))}"
            rows += [_row(row) for row in self._read(select, *group)]
        return sorted(rows, key=lambda row: row.place)

    def changes(self, after: int, limit: int) -> list[HarvestRow]:
        """Return rows numbered greater than `after`, in the order of numbers."""
        select = f"{_ROW} WHERE number > $1 ORDER BY number LIMIT {limit:d}"
        return [_row(row) for row in self._rows(limit, select, after)]

    def sets(self, after: str, limit: int) -> list[str]:
        """Return sets after one, in order; at most 1000 are asked for."""
        # One row of the index a set, however many items the set has.
        select = "SELECT spec FROM archive_harvest_set WHERE spec > $1 ORDER BY spec LIMIT 1"
        found: list[str] = []
        while len(found) < limit and (rows := self._read(select, found[-1] if found else after)):
            found.append(rows[0][0])
        return found

    def renew(self, labels: Sequence[str], since: int, now: int) -> bool:
        """Give rows that were written since a time the present one, if a second has begun since."""
        first, second = since // SECOND, now // SECOND
        if second <= first or not labels:
            return False

        def work(execute: Execute) -> bool:
            _lock(execute, self._database)
            found = _found(execute, labels)
            stale = [row for row in found.values() if first <= row[2] < second]
            _remove(execute, [_row(row[:6]) for row in stale])
            numbers = _numbers(execute, len(stale), second)
            for row, number in zip(stale, numbers, strict=True):
                _write(execute, _News(row[0], *row[3:]), *number)
            return bool(stale)

        return self._write(work)

    def fill(self, now: int) -> bool:
        """Log some items that are older than the log; return False if none is left."""
        if self.state().whole:
            return False
        [(filled,)] = self._read("SELECT filled FROM archive_harvest_state")
        select = (
            "SELECT id, document FROM archive_item WHERE kind = 'data' AND id > $1 "
            "ORDER BY id LIMIT $2"
        )
        if rows := self._read(select, filled, _PART):
            items = [read_document(text) for _, text in rows]
            place, labels = rows[-1][0], _labels(items)
        else:
            # After a rebuild: items that the catalogue has no longer.
            lost = self._survey(
                "SELECT h.label FROM archive_harvest h WHERE NOT h.deleted AND NOT EXISTS "  # noqa: S608  # a number
                f"(SELECT 1 FROM archive_item i WHERE i.label = h.label) LIMIT {_PART:d}"
            )
            place, labels = filled if lost else _WHOLE, [label for (label,) in lost]

        def work(execute: Execute) -> None:
            _log(execute, self._database, labels, now)
            execute("UPDATE archive_harvest_state SET filled = $1", place)

        self._write(work)
        return bool(place != _WHOLE)


def log_items(
    execute: Execute, database: Database, items: Iterable[Item], dropped: Iterable[str], at: int
) -> None:
    """Log items that were written, or that these describe, and items that were dropped."""
    _log(execute, database, [*_labels(items), *dropped], at)


def refill_harvest(execute: Execute) -> None:
    """Compare the log with all items again: rows of items that did not change stay as they are."""
    execute("UPDATE archive_harvest_state SET filled = 0")


def _labels(items: Iterable[Item]) -> list[str]:
    return [*subjects(items)]


def _log(execute: Execute, database: Database, labels: Sequence[str], at: int) -> None:
    if not labels:
        return
    _lock(execute, database)
    items: dict[str, Item | None] = {}
    for label in labels:
        found = find_item(execute, Forms.of(parse(label)))
        item = found[1] if found else None
        # A reference may use any label of an item.
        items[item.forms.label.canonical if item else label] = item
    known = _found(execute, [*items])
    changed = [
        news
        for label, item in items.items()
        if (news := _news(execute, label, item, known.get(label))) is not None
    ]
    _remove(execute, [_row(known[news.label][:6]) for news in changed if news.label in known])
    numbers = _numbers(execute, len(changed), at // SECOND)
    for news, number in zip(changed, numbers, strict=True):
        _write(execute, news, *number)


def _news(
    execute: Execute, label: str, item: Item | None, known: tuple[Any, ...] | None
) -> _News | None:
    """Return what is new of an item; None if its row says it already, or it needs none."""
    if item is not None and is_published(item):
        name = item.forms.short.spelling
        if item.state is State.DELETED:
            # What is left of it has no types any more.
            sets = known[5] if known else " ".join(sets_of(item, None))
            news = _News(label, name, True, sets, _GONE)  # noqa: FBT003  # a column
        else:
            record = find_record(execute, item)
            sets = " ".join(sets_of(item, record))
            news = _News(label, name, False, sets, fingerprint(item, record))  # noqa: FBT003  # a column
    elif known is not None:
        news = _News(label, known[3], True, known[5], _GONE)  # noqa: FBT003  # a column
    else:
        return None
    return None if known is not None and bytes(known[6]) == news.digest else news


def _lock(execute: Execute, database: Database) -> None:
    execute(f"SELECT last FROM archive_harvest_state{database.for_update}")  # noqa: S608  # ours


def _found(execute: Execute, labels: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return the rows of items with their digests, by label."""
    found: dict[str, tuple[Any, ...]] = {}
    for group in groups([*dict.fromkeys(labels)]):
        select = (
            "SELECT label, number, stamp, name, deleted, sets, digest FROM archive_harvest "  # noqa: S608  # numbers
            f"WHERE label IN {marks(1, len(group))}"
        )
        found |= {row[0]: row for row in execute(select, *group)}
    return found


def _numbers(execute: Execute, count: int, second: int) -> list[tuple[int, int]]:
    """Return new numbers, with their second: no earlier one than any row has."""
    if not count:
        return []
    update = (
        "UPDATE archive_harvest_state SET last = last + $1, "
        "stamp = CASE WHEN stamp < $2 THEN $2 ELSE stamp END RETURNING last, stamp"
    )
    [(last, stamp)] = execute(update, count, second)
    return [(number, stamp) for number in range(last - count + 1, last + 1)]


def _remove(execute: Execute, rows: Sequence[HarvestRow]) -> None:
    for row in rows:
        for spec in row.sets:
            execute(
                "DELETE FROM archive_harvest_set WHERE spec = $1 AND stamp = $2 AND number = $3",
                spec,
                row.stamp,
                row.number,
            )
    delete_rows(execute, "archive_harvest", "label", [row.label for row in rows])


def _write(execute: Execute, news: _News, number: int, stamp: int) -> None:
    execute(
        "INSERT INTO archive_harvest (label, number, stamp, name, deleted, sets, digest) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7)",
        news.label,
        number,
        stamp,
        news.name,
        news.deleted,
        news.sets,
        news.digest,
    )
    rows = [(spec, stamp, number) for spec in news.sets.split()]
    insert_rows(execute, "archive_harvest_set (spec, stamp, number)", rows, "")


def _row(row: tuple[Any, ...]) -> HarvestRow:
    label, number, stamp, name, deleted, sets = row
    return HarvestRow(label, number, stamp, name, bool(deleted), tuple(sets.split()))
