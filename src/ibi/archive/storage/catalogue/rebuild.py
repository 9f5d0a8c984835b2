"""A rebuild of the catalogue, in SQL: gathered in tables of its own, then moved.

Ten million items are too many for one transaction. So they are gathered in parts, while the
catalogue stays as it is. Then a setting records that everything is gathered, and the tables of the
catalogue are emptied and filled, again in parts. A process that is killed before that setting is
written has changed nothing. One that is killed later leaves the setting, which tells the next
process that the catalogue is incomplete and that the rest is in the tables of the rebuild.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ibi.archive.ports.catalogue import ManifestItem, Reservation
from ibi.archive.rules.manifest import document
from ibi.archive.storage.catalogue.day_counts import empty_day_counts
from ibi.archive.storage.catalogue.digest_log import begin_epoch
from ibi.archive.storage.catalogue.full_text import empty_full_text
from ibi.archive.storage.catalogue.harvest import refill_harvest
from ibi.archive.storage.catalogue.search import empty_search
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import insert_rows, is_storable
from ibi.foundation.sql.store import SqlHandle

REBUILDING: Final = "rebuilding"
"""The name of the setting that exists while the catalogue is incomplete."""

_PART: Final = 1000
"""Items of one transaction."""
_GREATEST: Final = 2**62
"""The limit of numbers and versions that a manifest may give."""
_TAKEN: Final = "names another item already: no label is given twice"

_TABLES: Final = ("item", "name", "file", "reservation", "access")
_MAKING: Final = """
CREATE TABLE archive_new_item (
    label TEXT PRIMARY KEY, number BIGINT UNIQUE, created BIGINT NOT NULL, kind TEXT NOT NULL,
    state TEXT NOT NULL, version BIGINT NOT NULL, document TEXT NOT NULL);
CREATE INDEX archive_new_unnumbered ON archive_new_item (created, label) WHERE number IS NULL;
CREATE TABLE archive_new_name (name TEXT PRIMARY KEY, label TEXT NOT NULL);
CREATE INDEX archive_new_name_of ON archive_new_name (label);
CREATE TABLE archive_new_file (
    label TEXT NOT NULL, path TEXT NOT NULL, size BIGINT NOT NULL, sha256 TEXT NOT NULL,
    sha512 TEXT NOT NULL, modified BIGINT NOT NULL, media_type TEXT NOT NULL,
    PRIMARY KEY (label, path));
CREATE TABLE archive_new_reservation (
    label TEXT PRIMARY KEY, short TEXT NOT NULL, forms TEXT NOT NULL, reserved BIGINT NOT NULL,
    who TEXT NOT NULL, note TEXT NOT NULL);
CREATE TABLE archive_new_access (
    label TEXT NOT NULL, day TEXT NOT NULL, count BIGINT NOT NULL, views BIGINT NOT NULL,
    downloads BIGINT NOT NULL, PRIMARY KEY (label, day))
