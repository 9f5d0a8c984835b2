"""Items as folders: `col/<label>/doc/<files>`, with a manifest beside them (spec part 4).

    col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Report.pdf
                                               /ibi.json       the manifest
                                               /old/<change>/  files that were replaced, if kept
    incoming/<deposit>/                                        files on their way in
    journal/<change>.json                                      what is decided and not finished

A change is decided when its line in the journal is durable. All that takes room was written
before; what follows are renames, each of which may be done again after a crash: so a change is
there whole, or not at all, whatever is killed when.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from ibi.adapters.beneath import fsync_folder, open_beneath
from ibi.adapters.staging import Staging, disk_errors
from ibi.archive.manifest import manifest
from ibi.errors import StorageError, UnknownError
from ibi.model.change import Change
from ibi.ports import StoredChange

MANIFEST: Final = "ibi.json"
_FOLDERS: Final = ("col", "incoming", "journal")


class _Step(msgspec.Struct, frozen=True):
    """What happens to the folder of one item."""

    place: str
    adopted: str
    put: tuple[str, ...]
    removed: tuple[str, ...]
    cleared: bool


class _Line(msgspec.Struct, frozen=True):
    """A line of the journal."""

    change: StoredChange
    steps: tuple[_Step, ...]


_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(_Line).decode


class FileTree(Staging):
    """A file store in a folder."""

    def __init__(self, root: Path, *, keep_replaced: bool = True) -> None:
        """Use a folder, and make it if need be; replaced files are kept, or not."""
        super().__init__(root / "incoming")
        self.name = str(root)
        self._col, self._incoming, self._journal = (root / folder for folder in _FOLDERS)
        self._keep = keep_replaced
        with disk_errors(self.name):
            for folder in (self._col, self._incoming, self._journal):
                folder.mkdir(parents=True, exist_ok=True)
            fsync_folder(root)

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, and carry it out among the files."""
        line = _Line(
            StoredChange(
                change.id,
                change.at,
                change.who,
                change.act,
                change.label,
                change.detail,
                change.deposit,
                tuple(each.item.forms.label.spelling for each in change.items),
            ),
            tuple(
                _Step(
                    each.item.forms.label.spelling,
                    each.adopted,
                    each.put,
                    each.removed,
                    each.cleared,
                )
                for each in change.items
            ),
        )
        with disk_errors(self.name):
            try:
                prepared = self._prepared(change.id)
                prepared.mkdir()
                for number, each in enumerate(change.items):
                    _write(prepared / f"{number}.json", manifest(each.item, each.files))
                _write(prepared / "journal", _ENCODE(line))
                fsync_folder(prepared)
                fsync_folder(self._incoming)
            except BaseException:
                shutil.rmtree(self._prepared(change.id), ignore_errors=True)
                raise
            # From here on it is decided.
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
            for path in step.put:
                self._put(line.change, folder, path)
            for path in step.removed:
                if self._keep:
                    self._keep_old(line.change.id, folder, path)
                (folder / "doc" / path).unlink(missing_ok=True)
                _prune(folder / "doc", path)
            if step.cleared:
                _move(folder / "doc", self._prepared(line.change.id) / f"{number}.doc")
            _move(self._prepared(line.change.id) / f"{number}.json", folder / MANIFEST)
            fsync_folder(folder)

    def _made(self, place: str) -> Path:
        folder = self._col
        for part in place.split("/"):
            parent, folder = folder, folder / part
            with suppress(FileExistsError):
                folder.mkdir()
            # Even if it was there: a crash may have come between making it and this.
            fsync_folder(parent)
        return folder

    def _adopt(self, deposit: str, doc: Path) -> None:
        files = self.files_of(deposit)
        if files.is_dir():
            _move(files, doc)

    def _put(self, change: StoredChange, folder: Path, path: str) -> None:
        source, target = self.files_of(change.deposit) / path, folder / "doc" / path
        if not source.exists():
            return  # done before
        if self._keep:
            self._keep_old(change.id, folder, path)
        _make_parents(folder, target)
        source.rename(target)
        fsync_folder(target.parent)

    @staticmethod
    def _keep_old(change: str, folder: Path, path: str) -> None:
        """Give the old bytes a second name, under which they stay when the first is taken."""
        source, target = folder / "doc" / path, folder / "old" / change / path
        if source.is_file() and not target.exists():
            _make_parents(folder, target)
            os.link(source, target)
            fsync_folder(target.parent)

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Forget a decision: the catalogue has it."""
        with disk_errors(self.name):
            line = self._journal / f"{id}.json"
            with suppress(FileNotFoundError):
                deposit = _DECODE(line.read_bytes()).change.deposit
                shutil.rmtree(self._prepared(id), ignore_errors=True)
                if deposit:
                    self.discard(deposit)
                line.unlink()
                fsync_folder(self._journal)

    def decided(self) -> Iterator[StoredChange]:
        """Carry out among the files what was decided and not finished, and return each."""
        with disk_errors(self.name):
            lines = [_DECODE(path.read_bytes()) for path in self._journal.glob("*.json")]
            known = {self._prepared(line.change.id) for line in lines}
            for left in self._incoming.glob("change-*"):
                if left not in known:
                    shutil.rmtree(left)  # it never was decided
        for line in sorted(lines, key=lambda line: line.change.at):
            with disk_errors(self.name):
                self._carry_out(line)
            yield line.change

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        with disk_errors(self.name):
            return (self._col / place / MANIFEST).read_bytes()

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Return every place and its manifest."""
        for folder, folders, files in os.walk(self._col, onerror=self._fail):
            if MANIFEST in files:
                place = Path(folder).relative_to(self._col).as_posix()
                yield place, self.manifest(place)
                # A label may go on where another ends, but not among its files.
                folders[:] = [name for name in folders if name not in {"doc", "old"}]

    def _fail(self, failure: OSError) -> None:
        raise StorageError(self.name, failure.strerror or str(failure)) from failure

    def open(self, place: str, path: str) -> int:
        """Open a file of an item for reading; UnknownError if there is none."""
        with disk_errors(self.name):
            try:
                return open_beneath(self._col, [*place.split("/"), "doc", *path.split("/")])
            except FileNotFoundError:
                raise UnknownError("file", path) from None


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _move(source: Path, target: Path) -> None:
    """Rename, unless it was renamed before."""
    with suppress(FileNotFoundError):
        source.rename(target)


def _make_parents(folder: Path, target: Path) -> None:
    made = folder
    for part in target.parent.relative_to(folder).parts:
        parent, made = made, made / part
        with suppress(FileExistsError):
            made.mkdir()
        fsync_folder(parent)


def _prune(doc: Path, path: str) -> None:
    """Remove folders that a removed file leaves empty."""
    parent = (doc / path).parent
    while parent != doc:
        try:
            parent.rmdir()
        except OSError:
            return
        parent = parent.parent
