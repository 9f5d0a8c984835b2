"""A file store in a folder: `col/<label>/doc/<files>`, each with a manifest (spec part 4).

    col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Report.pdf
                                               /ibi.json       the manifest
                                               /old/<change>/  files that were replaced, if kept
    incoming/<deposit>/                                        received files of open deposits
    journal/<change>.json                                      decided, unfinished changes
    reserved/<list>.json                                       reserved labels

A change is decided when its line in the journal is durable. Everything that needs space is written
before. Only renames follow, each of which can be repeated after a crash: so a change is carried out
completely or not at all, whenever the process is killed.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.rules.fixity import MANIFEST
from ibi.archive.rules.manifest import manifest
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.archive.storage.files.folder_repair import FolderRepair
from ibi.archive.storage.files.staging import Staging
from ibi.errors import StorageError, UnknownError
from ibi.foundation.system.disk import (
    disk_errors,
    fsync_nearest,
    prune,
    replace_durably,
    write_durably,
)
from ibi.foundation.system.private_files import make_private
from ibi.foundation.system.safe_open import folder_beneath, fsync_folder, has_file, open_beneath
from ibi.model.change import Change
from ibi.model.item import File

_FOLDERS: Final = ("col", "incoming", "journal", "reserved")
_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Error numbers of file systems without hard links, or without room for another one."""


class _Step(msgspec.Struct, frozen=True):
    """The part of a change that concerns the folder of one item."""

    place: str
    adopted: str
    put: tuple[str, ...]
    removed: tuple[str, ...]
    cleared: bool
    dropped: bool = False


class _Line(msgspec.Struct, frozen=True):
    """A line of the journal."""

    change: StoredChange
    steps: tuple[_Step, ...]


_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(_Line).decode


