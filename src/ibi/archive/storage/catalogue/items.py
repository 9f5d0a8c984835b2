"""Items, their names, files and history, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from ibi.archive.ports.catalogue import FileTotal, ManifestItem, StoredChange, StoredItem
from ibi.archive.rules.manifest import document, read_document
from ibi.archive.storage.catalogue.day_counts import counting, forget_reads
from ibi.archive.storage.catalogue.digest_log import names_of, note_names
from ibi.archive.storage.catalogue.drafts import retitle
from ibi.archive.storage.catalogue.harvest import log_items
from ibi.archive.storage.catalogue.history import write_entry
from ibi.archive.storage.catalogue.search import index_items, remove_from_search
from ibi.errors import Sentence, StateError
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable, marks, place_in_order
from ibi.foundation.sql.store import SqlHandle
from ibi.model.change import Change, ItemChange
from ibi.model.item import File, Item

_HELD = "SELECT i.id, i.version, i.document FROM archive_item i"
_LAST = 2**63 - 1
_FILE = "SELECT path, size, sha256, sha512, modified, media_type FROM archive_file"

_MOST_COUNTED: Final = 1000
"""Files of one item that are counted for a page or for a list of items."""


class SqlItems:
    """Items and their files, by any of their names."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._write = handle.write
        self._read = handle.read

    def find(self, name: str) -> StoredItem | None:
        """Return the item that has this name, in its canonical spelling."""
        rows = self._read(f"{_HELD} JOIN archive_name n ON n.item = i.id WHERE n.name = $1", name)
        return _held(rows[0]) if rows else None

    def find_all(self, names: Sequence[str]) -> dict[str, StoredItem]:
        """Return the items that have these names, by name."""
        if not names:
            return {}
        places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
        select = (
            "SELECT n.name, i.id, i.version, i.document FROM archive_item i "  # noqa: S608  # numbers
            f"JOIN archive_name n ON n.item = i.id WHERE n.name IN ({places})"
        )
        return {str(row[0]): _held(row[1:]) for row in self._read(select, *names)}

    def page(
        self, after: int, limit: int, kind: str = "", *, newest_first: bool = False
    ) -> list[StoredItem]:
        """Return items numbered greater than `after`, in the order of their numbers.

        With `newest_first`, return items numbered less than `after`; from the end if it is 0.
        """
        side, order = ("<", "DESC") if newest_first else (">", "ASC")
        first = after or _LAST if newest_first else after
        # Two statements, because a database plans a statement without looking at its values.
        if kind:
            only = f"{_HELD} WHERE i.id {side} $1 AND i.kind = $2 ORDER BY i.id {order} LIMIT $3"
            rows = self._read(only, first, kind, limit)
        else:
            every = f"{_HELD} WHERE i.id {side} $1 ORDER BY i.id {order} LIMIT $2"
            rows = self._read(every, first, limit)
        return [_held(row) for row in rows]

    def numbered(self, numbers: Sequence[int]) -> list[StoredItem]:
        """Return the items that have these numbers, in this order."""
        if not numbers:
            return []
        rows = self._read(f"{_HELD} WHERE i.id IN {marks(1, len(numbers))}", *numbers)
        found = {row[0]: _held(row) for row in rows}
        return [found[number] for number in numbers if number in found]

    def count(self) -> int:
        """Return the number of items of data that are not deleted."""
        [(count,)] = self._read(
            "SELECT count(*) FROM archive_item WHERE kind = 'data' AND state <> 'Deleted'"
        )
        return int(count)

    def count_files(self) -> tuple[int, int]:
        """Return the number of all files, and the sum of their sizes in bytes."""
        [(count, size)] = self._read(
            "SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT) FROM archive_file"
        )
        return int(count), int(size)

    def file(self, item: int, path: str) -> File | None:
        """Return one file."""
        if not is_storable(path):
            return None
        rows = self._read(f"{_FILE} WHERE item = $1 AND path = $2", item, path)
        return File(*rows[0]) if rows else None

    def files(self, item: int, after: str = "", limit: int = 0) -> list[File]:
        """Return files with paths after `after`, in order; all of them if `limit` is 0."""
        rows = self._read(
            f"{_FILE} WHERE item = $1 AND path > $2 ORDER BY path LIMIT $3",
            item,
            place_in_order(after),
            limit or 2**31,
        )
        return [File(*row) for row in rows]

    def with_content(
        self, sha256: str, after: tuple[int, str], limit: int
    ) -> list[tuple[StoredItem, str]]:
        """Return the items and paths of files with these bytes, in the order of both."""
        rows = self._read(
            "SELECT f.path, i.id, i.version, i.document FROM archive_file f "
            "JOIN archive_item i ON i.id = f.item "
            "WHERE f.sha256 = $1 AND (f.item, f.path) > ($2, $3) "
            "ORDER BY f.item, f.path LIMIT $4",
            sha256,
            after[0],
            after[1],
            limit,
        )
        return [(_held(row[1:]), str(row[0])) for row in rows]

    def file_totals(self, items: Sequence[int], most: int = _MOST_COUNTED) -> dict[int, FileTotal]:
        """Return number and size of the files of items that have any."""
        if not items:
            return {}
        counts = " UNION ALL ".join(
            f"SELECT CAST(${place} AS BIGINT), count(*), sum(size) FROM "  # noqa: S608  # numbers
            f"(SELECT size FROM archive_file WHERE item = ${place} ORDER BY path "
            f"LIMIT {most + 1:d}) AS t{place}"
            for place in range(1, len(items) + 1)
        )
        rows = self._read(counts, *items)
        return {
            int(item): FileTotal(min(count, most), int(size), count > most)
            for item, count, size in rows
            if count
        }

    def apply(self, change: Change, decide: Callable[[Change], None]) -> None:
        """Write a change in one transaction, whose last step is `decide`."""

        def work(execute: Execute) -> None:
            if not write_entry(execute, change):
                return
            noted: list[tuple[list[str], bool]] = []
            labels = [each.item.forms.label.canonical for each in change.items]
            with counting(execute, self._database, labels):
                numbered = tuple(
                    replace(each, number=self._apply(execute, each, noted)) for each in change.items
                )
                note_names(execute, noted)
            written = [each.item for each in change.items]
            index_items(execute, self._database, written)
            log_items(execute, self._database, written, (), change.at)
            if change.deposit and not _complete(execute, change.deposit, change.label):
                raise StateError(Sentence("This deposit was completed or given up meanwhile."))
            retitle(execute, written, change.at)
            decide(replace(change, items=numbered))

        self._write(work)

    def restore(
        self, stored: StoredChange, items: Sequence[ManifestItem], dropped: Sequence[str] = ()
    ) -> None:
        """Overwrite items with the state after a change; the history has the change once."""

        def work(execute: Execute) -> None:
            write_entry(execute, stored)
            noted: list[tuple[list[str], bool]] = []
            labels = [*dropped, *(kept.item.forms.label.canonical for kept in items)]
            with counting(execute, self._database, labels):
                for label in dropped:
                    rows = execute(f"{_HELD} WHERE i.label = $1", label)
                    noted += [(self._drop(execute, _held(row).item), False) for row in rows]
                for kept in items:
                    self._restore(execute, kept)
                    noted.append((names_of(kept.item), True))
                note_names(execute, noted)
            written = [kept.item for kept in items]
            index_items(execute, self._database, written)
            log_items(execute, self._database, written, dropped, stored.at)
            _complete(execute, stored.deposit, stored.label)

        self._write(work)

    def _apply(
        self, execute: Execute, change: ItemChange, noted: list[tuple[list[str], bool]]
    ) -> int:
        """Write the change of one item and return its number; append the change of its names."""
        item = change.item
        if change.version == 0:
            _insert(execute, item)
        number = _update(execute, item, change.version, change.version + 1)
        if number is None:
            msg = Sentence(
                "%(label)s was changed meanwhile: read it again, and try again.",
                label=item.forms.label,
            )
            raise StateError(msg)
        if change.dropped:
            noted.append((self._drop(execute, item), False))
            return number
        noted.append((names_of(item), True))
        _name(execute, number, item)
        changed = {*change.put, *change.removed}
        if change.cleared:
            execute("DELETE FROM archive_file WHERE item = $1", number)
        for path in changed:
            execute("DELETE FROM archive_file WHERE item = $1 AND path = $2", number, path)
        new = change.files if change.adopted else [f for f in change.files if f.path in changed]
        _put(execute, number, new)
        return number

    def _drop(self, execute: Execute, item: Item) -> list[str]:
        """Remove an item with its names and files; return its names."""
        label = item.forms.label.canonical
        names = names_of(item)
        for (number,) in execute("SELECT id FROM archive_item WHERE label = $1", label):
            # All names, also those of earlier versions: another item may get this number.
            gone = execute("DELETE FROM archive_name WHERE item = $1 RETURNING name", number)
            names += [str(name) for (name,) in gone]
            execute("DELETE FROM archive_file WHERE item = $1", number)
            execute("DELETE FROM archive_damage WHERE label = $1", label)
            execute("DELETE FROM archive_copy WHERE label = $1", label)
            execute("DELETE FROM archive_holder WHERE label = $1", label)
            forget_reads(execute, self._database, number)
            remove_from_search(execute, self._database, number)
            execute("DELETE FROM archive_item WHERE id = $1", number)
        return names

    def _restore(self, execute: Execute, kept: ManifestItem) -> None:
        item = kept.item
        label = item.forms.label.canonical
        rows = execute("SELECT id, version FROM archive_item WHERE label = $1", label)
        number, version = rows[0] if rows else (self._insert(execute, kept), 0)
        _update(execute, item, version, kept.version or version + 1)
        _name(execute, number, item)
        execute("DELETE FROM archive_file WHERE item = $1", number)
        _put(execute, number, kept.files)

    def _insert(self, execute: Execute, kept: ManifestItem) -> int:
        """Insert a row with the former number of the item, unless another item has it."""
        taken = execute("SELECT 1 FROM archive_item WHERE id = $1", kept.number)
        if not kept.number or taken:
            return _insert(execute, kept.item)
        execute(
            "INSERT INTO archive_item (id, label, kind, state, version, document) "
            "VALUES ($1, $2, $3, '', 0, '')",
            kept.number,
            kept.item.forms.label.canonical,
            kept.item.kind,
        )
        execute(self._database.numbering.format(table="archive_item", column="id"))
        return kept.number


