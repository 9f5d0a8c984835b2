"""A backup of an archive, while others write to it.

The catalogue is read at one moment, the files that it names one after the other. What became of a
file in between is told by the catalogue of a later moment: then that one is backed up instead, and
only what differs is looked at again. Each time that takes less long, and less happens meanwhile.
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
from ibi.archive.ports.file_store import BulkFiles, pieces_of
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
"""How often the catalogue is looked at anew before we give up."""
_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

Progress = Callable[[int, int], None]
"""Is told how many items are done, and of how many."""


class _UnreadableError(Exception):
    """The archive's own disk does not give a file."""


class ArchiveBackup:
    """Backs up what a catalogue names; `place` is where the catalogue is."""

    def __init__(
        self, place: str, bulk_files: BulkFiles, tree: BackupTree, progress: Progress
    ) -> None:
        """Take from a shelf, and put into a tree."""
        self._place = place
        self._bulk_files = bulk_files
        self._tree = tree
        self._progress = progress
        self._tables = tree.root / CATALOGUE
        self._lacking: list[str] = []
        self.copied = 0
        """Files that no earlier backup had."""

    def make(self) -> PartRecord:
        """Do it, and say what is in it."""
        stored = self._dump()
        total = stored.tables["archive_item"].rows
        missing: set[int] = set()
        for number, kept in enumerate(self._items(), 1):
            if self._put(kept):
                missing.add(kept.number)
            self._progress(number, total)
        for turn in range(ROUNDS):
            if not missing:
                return self._finish(stored)
            time.sleep(min(_PAUSE * 2**turn, _LONGEST_PAUSE))
            stored, missing = self._go_on(missing)
        reason = "more changes than can be followed, or an act was interrupted: start it once"
        raise StorageError(self._bulk_files.name, reason)

    def _dump(self) -> StoreFiles:
        stored = dump(self._place, "catalogue", self._tables)
        if any(row["name"] == REBUILDING for row in read_rows(self._tables, "archive_setting")):
            raise StorageError(
                self._place, "it is half rebuilt: 'ibi archive rebuild' completes it"
            )
        return stored

    def _items(self) -> Iterator[ManifestItem]:
        return items_of(table_in(self._tables))

    def _go_on(self, missing: set[int]) -> tuple[StoreFiles, set[int]]:
        """Look at a later moment; return of which items something is still missing."""
        before = self._tables.with_name("before")
        with disk_errors(str(before)):
            shutil.rmtree(before, ignore_errors=True)
            self._tables.rename(before)
        # Between its decision and its commit, an act is in the journal and not in the catalogue.
        is_quiet = next(iter(self._bulk_files.keys("journal")), None) is None
        stored = self._dump()
        left = set()
        for old, new in differences(items_of(table_in(before)), self._items(), missing):
            # First what goes: a file may come where a folder was.
            if old is not None and (new is None or _place(new) != _place(old)):
                self._tree.keep_only(_key(_place(old), "doc"), ())
                self._tree.path(_key(_place(old), "ibi.json")).unlink(missing_ok=True)
            if new is None:
                continue
            keys = [_key(_place(new), f"doc/{file.path}") for file in new.files]
            self._tree.keep_only(_key(_place(new), "doc"), keys)
            gone = self._put(new)
            if gone and is_quiet and old is not None and is_same(old, new):
                self._lacking += gone  # nothing happened to it: it is damaged
            elif gone:
                left.add(new.number)
        shutil.rmtree(before, ignore_errors=True)
        return stored, left

    def _put(self, kept: ManifestItem) -> list[str]:
        """Put an item into the backup, and return the keys of those files that are missing."""
        place = _place(kept)
        text = manifest(kept.item, kept.files, kept.number, kept.version)
        self._tree.write_text(_key(place, "ibi.json"), text)
        files = ((f"doc/{file.path}", file) for file in kept.files)
        return [_key(place, path) for path, file in files if not self._take(place, path, file)]

    def _take(self, place: str, path: str, file: File) -> bool:
        key = _key(place, path)
        return (
            self._tree.has(key, file)
            or self._tree.find(key, file)
            or self._copy(key, key, file)
            or any(self._copy(old, key, file) for old in self._replaced(place, file))
        )

    def _replaced(self, place: str, file: File) -> Iterator[str]:
        """Yield where the bytes of a file may lie that was replaced meanwhile."""
        for key, size in self._bulk_files.keys(_key(place, "old")):
            if size == file.size and key.endswith(f"/{file.path}"):
                yield key

    def _copy(self, source: str, key: str, file: File) -> bool:
        try:
            with closing(self._bulk_files.open(source)) as opened:
                is_whole = self._tree.write(key, _read(pieces_of(opened)), file)
        except (UnknownError, _UnreadableError):
            return False
        self.copied += is_whole
        return is_whole

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
        """Take replaced files that were kept, of items that are in the backup."""
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
            return  # its item was deleted a moment ago


def table_in(folder: Path) -> Table:
    """Return who reads the tables in a folder."""
    return partial(_rows, folder)


def _rows(folder: Path, table: str) -> Iterable[dict[str, Any]]:
    return read_rows(folder, table)


def catalogued(folder: Path) -> Iterator[tuple[str, str, File | None]]:
    """Return the key and checksum of all that the catalogue of a backup names, in its order.

    Of a file of an item, all that is known of it; of a manifest, nothing more.
    """
    for kept in items_of(table_in(folder / CATALOGUE)):
        place = _place(kept)
        text = manifest(kept.item, kept.files, kept.number, kept.version)
        yield _key(place, "ibi.json"), hashlib.sha256(text).hexdigest(), None
        for file in kept.files:
            yield _key(place, f"doc/{file.path}"), file.sha256, file


def replaced_in(tree: BackupTree) -> Iterator[tuple[str, str]]:
    """Return the keys of replaced files in a backup, and their checksums."""
    col = tree.root / "col"
    for path in sorted(col.rglob("old/**/*")) if col.exists() else ():
        key = path.relative_to(tree.root).as_posix()
        for place, name in owners(key.removeprefix("col/")):
            if tree.path(_key(place, "ibi.json")).exists():
                if name.startswith("old/") and path.is_file():
                    yield key, digest_of(path)
                break


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
