"""Items, their names, files and history, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ibi.adapters.database import Execute
from ibi.archive.manifest import document, read_document
from ibi.errors import StateError
from ibi.model.change import Change, ItemChange
from ibi.model.item import File, Item
from ibi.ports import Held, HistoryEntry, StoredChange

T = TypeVar("T")

_HELD = "SELECT i.id, i.version, i.document FROM archive_item i"
_FILE = "SELECT path, size, sha256, sha512, modified, media_type FROM archive_file"


class SqlItems:
    """What a catalogue knows of items."""

    _write: Callable[[Callable[[Execute], Any]], Any]
    _read: Callable[..., list[tuple[Any, ...]]]

    def find(self, name: str) -> Held | None:
        """Return the item that has this name, in its canonical spelling."""
        rows = self._read(f"{_HELD} JOIN archive_name n ON n.item = i.id WHERE n.name = $1", name)
        return _held(rows[0]) if rows else None

    def items(self, after: int, limit: int, kind: str = "") -> list[Held]:
        """Return items in the order in which they came, those numbered later than `after`."""
        rows = self._read(
            f"{_HELD} WHERE i.id > $1 AND ($2 = '' OR i.kind = $2) ORDER BY i.id LIMIT $3",
            after,
            kind,
            limit,
        )
        return [_held(row) for row in rows]

    def count(self) -> int:
        """Return how many items of data there are, deleted ones included."""
        [(count,)] = self._read("SELECT count(*) FROM archive_item WHERE kind = 'data'")
        return int(count)

    def file(self, item: int, path: str) -> File | None:
        """Return one file."""
        rows = self._read(f"{_FILE} WHERE item = $1 AND path = $2", item, path)
        return File(*rows[0]) if rows else None

    def files(self, item: int, after: str = "", limit: int = 0) -> list[File]:
        """Return files in the order of their paths, later than `after`; all if no limit."""
        rows = self._read(
            f"{_FILE} WHERE item = $1 AND path > $2 ORDER BY path LIMIT $3",
            item,
            after,
            limit or 2**31,
        )
        return [File(*row) for row in rows]

    def apply(self, change: Change, decide: Callable[[], None]) -> None:
        """Write a change, in one transaction that `decide` is the last step of."""

        def work(execute: Execute) -> None:
            if not _note(execute, change):
                return
            for each in change.items:
                _apply(execute, each)
            _complete(execute, change.deposit, change.label)
            decide()

        self._write(work)

    def restore(self, stored: StoredChange, items: Sequence[tuple[Item, Sequence[File]]]) -> None:
        """Write items as a change left them, whatever stands there; history gets it once."""

        def work(execute: Execute) -> None:
            _note(execute, stored)
            for item, files in items:
                rows = execute(
                    "SELECT id, version FROM archive_item WHERE label = $1",
                    item.forms.label.canonical,
                )
                number, version = rows[0] if rows else (_insert(execute, item), 0)
                _update(execute, number, version, item)
                execute("DELETE FROM archive_file WHERE item = $1", number)
                _put(execute, number, files)
            _complete(execute, stored.deposit, stored.label)

        self._write(work)

    def history(self, after: int, limit: int, label: str = "") -> list[HistoryEntry]:
        """Return what was done, the oldest first, numbered later than `after`."""
        rows = self._read(
            "SELECT number, change, at, who, act, label, detail FROM archive_history "
            "WHERE number > $1 AND ($2 = '' OR label = $2) ORDER BY number LIMIT $3",
            after,
            label,
            limit,
        )
        return [HistoryEntry(*row) for row in rows]


def _held(row: tuple[Any, ...]) -> Held:
    number, version, text = row
    return Held(number, version, read_document(text))


def _note(execute: Execute, change: Change | StoredChange) -> bool:
    """Write the line of history; False if it is there: the change was made before."""
    rows = execute(
        "INSERT INTO archive_history (change, at, who, act, label, detail) "
        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING number",
        change.id,
        change.at,
        change.who,
        change.act,
        change.label,
        change.detail,
    )
    return bool(rows)


def _apply(execute: Execute, change: ItemChange) -> None:
    item = change.item
    if change.version == 0:
        number = _insert(execute, item)
    else:
        rows = execute(
            "SELECT id FROM archive_item WHERE label = $1 AND version = $2",
            item.forms.label.canonical,
            change.version,
        )
        if not rows:
            msg = f"{item.forms.label} was changed by somebody else meanwhile: look, and try again."
            raise StateError(msg)
        [(number,)] = rows
    _update(execute, number, change.version, item)
    changed = {*change.put, *change.removed}
    if change.cleared:
        execute("DELETE FROM archive_file WHERE item = $1", number)
    for path in changed:
        execute("DELETE FROM archive_file WHERE item = $1 AND path = $2", number, path)
    new = change.files if change.adopted else [f for f in change.files if f.path in changed]
    _put(execute, number, new)


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


def _update(execute: Execute, number: int, version: int, item: Item) -> None:
    execute(
        "UPDATE archive_item SET state = $1, version = $2, document = $3 WHERE id = $4",
        str(item.state),
        version + 1,
        document(item),
        number,
    )
    for label in item.names:
        name = label.canonical
        execute(
            "INSERT INTO archive_name (name, item) VALUES ($1, $2) "
            "ON CONFLICT (name) DO UPDATE SET item = $2 WHERE archive_name.item IS NULL",
            name,
            number,
        )
        [(owner,)] = execute("SELECT item FROM archive_name WHERE name = $1", name)
        if owner != number:
            raise _taken(label.spelling)
        execute("DELETE FROM archive_reservation WHERE label = $1", name)


def _taken(label: str) -> StateError:
    return StateError(f"{label} names another item already: no label is given twice.")


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


def _complete(execute: Execute, deposit: str, label: str) -> None:
    if deposit:
        execute("UPDATE archive_deposit SET completed = $1 WHERE id = $2", label, deposit)
