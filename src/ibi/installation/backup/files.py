"""The files of a backup: written, or given a second name where an earlier backup has them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ibi.errors import StorageError
from ibi.foundation.system.disk import Checksums, Disk, checksums_of, disk_errors, prune
from ibi.model.item import File

_COARSE: Final = 2_000_000_000
_FOLDERS: Final = 10_000
_NOT_IN_A_KEY: Final = frozenset({"", ".", ".."})


class BackupTree:
    """A folder that files are put into; all of them are durable after `sync`."""

    def __init__(self, root: Path, earlier: Sequence[Path] = (), *, quick: bool = False) -> None:
        """Use a folder, and others that may have the same files.

        Whether they are the same is read from their first byte to their last; `quick` believes
        size and time.
        """
        self.root = root
        self._earlier = earlier
        self._quick = quick
        self._made: set[Path] = set()
        self._disk: Disk | None = None

    def path(self, key: str) -> Path:
        """Return where a key lies; StorageError if that is not in this folder."""
        if _NOT_IN_A_KEY.intersection(key.split("/")) or "\0" in key:
            raise StorageError(str(self.root), f"no file can lie at {key!r}")
        return self.root / key

    def has(self, key: str, file: File) -> bool:
        """Tell whether a file was put here before: what is put here has its time."""
        with disk_errors(str(self.root)), suppress(FileNotFoundError):
            status = self.path(key).stat()
            return (status.st_size, status.st_mtime_ns) == (file.size, file.modified)
        return False

    def find(self, key: str, file: File) -> bool:
        """Take a file from an earlier backup; False if none has it whole."""
        for root in self._earlier:
            source = root / key
            if self._is(source, file):
                return self._link(source, key) or self.write(key, pieces_in(source), file)
        return False

    def find_unchanging(self, key: str, size: int) -> bool:
        """Take what never changes under its name from an earlier backup."""
        for root in self._earlier:
            with suppress(OSError):
                if (root / key).stat().st_size == size:
                    return self._link(root / key, key)
        return False

    def _is(self, path: Path, file: File) -> bool:
        with suppress(OSError):
            status = path.stat()
            # A second name has the same time; some disks count in two seconds.
            is_alike = abs(status.st_mtime_ns - file.modified) <= _COARSE
            if status.st_size == file.size and is_alike:
                return self._quick or _are(checksums_of(path), file)
        return False

    def _link(self, source: Path, key: str) -> bool:
        """Give a file a second name; False on a disk that has none, or on another disk."""
        with disk_errors(str(self.root)):
            target = self._cleared(key)
            try:
                target.hardlink_to(source)
            except OSError:
                return False
        return True

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> bool:
        """Write a file with its time; False, and it is not there, if its bytes are not its own."""
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
        """Write something small, unless an earlier backup has the same."""
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
        """Remove what lies in a folder, but for these keys."""
        root = self.path(folder)
        kept = {self.path(key) for key in keys}
        with disk_errors(str(root)):
            for path in sorted(root.rglob("*")) if root.exists() else ():
                if path not in kept and not path.is_dir():
                    path.unlink()
                    prune(root.parent, path.relative_to(root.parent).as_posix())
        self._made.clear()

    def _cleared(self, key: str) -> Path:
        """Return where a key lies, with nothing there and a folder around it."""
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
        """Wait until all that was written is on the disk, with its names."""
        if self._disk is not None:
            with disk_errors(str(self.root)):
                self._disk.sync()


def pieces_in(path: Path) -> Iterator[bytes]:
    """Read a file of a backup."""
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
    found = (sums.size, sums.sha256.hexdigest(), sums.sha512.hexdigest())
    return found == (file.size, file.sha256, file.sha512)
