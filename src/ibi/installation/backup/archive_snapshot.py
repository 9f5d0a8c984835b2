"""A consistent backup of an archive that may be in use.

The catalogue is read at one moment, and then the files that it names, one after the other. A
later snapshot of the catalogue tells what became of a file that changed in between: then that
snapshot is backed up instead, and only the differences are read again. Each round takes less time,
so that less changes meanwhile.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from ibi.archive.ports.catalogue import ManifestItem, Reservation
from ibi.archive.ports.file_store import BulkFiles, OpenFile, pieces_of
from ibi.archive.rules.fixity import owners
from ibi.archive.rules.manifest import manifest
from ibi.archive.rules.reserved_labels import reserved_text
from ibi.archive.storage.catalogue.rebuild import REBUILDING
from ibi.errors import StorageError, UnknownError
from ibi.foundation.system.disk import disk_errors
from ibi.installation.backup.contents import Table, differences, is_same, items_of
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.record import PartRecord, digest_of
from ibi.installation.backup.tables import StoreFiles, dump, read_rows
from ibi.model.item import File
from ibi.model.label_pair import Forms

CATALOGUE: Final = "catalogue"
RESERVED: Final = "reserved/reserved.json"
ROUNDS: Final = 20
"""How often the catalogue is read again before the backup fails."""
_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

Progress = Callable[[str, int, int], None]
"""Is called with a phase, the bytes done in it, and all of its bytes; 0 if they are not known."""


class _UnreadableError(Exception):
    """The archive's own disk cannot read a file."""


class ArchiveBackup:
    """Backs up the items of a catalogue; `place` is the path or URL of the catalogue."""

    def __init__(
        self, place: str, bulk_files: BulkFiles, tree: BackupTree, progress: Progress
    ) -> None:
        self._place = place
        self._bulk_files = bulk_files
        self._tree = tree
        self._progress = progress
        self._tables = tree.root / CATALOGUE
        self._lacking: list[str] = []
        self._done = self._total = 0
        tree.report = self._report
        self.copied = 0
        """How many files no earlier backup had."""

    def make(self) -> PartRecord:
        """Make the backup, and return its record."""
        stored = self._dump()
        self._total = sum(row["size"] for row in read_rows(self._tables, "archive_file"))
        missing: set[int] = set()
        for kept in self._items():
            if self._put(kept):
                missing.add(kept.number)
        for turn in range(ROUNDS):
            if not missing:
                return self._finish(stored)
            time.sleep(min(_PAUSE * 2**turn, _LONGEST_PAUSE))
            stored, missing = self._go_on(missing)
        reason = "more changes than can be followed, or an act was interrupted: start it once"
        raise StorageError(self._bulk_files.name, reason)

    def _report(self, count: int) -> None:
        """Show that so many bytes were read more."""
        self._done += count
        self._progress("Copying files", self._done, self._total)

    def _dump(self) -> StoreFiles:
        self._progress("Reading tables", 0, 0)
        stored = dump(self._place, "catalogue", self._tables)
        if any(row["name"] == REBUILDING for row in read_rows(self._tables, "archive_setting")):
            raise StorageError(
                self._place, "it is half rebuilt: 'ibi archive rebuild' completes it"
            )
        return stored

    def _items(self) -> Iterator[ManifestItem]:
        return items_of(table_in(self._tables))

    def _go_on(self, missing: set[int]) -> tuple[StoreFiles, set[int]]:
        """Compare with a later snapshot; return the items of which files are still missing."""
        before = self._tables.with_name("before")
        with disk_errors(str(before)):
            shutil.rmtree(before, ignore_errors=True)
            self._tables.rename(before)
        # Between its decision and its commit, a change is in the journal but not in the catalogue.
        is_quiet = next(iter(self._bulk_files.keys("journal")), None) is None
        stored = self._dump()
        left = set()
        for old, new in differences(items_of(table_in(before)), self._items(), missing):
            # Removals first: a file may come where a folder was.
            if old is not None and (new is None or _place(new) != _place(old)):
                self._tree.keep_only(_key(_place(old), "doc"), ())
                self._tree.path(_key(_place(old), "ibi.json")).unlink(missing_ok=True)
            if new is None:
                continue
            keys = [_key(_place(new), f"doc/{file.path}") for file in new.files]
            self._tree.keep_only(_key(_place(new), "doc"), keys)
            gone = self._put(new)
            if gone and is_quiet and old is not None and is_same(old, new):
                self._lacking += gone  # the item did not change: the files are damaged
            elif gone:
                left.add(new.number)
        shutil.rmtree(before, ignore_errors=True)
        return stored, left

    def _put(self, kept: ManifestItem) -> list[str]:
        """Put an item into the backup, and return the keys of its files that are missing."""
        place = _place(kept)
        text = manifest(kept.item, kept.files, kept.number, kept.version)
        self._tree.write_text(_key(place, "ibi.json"), text)
        files = ((f"doc/{file.path}", file) for file in kept.files)
        return [_key(place, path) for path, file in files if not self._take(place, path, file)]

    def _take(self, place: str, path: str, file: File) -> bool:
        key, before = _key(place, path), self._done
        is_taken = (
            self._tree.has(key, file)
            or self._tree.find(key, file)
            or self._copy(key, key, file)
            or any(self._copy(old, key, file) for old in self._replaced(place, file))
        )
        # Once, however often its bytes were read.
        self._done = before
        self._report(file.size)
        return is_taken

    def _replaced(self, place: str, file: File) -> Iterator[str]:
        """Yield where the bytes of a file may be that was replaced meanwhile."""
        for key, size in self._bulk_files.keys(_key(place, "old")):
            if size == file.size and key.endswith(f"/{file.path}"):
                yield key

    def _copy(self, source: str, key: str, file: File) -> bool:
        try:
            with closing(self._bulk_files.open(source)) as opened:
                is_whole = self._tree.write(key, self._read(opened), file)
        except (UnknownError, _UnreadableError):
            return False
        self.copied += is_whole
        return is_whole

    def _read(self, opened: OpenFile) -> Iterator[bytes]:
        for piece in _read(pieces_of(opened)):
            yield piece
            self._report(len(piece))

    def _finish(self, stored: StoreFiles) -> PartRecord:
        self._keep_old()
        reserved = [_reservation(row) for row in read_rows(self._tables, "archive_reservation")]
        if reserved:
            self._tree.write_text(RESERVED, reserved_text(reserved))
        return PartRecord(
            {CATALOGUE: stored},
            items=stored.tables["archive_item"].rows,
            files=stored.tables["archive_file"].rows,
            size=sum(row["size"] for row in read_rows(self._tables, "archive_file")),
            lacking=tuple(sorted(self._lacking)),
        )

    def _keep_old(self) -> None:
        """Back up replaced files that the archive kept, of items in the backup."""
        for key, size in self._bulk_files.keys("col"):
            for place, name in owners(key.removeprefix("col/")):
                if self._tree.path(_key(place, "ibi.json")).exists():
                    if name.startswith("old/") and not self._tree.find_unchanging(key, size):
                        self._copy_old(key)
                    break

    def _copy_old(self, key: str) -> None:
        try:
            with closing(self._bulk_files.open(key)) as opened:
                file = File(key, opened.size, "", "", opened.modified)
                self._tree.write(key, _read(pieces_of(opened)), file)
        except UnknownError:
            return  # its item was just deleted


