"""A file store that can be exchanged for another while it is used.

Received files of open deposits belong to no store, and stay where they are when the store is
exchanged. A store that renames files, and so needs them in a folder of its own, gets them there
when their deposit is completed.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final, Protocol

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.ports.file_store import FileStore, OpenFile
from ibi.archive.storage.files.staging import Staging
from ibi.errors import StorageError, UnknownError
from ibi.foundation.system.disk import disk_errors
from ibi.foundation.system.private_files import make_private
from ibi.foundation.system.safe_open import fsync_folder
from ibi.foundation.system.shared_memory import SharedCount
from ibi.model.change import Change
from ibi.model.item import File


class Store(FileStore, Protocol):
    """A file store that takes files from a folder."""

    name: str

    @property
    def staging(self) -> Staging:
        """The staging area from which it takes files."""
        ...


class SwitchableStore:
    """A staging area, and the current store of its files."""

    def __init__(self, incoming: Path, store: Store) -> None:
        """Use a store until `exchange` is called."""
        self.staging = Staging(incoming)
        with disk_errors(str(incoming)):
            make_private(incoming)
        self._store = store
        self._keeping = RLock()
        self._touched: dict[str, set[str]] | None = None
        self._completing: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The name of the current store."""
        return self._store.name

    @property
    def quick(self) -> bool:
        """Whether opening a file is quick enough for the thread of an event loop."""
        return self._store.quick

    def watch(self) -> None:
        """Begin to record which places are changed."""
        self._touched = {}

    def unwatch(self) -> None:
        """Stop recording which places are changed."""
        self._touched = None

    def touched(self) -> dict[str, set[str]]:
        """Return the places that were changed since the last call, each with repaired paths."""
        found, self._touched = self._touched or {}, {}
        return found

    @contextmanager
    def still(self) -> Iterator[None]:
        """Block other writes than changes of items: repairs and lists of reservations."""
        with self._keeping:
            yield

    def exchange(self, store: Store) -> None:
        """Use another store from now on."""
        self._store = store

    def _touch(self, place: str, *paths: str) -> None:
        if self._touched is not None:
            self._touched.setdefault(place, set()).update(paths)

    def prepare(self, change: Change) -> None:
        """Do the slow, still invisible part of a change."""
        if change.deposit:
            self._hand_over(change.deposit)
        self._store.prepare(change)

    def stored(self, deposit: str) -> int:
        """Return how many bytes of a deposit were sent by now."""
        return self._store.stored(deposit)

    def _hand_over(self, deposit: str) -> None:
        """Link or copy the files of a deposit to the staging area of the store."""
        source, target = self.staging.files_of(deposit), self._store.staging.files_of(deposit)
        if source == target or not source.is_dir():
            return
        with disk_errors(self.name):
            shutil.rmtree(target, ignore_errors=True)  # left by an abandoned attempt
            shutil.copytree(source, target, copy_function=_link_or_copy)
            for folder, _, _ in os.walk(target):
                fsync_folder(Path(folder))
            fsync_folder(target.parent)

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, then carry it out on the files."""
        for each in change.items:
            self._touch(each.item.forms.label.spelling)
        self._completing[change.id] = change.deposit
        self._store.decide(change)

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Remove a decision from the journal, once the catalogue has the change."""
        self._store.finish(id)
        if deposit := self._completing.pop(id, ""):
            self.staging.discard(deposit)

    def decided(self) -> Iterator[StoredChange]:
        """Carry out unfinished decisions on the files, and yield each."""
        for stored in self._store.decided():
            for place in stored.places:
                self._touch(place)
            self._completing[stored.id] = stored.deposit
            yield stored

    def discard(self, deposit: str) -> None:
        """Remove all files of a deposit."""
        self.staging.discard(deposit)
        self._store.discard(deposit)

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        return self._store.manifest(place)

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Yield the place and the manifest of every item."""
        return self._store.manifests()

    def keep_reservations(self, text: bytes) -> None:
        """Store a list of reserved labels, from which a lost catalogue can be rebuilt."""
        with self._keeping:
            self._store.keep_reservations(text)

    def reservations(self) -> Iterator[bytes]:
        """Yield all lists of reserved labels."""
        return self._store.reservations()

    def open(self, place: str, path: str) -> OpenFile:
        """Open a file of an item for reading; raise UnknownError if there is none."""
        return self._store.open(place, path)

    def link(self, place: str, path: str, method: str) -> str:
        """Return where readers get a file from the store itself; empty if they get it from us."""
        return self._store.link(place, path, method)

    def keys(self, place: str = "") -> Iterator[str]:
        """Yield the key of each file of a place or of the whole store."""
        return self._store.keys(place)

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Replace a damaged file by a complete file of a deposit."""
        self._touch(place, file.path)
        self._hand_over(deposit)
        self._store.mend(place, file, deposit)

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace the damaged manifest of an item."""
        self._touch(place)
        self._store.mend_manifest(place, text)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as failure:
        if failure.errno not in {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK}:
            raise
        shutil.copy2(source, target, follow_symlinks=False)  # with its modification time
        with Path(target).open("rb") as file:
            os.fsync(file.fileno())


_READS: Final = "this process only reads"


class ReaderStore(SwitchableStore):
    """The store of a reader process; it follows the writer to another store."""

    def __init__(self, incoming: Path, opened: Callable[[], Store], moves: SharedCount) -> None:
        """Open the current store, and the next one when the writer increases `moves`."""
        self._opened = opened
        self._moves = moves
        self._followed = moves.value
        super().__init__(incoming, opened())

    def _follow(self) -> bool:
        """Open the new store if there was a move; return whether there was one."""
        moves = self._moves.value
        if moves == self._followed:
            return False
        self.exchange(self._opened())
        self._followed = moves
        return True

    @property
    def quick(self) -> bool:
        """Whether opening a file is quick enough for the thread of an event loop."""
        self._follow()
        return super().quick

    def open(self, place: str, path: str) -> OpenFile:
        """Open a file of an item for reading; raise UnknownError if there is none."""
        self._follow()
        try:
            return super().open(place, path)
        except UnknownError:
            if not self._follow():  # the store may have been moved meanwhile
                raise
            return super().open(place, path)

    def link(self, place: str, path: str, method: str) -> str:
        """Return where readers get a file from the store itself; empty if they get it from us."""
        self._follow()
        return super().link(place, path, method)

    def decided(self) -> Iterator[StoredChange]:
        """Yield nothing: only the writer carries out decided changes."""
        yield from ()

    def decide(self, change: Change) -> None:
        """Raise StorageError: a reader decides no change."""
        del change
        raise StorageError(self.name, _READS)
