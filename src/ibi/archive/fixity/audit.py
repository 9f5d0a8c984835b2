"""An audit: reads and checks every file of an archive, or of some items.

The archive may change meanwhile. A file that seems damaged is checked again against the current
catalogue, so that only a file that did not change in between is reported. An interrupted audit
resumes after the last file that it checked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.fixity.repair import Repairer, check_store, manifest_text
from ibi.archive.fixity.stray_files import StrayFiles
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.file_store import OpenFile, pieces_of
from ibi.archive.ports.maintenance import Damage
from ibi.archive.rules.fixity import DOC, MANIFEST, Found, file_fault, manifest_fault
from ibi.archive.tasks import TaskProgress
from ibi.errors import StorageError, UnknownError
from ibi.identifier.label import Label
from ibi.model.item import File, Item
from ibi.model.pace import Pace

PIECE: Final = 1 << 20
_WORTH_A_THREAD: Final = 1 << 18
"""Bytes from which on it is faster to compute both checksums in parallel."""

Tell = Callable[[int], None]
"""Called with the size of each piece in bytes; an exception ends the reading."""


class UncachedRead:
    """Computes checksums of files from the disk, not from the page cache, with two threads."""

    def __init__(self) -> None:
        """Start no thread before the first large file."""
        self._helper = ThreadPoolExecutor(1, "ibi-checksums")

    def found(self, opened: OpenFile, tell: Tell) -> Found:
        """Read an open file to its end and close it; raise StorageError if the disk fails."""
        sha256, sha512, size = hashlib.sha256(), hashlib.sha512(), 0
        try:
            for piece in _pieces(opened):
                if len(piece) < _WORTH_A_THREAD:
                    sha256.update(piece)
                    sha512.update(piece)
                else:
                    # Both computations release the interpreter lock.
                    helped = self._helper.submit(sha256.update, piece)
                    sha512.update(piece)
                    helped.result()
                size += len(piece)
                tell(len(piece))
        finally:
            opened.close()
        return Found(size, sha256.hexdigest(), sha512.hexdigest())

    def close(self) -> None:
        """Stop the second thread."""
        self._helper.shutdown()


def _pieces(opened: OpenFile) -> Iterator[bytes]:
    """Drop the file from the page cache, so that the disk is read and the cache is not filled."""
    _forget(opened, 0, 0)
    at = 0
    for piece in pieces_of(opened, count=PIECE):
        yield piece
        _forget(opened, at, len(piece))
        at += len(piece)


def _forget(opened: OpenFile, offset: int, count: int) -> None:
    if opened.fd is not None and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(opened.fd, offset, count, os.POSIX_FADV_DONTNEED)


_ITEMS: Final = 100
_FILES: Final = 1000
"""Rows of files that are read from the catalogue at once."""
_SLICE: Final = 200_000_000
"""Nanoseconds of a rest after which the audit checks whether it was cancelled."""
_TREE: Final = "tree"
"""The place of an audit that has checked all files of the catalogue, and looks for strays."""


class Audit:
    """One run of an audit, with or without repair."""

    def __init__(
        self,
        archive: Archive,
        damages: DamageLog,
        progress: TaskProgress,
        pace: Pace,
        repairer: Repairer | None,
    ) -> None:
        """Resume from the place that the task reported last."""
        self._archive = archive
        self._items_store = archive.catalogue.items
        self._statistics = archive.catalogue.statistics
        self._damages = damages
        self._progress = progress
        self._pace = pace
        self._repairer = repairer
        self._reader = UncachedRead()
        self._labels: list[str] = progress.request.get("items", [])
        counted = {"files": 0, "bytes": 0, "damaged": 0, "repaired": 0}
        self._tally = {name: progress.result.get(name, count) for name, count in counted.items()}
        self._canonical = sorted({held.item.forms.label.canonical for held in self._named()})
        """Labels that the audit is limited to; none for the whole archive."""
        self._read = 0
        """Bytes read of the current file."""

    def run(self) -> None:
        """Check all files, then look for stray ones."""
        self._damages.load()
        self._progress.report(total=self._extent(), note="")
        if self._progress.task.place != _TREE:
            for held, after in self._items():
                self._item(held, after)
        self._report(_TREE)
        strays = StrayFiles(self._archive, self._progress.report)
        for damage in strays.found([held.item.forms.label.spelling for held in self._named()]):
            self._damages.keep(damage)
        self._forget(strays)
        self._tally["damaged"] = self._damages.among(self._canonical)
        self._report(_TREE)

    def close(self) -> None:
        """Stop the threads."""
        self._reader.close()

    def _extent(self) -> int:
        if not self._labels:
            return sum(holding.size for holding in self._statistics.holdings())
        return sum(file.size for held in self._named() for file in self._archive.files(held))

    def _items(self) -> Iterator[tuple[StoredItem, str]]:
        """Yield the items still to check, each with the path after which to continue."""
        number, within, path = self._progress.task.place.partition(" ")
        last = int(number or 0)
        for held in self._later(last - 1 if within else last):
            yield held, path if held.id == last else ""

    def _later(self, after: int) -> Iterator[StoredItem]:
        if self._labels:
            yield from (held for held in self._named() if held.id > after)
            return
        while held := self._items_store.page(after, _ITEMS):
            yield from held
            after = held[-1].id

    def _named(self) -> list[StoredItem]:
        """Return the requested items with their metadata items, in their order."""
        found: dict[int, StoredItem] = {}
        for label in self._labels:
            with suppress(UnknownError):  # a Copy that was dropped meanwhile
                look = self._archive.get_described(label)
                found |= {held.id: held for held in (look.held, look.metadata) if held is not None}
        return [found[number] for number in sorted(found)]

    def _item(self, held: StoredItem, after: str) -> None:
        while files := self._items_store.files(held.id, after, _FILES):
            for file in files:
                self._file(held.item, file)
                self._tally["files"] += 1
                self._tally["bytes"] += file.size
                self._report(f"{held.id} {file.path}")
            after = files[-1].path
        self._manifest(held)
        self._report(f"{held.id}")

    def _report(self, place: str) -> None:
        result = {**self._tally, "labels": self._canonical}
        self._progress.report(place=place, done=self._tally["bytes"], result=result)

    def _file(self, item: Item, file: File) -> None:
        label, name = item.forms.label, f"{DOC}/{file.path}"
        if self._fault(label, file):
            with self._damages.judging:
                self._conclude(label, name, self._judged_file(item, file.path))
        else:
            self._damages.drop(label.canonical, name)

    def _judged_file(self, item: Item, path: str) -> str:
        """Check a damaged file again and repair it; return the remaining fault."""
        label, mended = item.forms.label, None
        file = self._known(label, path)
        while file is not None:
            what = self._fault(label, file)
            if not what:
                self._tally["repaired"] += file == mended
                return ""
            if self._known(label, path) == file:
                # The repaired file is read back: the disk that damaged it may do so again.
                if self._repairer is None or mended is not None:
                    return what
                mended = file
                reason = self._repairer.mend_file(item, file, lambda _: self._progress.report())
                if reason and self._known(label, path) == file:
                    return f"{what}; {reason}"
            file = self._known(label, path)
        return ""

    def _known(self, label: Label, path: str) -> File | None:
        """Return the file as the catalogue has it, after all decided changes."""
        with self._archive.changing():
            self._archive.settle()
            held = self._items_store.find(label.canonical)
            return None if held is None else self._items_store.file(held.id, path)

    def _fault(self, label: Label, file: File) -> str:
        self._read = 0
        try:
            opened = self._archive.store.open(label.spelling, file.path)
            return file_fault(file, self._reader.found(opened, self._tell))
        except UnknownError:
            what = file_fault(file, None)
        except StorageError as fault:
            what = f"it cannot be read: {fault.reason}"
        check_store(self._archive, label.spelling)
        return what

    def _tell(self, count: int) -> None:
        """Count the bytes that were read, and rest to keep the pace."""
        self._read += count
        self._progress.report(done=self._tally["bytes"] + self._read)
        rest = self._pace.after(self._archive.clock.uptime(), count)
        while rest > 0:
            self._archive.clock.sleep(min(rest, _SLICE))
            rest -= _SLICE
            self._progress.report()

    def _manifest(self, held: StoredItem) -> None:
        label = held.item.forms.label
        if self._manifest_fault(held):
            with self._damages.judging:
                self._conclude(label, MANIFEST, self._judged_manifest(label))
        else:
            self._damages.drop(label.canonical, MANIFEST)

    def _judged_manifest(self, label: Label) -> str:
        """Check a damaged manifest again and repair it; return the remaining fault."""
        what = self._settled_manifest_fault(label)
        if what and self._repairer is not None:
            reason = self._repairer.mend_manifest(label)
            what = f"{what}; {reason}" if reason else self._settled_manifest_fault(label)
            self._tally["repaired"] += not what
        return what

    def _settled_manifest_fault(self, label: Label) -> str:
        with self._archive.changing():
            self._archive.settle()
            held = self._items_store.find(label.canonical)
            return "" if held is None else self._manifest_fault(held)

    def _manifest_fault(self, held: StoredItem) -> str:
        text = manifest_text(self._archive, held.item.forms.label.spelling)
        return manifest_fault(text, held, self._archive.files(held))

    def _conclude(self, label: Label, name: str, what: str) -> None:
        if what:
            now = self._archive.clock.wall()
            self._damages.keep(Damage(label=label.canonical, path=name, found=now, what=what))
        else:
            self._damages.drop(label.canonical, name)

    def _forget(self, strays: StrayFiles) -> None:
        """Remove entries from the damage log whose files were removed by a change."""
        for label in self._canonical if self._labels else self._damages.labels():
            for name in self._damages.known(label):
                with self._damages.judging:
                    if not strays.still(label, name):
                        self._damages.drop(label, name)
