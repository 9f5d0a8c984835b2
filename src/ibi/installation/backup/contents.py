"""The contents of the backup of a catalogue: its items, and whether its tables are consistent.

The tables are read in parallel, each in the order of the items, so that only one item at a time is
in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from ibi.archive.ports.catalogue import ManifestItem
from ibi.archive.rules.manifest import read_document
from ibi.errors import StorageError
from ibi.model.item import File, Item

Row: TypeAlias = Mapping[str, Any]
Table: TypeAlias = Callable[[str], Iterable[Row]]
"""Reads the rows of a table by its name."""

_FILE: Final = ("path", "size", "sha256", "sha512", "modified", "media_type")


def items_of(table: Table) -> Iterator[ManifestItem]:
    """Yield all items with their files; StorageError if one cannot be read."""
    with _row_errors():
        files = _Side(table("archive_file"), "item")
        for row in table("archive_item"):
            yield _kept(row, files.take(row["id"]))


@contextmanager
def _row_errors() -> Iterator[None]:
    """Convert errors of rows that `dump` did not write into StorageError."""
    try:
        yield
    except (KeyError, TypeError) as fault:
        raise StorageError("of the backup", "it has rows that no catalogue of ours has") from fault


def _kept(row: Row, files: Iterable[Row]) -> ManifestItem:
    item = read_document(row["document"])
    return ManifestItem(item, tuple(map(_file, files)), row["id"], row["version"])


def _file(row: Row) -> File:
    return File(*(row[name] for name in _FILE))


def differences(
    before: Iterable[ManifestItem], after: Iterable[ManifestItem], also: Container[int] = ()
) -> Iterator[tuple[ManifestItem | None, ManifestItem | None]]:
    """Yield the items that differ between two snapshots, as they were and as they are.

    Items with a number in `also` are included even if they are the same.
    """
    left, right = iter(before), iter(after)
    one, other = next(left, None), next(right, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one.number < other.number):
            yield one, None
            one = next(left, None)
        elif one is None or other.number < one.number:
            yield None, other
            other = next(right, None)
        else:
            if one.number in also or not is_same(one, other):
                yield one, other
            one, other = next(left, None), next(right, None)


def is_same(one: ManifestItem, other: ManifestItem) -> bool:
    """Return whether an item is the same in two snapshots."""
    return (one.item.forms.label.spelling, one.version) == (
        other.item.forms.label.spelling,
        other.version,
    )


def disagreements(table: Table) -> Iterator[str]:
    """Yield the inconsistencies between the tables of a catalogue."""
    with _row_errors():
        yield from _disagreements(table)


def _disagreements(table: Table) -> Iterator[str]:
    sides = {name: _Side(table(f"archive_{name}"), "item") for name in ("name", "file", "access")}
    reserved = {row["name"] for row in sides["name"].take(0)}
    for row in table("archive_item"):
        label, number = row["label"], row["id"]
        names, files, _ = (side.take(number) for side in sides.values())
        try:
            kept = _kept(row, files)
        except StorageError as unread:
            yield f"{label}: {unread.reason}"
            continue
        for fault in _faults(row, kept, {name["name"] for name in names}):
            yield f"{label}: {fault}"
    for name, side in sides.items():
        yield from (
            f"archive_{name}: it has a row of the item {number}, which does not exist"
            for number in side.strays()
        )
    for row in table("archive_reservation"):
        if not {row["label"], row["short"]} <= reserved:
            yield f"{row['label']}: it is reserved, and not among the names"


def _faults(row: Row, kept: ManifestItem, names: set[str]) -> Iterator[str]:
    item: Item = kept.item
    if (item.forms.label.canonical, item.kind, str(item.state)) != (
        row["label"],
        row["kind"],
        row["state"],
    ):
        yield "its columns and its document differ"
    if names != {name.canonical for name in item.names}:
        yield "its names differ from those in its document"
    paths = {file.path for file in kept.files}
    if item.kind == "data" and item.target and item.target not in paths:
        yield "its target file is not among its files"


class _Side:
    """Rows that belong to items, in the order of the items."""

    def __init__(self, rows: Iterable[Row], key: str) -> None:
        self._rows = iter(rows)
        self._key = key
        self._next = next(self._rows, None)
        self._strays: list[int] = []

    def take(self, number: int) -> list[Row]:
        """Return the rows of an item; rows before it that belong to no item are strays."""
        taken: list[Row] = []
        while self._next is not None and self._number(self._next) <= number:
            if self._number(self._next) == number:
                taken.append(self._next)
            else:
                self._strays.append(self._number(self._next))
            self._next = next(self._rows, None)
        return taken

    def strays(self) -> list[int]:
        """Return the numbers of absent items to which rows belong, each once."""
        while self._next is not None:
            self._strays.append(self._number(self._next))
            self._next = next(self._rows, None)
        return sorted(set(self._strays))

    def _number(self, row: Row) -> int:
        return row[self._key] or 0