class FolderStore:
    """A file store in a folder."""

    quick = True

    def __init__(self, root: Path, *, keep_replaced: bool = True) -> None:
        """Use a folder, created if it does not exist; keep replaced files if so configured."""
        self.name = str(root)
        folders = [root / folder for folder in _FOLDERS]
        self._col, self._incoming, self._journal, self._reserved = folders
        self.staging = Staging(self._incoming)
        self._repair = FolderRepair(self.name, self._col, self.staging)
        self._keep = keep_replaced
        self._lasting: set[str] = (
            set()
        )  # folders known to be durable; most labels of a year share them
        with disk_errors(self.name):
            for folder in folders:
                make_private(folder)
            fsync_folder(root)

    def discard(self, deposit: str) -> None:
        """Remove all files of a deposit."""
        self.staging.discard(deposit)

    def prepare(self, change: Change) -> None:
        """Do nothing: the files are on the same disk already, and only need a rename."""

    def stored(self, deposit: str) -> int:  # noqa: ARG002  # nothing is sent anywhere
        """Return 0: files of a deposit are not sent anywhere."""
        return 0

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, then carry it out on the files."""
        line = _Line(
            StoredChange.of(change),
            tuple(
                _Step(
                    each.item.forms.label.spelling,
                    each.adopted,
                    each.put,
                    each.removed,
                    each.cleared,
                    each.dropped,
                )
                for each in change.items
            ),
        )
        with disk_errors(self.name):
            try:
                prepared = self._prepared(change.id)
                prepared.mkdir()
                for number, each in enumerate(change.items):
                    text = manifest(each.item, each.files, each.number, each.version + 1)
                    write_durably(prepared / f"{number}.json", text)
                write_durably(prepared / "journal", _ENCODE(line))
                fsync_folder(prepared)
                fsync_folder(self._incoming)
            except BaseException:
                shutil.rmtree(self._prepared(change.id), ignore_errors=True)
                raise
            # This rename decides the change.
            (prepared / "journal").rename(self._journal / f"{change.id}.json")
            fsync_folder(self._journal)
            self._carry_out(line)

    def _prepared(self, change: str) -> Path:
        return self._incoming / f"change-{change}"

    def _carry_out(self, line: _Line) -> None:
        for number, step in enumerate(line.steps):
            folder = self._made(step.place)
            if step.adopted:
                self._adopt(step.adopted, folder / "doc")
            # Removals come first, so that a file can replace a folder, and a folder a file.
            for path in step.removed:
                self._remove(line.change.id, folder, path)
            for path in step.put:
                self._put(line.change, folder, path)
            prepared = self._prepared(line.change.id)
            if step.cleared or step.dropped:
                for part in ("doc", "old"):
                    _move(folder / part, prepared / f"{number}.{part}")
            if step.dropped:
                (folder / MANIFEST).unlink(missing_ok=True)
            else:
                _move(prepared / f"{number}.json", folder / MANIFEST)
            fsync_folder(folder)
            if step.dropped:
                # The label may be a prefix of another one: only empty folders are removed.
                self._lasting.clear()
                prune(self._col, f"{step.place}/{MANIFEST}")

    def _made(self, place: str) -> Path:
        parts, above = place.split("/"), place.rpartition("/")[0]
        if above in self._lasting and not (self._col / above).is_dir():
            self._lasting.clear()  # the folder was moved or removed meanwhile
        lasting = len(parts) - 1 if above in self._lasting else 0
        with folder_beneath(self._col, parts, make=True, lasting=lasting):
            self._lasting.add(above)
            return self._col / place

    def _adopt(self, deposit: str, doc: Path) -> None:
        files = self.staging.files_of(deposit)
        if files.is_dir():
            _move(files, doc)

    def _put(self, change: StoredChange, folder: Path, path: str) -> None:
        source = self.staging.files_of(change.deposit) / path
        *folders, name = path.split("/")
        is_new = source.exists()  # if not, this was done before a crash
        if is_new and self._keep:
            self._keep_old(change.id, folder, path)
        with folder_beneath(folder, ["doc", *folders], make=True) as doc:
            if is_new:
                os.rename(source, name, dst_dir_fd=doc)
            os.fsync(doc)

    def _remove(self, change: str, folder: Path, path: str) -> None:
        if self._keep:
            self._keep_old(change, folder, path)
        *folders, name = path.split("/")
        # This may have been done before a crash.
        with suppress(FileNotFoundError), folder_beneath(folder, ["doc", *folders]) as doc:
            if has_file(doc, name):
                os.unlink(name, dir_fd=doc)
        prune(folder / "doc", path)
        fsync_nearest(folder / "doc" / path, folder / "doc")

    @staticmethod
    def _keep_old(change: str, folder: Path, path: str) -> None:
        """Link the old file under a second name, which stays when the first one is reused."""
        *folders, name = path.split("/")
        with suppress(FileNotFoundError), folder_beneath(folder, ["doc", *folders]) as doc:
            if not has_file(doc, name):
                return
            with folder_beneath(folder, ["old", change, *folders], make=True) as old:
                if not has_file(old, name):
                    _link_or_move(name, doc, old)

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Remove a decision from the journal, once the catalogue has the change."""
        with disk_errors(self.name):
            line = self._journal / f"{id}.json"
            with suppress(FileNotFoundError):
                deposit = self._line(line).change.deposit
                # The line is removed last: the files of a deleted item are in this folder.
                if self._prepared(id).exists():
                    shutil.rmtree(self._prepared(id))
                if deposit:
                    self.discard(deposit)
                line.unlink()
                fsync_folder(self._journal)

    def _line(self, path: Path) -> _Line:
        try:
            return _DECODE(path.read_bytes())
        except msgspec.MsgspecError as fault:
            raise StorageError(str(path), "this line of the journal is damaged") from fault

    def decided(self) -> Iterator[StoredChange]:
        """Carry out unfinished decisions on the files, and yield each."""
        with disk_errors(self.name):
            lines = [self._line(path) for path in self._journal.glob("*.json")]
            if lines:
                # A process may have been killed between the rename and this call.
                fsync_folder(self._journal)
            known = {self._prepared(line.change.id) for line in lines}
            for left in self._incoming.glob("change-*"):
                if left not in known:
                    shutil.rmtree(left)  # of a change that was not decided
        for line in sorted(lines, key=lambda line: line.change.at):
            with disk_errors(self.name):
                self._carry_out(line)
            yield line.change

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        with disk_errors(self.name):
            fd = open_beneath(self._col, [*place.split("/"), MANIFEST])
            with os.fdopen(fd, "rb") as file:
                return file.read()

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Yield the place and the manifest of every item; an empty one if it is unreadable."""
        unread: list[str] = []
        for folder, folders, files in os.walk(
            self._col, onerror=lambda failure: unread.append(failure.filename)
        ):
            folders.sort()  # labels of one archive are then in the order of their time
            if MANIFEST in files:
                place = Path(folder).relative_to(self._col).as_posix()
                try:
                    yield place, self.manifest(place)
                except StorageError:
                    yield place, b""
                # A label may be a prefix of another one, which is not among its files.
                folders[:] = (name for name in folders if name not in {"doc", "old"})
        yield from ((Path(each).relative_to(self._col).as_posix(), b"") for each in unread)

    def keep_reservations(self, text: bytes) -> None:
        """Store a list of reserved labels, from which a lost catalogue can be rebuilt."""
        with disk_errors(self.name):
            replace_durably(self._reserved / f"{uuid.uuid4().hex}.json", text)

    def reservations(self) -> Iterator[bytes]:
        """Yield all lists of reserved labels."""
        with disk_errors(self.name):
            yield from [path.read_bytes() for path in self._reserved.glob("*.json")]

    def open(self, place: str, path: str) -> LocalFile:
        """Open a file of an item for reading; raise UnknownError if there is none."""
        with disk_errors(self.name):
            try:
                fd = open_beneath(self._col, [*place.split("/"), "doc", *path.split("/")])
            except FileNotFoundError:
                raise UnknownError("file", path) from None
            return LocalFile(fd, self.name)

    def link(self, place: str, path: str, method: str) -> str:
        """Return an empty string: the archive itself serves the files."""
        del place, path, method
        return ""

    def keys(self, place: str = "") -> Iterator[str]:
        """Yield the key of each file of a place or of the whole tree, known or stray."""
        return self._repair.keys(place)

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Replace a damaged file by a complete file of a deposit."""
        self._repair.mend(place, file, deposit)

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace the damaged manifest of an item."""
        self._repair.mend_manifest(place, text)


def _link_or_move(name: str, folder: int, other: int) -> None:
    places = {"src_dir_fd": folder, "dst_dir_fd": other}
    try:
        os.link(name, name, **places, follow_symlinks=False)
    except OSError as failure:
        if failure.errno not in _NO_LINKS:
            raise
        os.rename(name, name, **places)  # noqa: PTH104  # by open folders
    os.fsync(other)


def _move(source: Path, target: Path) -> None:
    """Rename a file, unless that was done before a crash."""
    with suppress(FileNotFoundError):
        source.rename(target)