"""

# Statistics are stored by number, and are carried over by label, as an item may get a new number.
_ACCESSES: Final = """
INSERT INTO archive_new_access (label, day, count, views, downloads)
SELECT i.label, a.day, a.count, a.views, a.downloads
FROM archive_access a JOIN archive_item i ON i.id = a.item
WHERE a.item > $1 AND a.item <= $2 AND i.label IN (SELECT label FROM archive_new_item)
"""
_MOVES: Final = """
INSERT INTO archive_item (id, label, kind, state, version, document)
SELECT i.number, i.label, i.kind, i.state, i.version, i.document FROM archive_new_item i;
INSERT INTO archive_name (name, item) SELECT n.name, i.number
FROM archive_new_item i JOIN archive_new_name n ON n.label = i.label;
INSERT INTO archive_file (item, path, size, sha256, sha512, modified, media_type)
SELECT i.number, f.path, f.size, f.sha256, f.sha512, f.modified, f.media_type
FROM archive_new_item i JOIN archive_new_file f ON f.label = i.label;
INSERT INTO archive_access (item, day, count, views, downloads)
SELECT i.number, a.day, a.count, a.views, a.downloads
FROM archive_new_item i JOIN archive_new_access a ON a.label = i.label
"""
_RESERVED_MOVES: Final = """
INSERT INTO archive_name (name, item) SELECT name, NULL FROM archive_new_name WHERE label = '';
INSERT INTO archive_reservation (label, short, forms, reserved, who, note)
SELECT label, short, forms, reserved, who, note FROM archive_new_reservation
"""


class SqlRebuild:
    """Gathers the items of a new catalogue, and replaces those of the old one."""

    def __init__(self, handle: SqlHandle) -> None:
        """Begin a rebuild, or continue one that was interrupted in `finish`."""
        self._write = handle.write
        self._read = handle.read
        self._database = handle.database
        self.is_whole = bool(
            self._read("SELECT 1 FROM archive_setting WHERE name = $1", REBUILDING)
        )
        if not self.is_whole:
            self._write(_make)

    def put(self, items: Sequence[ManifestItem]) -> list[str]:
        """Add items; return for each why it cannot be added, or an empty string."""
        return self._write(lambda execute: _put(execute, items))

    def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Add reserved labels, without those that an item has."""
        self._write(lambda execute: _reserve(execute, reservations))

    def finish(self) -> None:
        """Replace the items and reservations of the catalogue."""
        if not self.is_whole:
            self._number()
            self._each_part("archive_item", "id", (_ACCESSES,))
            mark = "INSERT INTO archive_setting (name, value) VALUES ($1, 'whole')"
            self._write(lambda execute: execute(mark, REBUILDING))
            self.is_whole = True
        self._move()

    def _number(self) -> None:
        """Number the items that have no number, in the order of their creation."""
        select = (
            "SELECT label FROM archive_new_item WHERE number IS NULL "
            "ORDER BY created, label LIMIT $1"
        )
        [(last,)] = self._read("SELECT coalesce(max(number), 0) FROM archive_new_item")
        while rows := self._read(select, _PART):
            numbered = [(last + 1 + place, label) for place, (label,) in enumerate(rows)]
            self._write(lambda execute: _number(execute, numbered))  # noqa: B023  # run at once
            last += len(rows)

    def _move(self) -> None:
        self._write(self._empty)
        between = " WHERE i.number > $1 AND i.number <= $2"
        self._each_part(
            "archive_new_item", "number", [move + between for move in _MOVES.split(";")]
        )
        numbering = self._database.numbering.format(table="archive_item", column="id")
        unmark = f"DELETE FROM archive_setting WHERE name = '{REBUILDING}'"  # noqa: S608  # ours
        self._run(*_RESERVED_MOVES.split(";"), numbering, unmark, *_UNMAKING)
        self.is_whole = False

    def _empty(self, execute: Execute) -> None:
        for table in _TABLES:
            execute(f"{self._database.emptying} archive_{table}")
        begin_epoch(execute, self._database)
        empty_search(execute, self._database)
        empty_day_counts(execute, self._database)
        empty_full_text(execute, self._database)
        refill_harvest(execute)

    def _run(self, *statements: str, values: tuple[int, ...] = ()) -> None:
        self._write(lambda execute: [execute(each, *values) for each in statements])

    def _each_part(self, table: str, column: str, statements: Sequence[str]) -> None:
        """Run statements for one range of numbers after the other: after $1, up to $2."""
        for part in self._parts(table, column):
            self._run(*statements, values=part)

    def _parts(self, table: str, column: str) -> Iterator[tuple[int, int]]:
        far = (
            f"SELECT {column} FROM {table} WHERE {column} > $1 ORDER BY {column} LIMIT 1 OFFSET $2"  # noqa: S608  # our own names
        )
        last = -1
        while rows := self._read(far, last, _PART):
            yield last, rows[0][0]
            [(last,)] = rows
        yield last, _GREATEST


_UNMAKING: Final = tuple(f"DROP TABLE IF EXISTS archive_new_{table}" for table in _TABLES)


def _make(execute: Execute) -> None:
    for statement in (*_UNMAKING, *_MAKING.split(";")):
        execute(statement)


def _number(execute: Execute, numbered: Sequence[tuple[int, str]]) -> None:
    for number, label in numbered:
        execute("UPDATE archive_new_item SET number = $1 WHERE label = $2", number, label)