def table_in(folder: Path) -> Table:
    """Return a function that reads the tables in a folder."""
    return partial(_rows, folder)


def _rows(folder: Path, table: str) -> Iterable[dict[str, Any]]:
    return read_rows(folder, table)


def catalogued(folder: Path) -> Iterator[tuple[str, str, File | None]]:
    """Yield the key and checksum of everything that the catalogue of a backup names, in order.

    A file of an item comes with its full record, a manifest with None.
    """
    for kept in items_of(table_in(folder / CATALOGUE)):
        place = _place(kept)
        text = manifest(kept.item, kept.files, kept.number, kept.version)
        yield _key(place, "ibi.json"), hashlib.sha256(text).hexdigest(), None
        for file in kept.files:
            yield _key(place, f"doc/{file.path}"), file.sha256, file


def replaced_in(tree: BackupTree) -> Iterator[tuple[str, str]]:
    """Yield the keys of replaced files in a backup, and their checksums."""
    col = tree.root / "col"
    for path in sorted(set(col.rglob("old/**/*"))) if col.exists() else ():
        key = path.relative_to(tree.root).as_posix()
        if path.is_file() and is_replaced(tree, key):
            yield key, digest_of(path)


def is_replaced(tree: BackupTree, key: str) -> bool:
    """Return whether a key is that of a replaced file of an item that is in a backup."""
    for place, name in owners(key.removeprefix("col/")):
        if tree.path(_key(place, "ibi.json")).exists():
            return name.startswith("old/")
    return False


def _read(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
    except StorageError as failure:
        raise _UnreadableError from failure


def _place(kept: ManifestItem) -> str:
    return kept.item.forms.label.spelling


def _key(place: str, name: str) -> str:
    return f"col/{place}/{name}"


def _reservation(row: dict[str, Any]) -> Reservation:
    return Reservation(Forms.parse(row["forms"]), row["reserved"], row["who"], row["note"])
