"""The files of a backup: copied, or hard-linked if an earlier backup has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ibi.errors import StorageError
from ibi.foundation.system.disk import Checksums, Disk, checksums_of, disk_errors, prune
from ibi.foundation.system.safe_open import open_beneath
from ibi.model.item import File

_COARSE: Final = 2_000_000_000
"""Nanoseconds by which the times of equal files may differ: some disks count in two seconds."""
_FOLDERS: Final = 10_000
"""The largest number of folders that are remembered as made."""
_NOT_IN_A_KEY: Final = frozenset({"", ".", ".."})


class BackupTree:
    """A folder into which files are put; all of them are durable after `sync`."""

    def __init__(self, root: Path, earlier: Sequence[Path] = (), *, quick: bool = False) -> None:
        """Take a folder, and earlier backups that may have the same files.

        Files are compared byte by byte; with `quick`, by size and time only.
        """
        self.report: Callable[[int], None] = lambda _: None
        """Is called with the size of each piece that was read of a file, here or earlier."""
        self.root = root
        self._earlier = earlier
        self._quick = quick
        self._made: set[Path] = set()
        self._disk: Disk | None = None

    def path(self, key: str) -> Path:
        """Return the path of a key; StorageError if that is not in this folder."""
        if _NOT_IN_A_KEY.intersection(key.split("/")) or "\0" in key:
            raise StorageError(str(self.root), f"no file can be at {key!r}")
        return self.root / key

    def pieces(self, key: str) -> Iterator[bytes]:
        """Open a file, and return its bytes; FileNotFoundError if there is none, or only a link."""
        self.path(key)
        return self._pieces(open_beneath(self.root, key.split("/")))

    def _pieces(self, descriptor: int) -> Iterator[bytes]:
        try:
            with disk_errors(str(self.root)):
                for piece in _pieces(descriptor):
                    yield piece
                    self.report(len(piece))
        finally:
            os.close(descriptor)

    def checksums(self, key: str) -> Checksums | None:
        """Return the checksums of a file; None if there is none, or only a link."""
        sums = Checksums()
        try:
            pieces = self.pieces(key)
        except FileNotFoundError:
            return None
        for piece in pieces:
            sums.update(piece)
        return sums

    def has(self, key: str, file: File) -> bool:
        """Return whether a file is here already, by its size and time."""
        with disk_errors(str(self.root)), suppress(FileNotFoundError):
            status = self.path(key).stat()
            return (status.st_size, status.st_mtime_ns) == (file.size, file.modified)
        return False

    def find(self, key: str, file: File) -> bool:
        """Take a file from an earlier backup; return False if none has it intact."""
        for root in self._earlier:
            source = root / key
            if self._is(source, file):
                return self._link(source, key) or self.write(key, pieces_in(source), file)
        return False

    def find_unchanging(self, key: str, size: int) -> bool:
        """Take a file that never changes under its name from an earlier backup."""
        for root in self._earlier:
            with suppress(OSError):
                if (root / key).stat().st_size == size:
                    return self._link(root / key, key)
        return False

    def _is(self, path: Path, file: File) -> bool:
        with suppress(OSError):
            status = path.stat()
            is_alike = abs(status.st_mtime_ns - file.modified) <= _COARSE
            if status.st_size == file.size and is_alike:
                return self._quick or _are(checksums_of(path, self.report), file)
        return False

    def _link(self, source: Path, key: str) -> bool:
        """Make a hard link; return False if the disk has none, or the source is on another disk."""
        with disk_errors(str(self.root)):
            target = self._cleared(key)
            try:
                target.hardlink_to(source)
            except OSError:
                return False
        return True

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> bool:
        """Write a file with its time; return False, without a file, if its checksums differ."""
        sums = Checksums()
        with self._written(key) as descriptor:
            for piece in pieces:
                _write(descriptor, piece)
                sums.update(piece)
            os.utime(descriptor, ns=(file.modified, file.modified))
        if file.sha256 and not _are(sums, file):
            with disk_errors(str(self.root)):
                self.path(key).unlink()
            return False
        return True

    def write_text(self, key: str, text: bytes) -> None:
        """Write a small file, unless an earlier backup has the same."""
        for root in self._earlier:
            with suppress(OSError):
                if (root / key).read_bytes() == text and self._link(root / key, key):
                    return
        with self._written(key) as descriptor:
            _write(descriptor, text)

    @contextmanager
    def _written(self, key: str) -> Iterator[int]:
        with disk_errors(str(self.root)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(self._cleared(key), flags, 0o600)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def keep_only(self, folder: str, keys: Collection[str]) -> None:
        """Remove everything in a folder except for these keys."""
        root = self.path(folder)
        kept = {self.path(key) for key in keys}
        with disk_errors(str(root)):
            for path in sorted(root.rglob("*")) if root.exists() else ():
                if path not in kept and not path.is_dir():
                    path.unlink()
                    prune(root.parent, path.relative_to(root.parent).as_posix())
        self._made.clear()

    def _cleared(self, key: str) -> Path:
        """Return the path of a key, with nothing there and its folder made."""
        target = self.path(key)
        folder = target.parent
        if folder not in self._made:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if len(self._made) >= _FOLDERS:
                self._made.clear()
            self._made.add(folder)
        self._disk = self._disk or Disk(self.root)
        target.unlink(missing_ok=True)
        return target

    def sync(self) -> None:
        """Wait until all files and their names are durable."""
        if self._disk is not None:
            with disk_errors(str(self.root)):
                self._disk.sync()


def pieces_in(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file of a backup."""
    with disk_errors(str(path)), path.open("rb") as file:
        yield from _pieces(file.fileno())


def _pieces(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, 1 << 20):
        yield piece


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _are(sums: Checksums, file: File) -> bool:
    if not file.sha512:  # of a replaced file only the list of checksums knows anything
        return bool(sums.sha256.hexdigest() == file.sha256)
    found = (sums.size, sums.sha256.hexdigest(), sums.sha512.hexdigest())
    return found == (file.size, file.sha256, file.sha512)