def _put(execute: Execute, items: Sequence[ManifestItem]) -> list[str]:
    known = _known(execute, [kept for kept in items if not (kept.number and kept.version)])
    faults = [_fault(kept) for kept in items]
    labels: dict[str, int] = {}
    """Insert items; return for each its fault, or an empty string."""
    for place, kept in enumerate(items):
        label = _label(kept)
        if not faults[place] and labels.setdefault(label, place) != place:
            faults[place] = f"{label} {_TAKEN}"
    rows = [_row(items[place], known) for place in labels.values()]
    for label in _insert(execute, rows):
        faults[labels.pop(label)] = f"{label} {_TAKEN}"
    for name, label in _name(execute, [items[place] for place in labels.values()]):
        if label in labels:
            faults[labels.pop(label)] = f"{name} {_TAKEN}"
            execute("DELETE FROM archive_new_item WHERE label = $1", label)
            execute("DELETE FROM archive_new_name WHERE label = $1", label)
    files = [
        (label, file.path, file.size, file.sha256, file.sha512, file.modified, file.media_type)
        for label, place in labels.items()
        for file in items[place].files
    ]
    columns = "label, path, size, sha256, sha512, modified, media_type"
    insert_rows(execute, f"archive_new_file ({columns})", files, "")
    return faults


def _label(kept: ManifestItem) -> str:
    return kept.item.forms.label.canonical


def _fault(kept: ManifestItem) -> str:
    """Return why a database cannot store an item; empty if it can."""
    if not all(is_storable(f"{file.path}{file.media_type}") for file in kept.files):
        return "it has a file whose name no database can have"
    if len({file.path for file in kept.files}) != len(kept.files):
        return "it has two files of one name"
    return ""


def _known(execute: Execute, items: Sequence[ManifestItem]) -> dict[str, tuple[int, int]]:
    """Return the numbers and versions that the old catalogue has of items, by label."""
    select = "SELECT id, version FROM archive_item WHERE label = $1"
    found = {_label(kept): execute(select, _label(kept)) for kept in items}
    return {label: rows[0] for label, rows in found.items() if rows}


def _row(kept: ManifestItem, known: dict[str, tuple[int, int]]) -> tuple[Any, ...]:
    number, version = known.get(_label(kept), (0, 1))
    number = kept.number or number
    return (
        _label(kept),
        number if 0 < number < _GREATEST else None,
        kept.item.created,
        kept.item.kind,
        str(kept.item.state),
        max(1, min(kept.version or version, _GREATEST)),
        document(kept.item),
    )


def _insert(execute: Execute, rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """Insert items, without a number if it is taken; return the labels that are taken."""
    columns = "label, number, created, kind, state, version, document"
    into, then = f"archive_new_item ({columns})", "ON CONFLICT DO NOTHING RETURNING label"
    written = {label for (label,) in insert_rows(execute, into, rows, then)}
    again = [(label, None, *rest) for label, _, *rest in rows if label not in written]
    written |= {label for (label,) in insert_rows(execute, into, again, then)}
    return [label for label, *_ in rows if label not in written]


def _name(execute: Execute, items: Sequence[ManifestItem]) -> list[tuple[str, str]]:
    """Insert the names of items; return those that other items have, with the label."""
    wanted = [
        (name, _label(kept))
        for kept in items
        for name in dict.fromkeys(each.canonical for each in kept.item.names)
    ]
    into, then = "archive_new_name (name, label)", "ON CONFLICT DO NOTHING RETURNING name, label"
    given = {tuple(row) for row in insert_rows(execute, into, wanted, then)}
    return [pair for pair in wanted if pair not in given]


def _reserve(execute: Execute, reservations: Sequence[Reservation]) -> None:
    for each in reservations:
        names = [label.canonical for label in each.forms]
        select = "SELECT 1 FROM archive_new_name WHERE name = $1"
        if any(execute(select, name) for name in names):
            continue
        for name in names:
            execute("INSERT INTO archive_new_name (name, label) VALUES ($1, '')", name)
        execute(
            "INSERT INTO archive_new_reservation (label, short, forms, reserved, who, note) "
            "VALUES ($1, $2, $3, $4, $5, $6)",
            each.forms.label.canonical,
            each.forms.short.canonical,
            str(each.forms),
            each.reserved,
            each.who,
            each.note,
        )