def _held(row: tuple[Any, ...]) -> StoredItem:
    number, version, text = row
    return StoredItem(number, version, read_document(text))


def _insert(execute: Execute, item: Item) -> int:
    rows = execute(
        "INSERT INTO archive_item (label, kind, state, version, document) "
        "VALUES ($1, $2, '', 0, '') ON CONFLICT DO NOTHING RETURNING id",
        item.forms.label.canonical,
        item.kind,
    )
    if not rows:
        raise _taken(item.forms.label.spelling)
    return int(rows[0][0])


def _update(execute: Execute, item: Item, version: int, next_: int) -> int | None:
    """Write the next version; return None if the item has another version than `version`."""
    rows = execute(
        "UPDATE archive_item SET state = $1, version = $2, document = $3 "
        "WHERE label = $4 AND version = $5 RETURNING id",
        str(item.state),
        next_,
        document(item),
        item.forms.label.canonical,
        version,
    )
    return int(rows[0][0]) if rows else None


def _name(execute: Execute, number: int, item: Item) -> None:
    """Insert the names of an item. Those of its forms may have been reserved for it."""
    execute(
        "DELETE FROM archive_reservation WHERE label = $1 AND forms = $2",
        item.forms.label.canonical,
        str(item.forms),
    )
    for label in item.forms:
        execute(
            "UPDATE archive_name SET item = $1 WHERE name = $2 AND item IS NULL",
            number,
            label.canonical,
        )
    for label in item.names:
        execute(
            "INSERT INTO archive_name (name, item) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            label.canonical,
            number,
        )
        [(owner,)] = execute("SELECT item FROM archive_name WHERE name = $1", label.canonical)
        if owner is None:
            msg = Sentence(
                "%(spelling)s is reserved for another item: no label is given twice.",
                spelling=label.spelling,
            )
            raise StateError(msg)
        if owner != number:
            raise _taken(label.spelling)


def _taken(label: str) -> StateError:
    return StateError(
        Sentence("%(label)s names another item already: no label is given twice.", label=label)
    )


def _put(execute: Execute, number: int, files: Sequence[File]) -> None:
    for file in files:
        execute(
            "INSERT INTO archive_file (item, path, size, sha256, sha512, modified, media_type) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7)",
            number,
            file.path,
            file.size,
            file.sha256,
            file.sha512,
            file.modified,
            file.media_type,
        )


def _complete(execute: Execute, deposit: str, label: str) -> bool:
    """Complete a deposit; return False if it is not open."""
    update = (
        "UPDATE archive_deposit SET completed = $1 WHERE id = $2 AND completed = '' RETURNING id"
    )
    return bool(execute(update, label, deposit))
