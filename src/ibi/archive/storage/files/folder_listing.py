"""The files of a folder store, by their keys."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ibi.errors import UnknownError
from ibi.foundation.system.disk import disk_errors, prune
from ibi.foundation.system.private_files import make_private
from ibi.foundation.system.safe_open import (
    create_beneath,
    folder_beneath,
    has_file,
    open_beneath,
    storage_error,
)
from ibi.model.item import File


class LocalFile:
    """A file of a local disk, open for reading."""

    __slots__ = ("_place", "fd", "modified", "size")

    def __init__(self, fd: int, place: str = "") -> None:
        """Take over a descriptor; errors of the disk name the place."""
        status = os.fstat(fd)
        self.fd = fd
        self.size = status.st_size
        self.modified = status.st_mtime_ns
        self._place = place

    def read(self, offset: int, count: int) -> bytes:
        """Return `count` bytes, fewer at the end."""
        try:
            return os.pread(self.fd, count, offset)
        except OSError as failure:
            raise storage_error(self._place, failure) from failure

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)


class FolderFiles:
    """All files of an archive in a folder, for a move of the store."""

    def __init__(self, root: Path) -> None:
        """Use a folder; create it if it does not exist."""
        self.name = str(root)
        self._root = root
        with disk_errors(self.name):
            make_private(root / "incoming")

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the paths in a folder and its subfolders, each with its size in bytes."""
        for folder, folders, files in os.walk(self._root / prefix, onerror=self._fail):
            folders.sort()
            for name in sorted(files):
                path = Path(folder) / name
                # Suppressed inside: outside of `disk_errors` it would be a StorageError already.
                with disk_errors(self.name), suppress(FileNotFoundError):
                    yield path.relative_to(self._root).as_posix(), path.lstat().st_size

    def _fail(self, failure: OSError) -> None:
        if not isinstance(failure, (FileNotFoundError, NotADirectoryError)):
            raise storage_error(self.name, failure) from failure

    def open(self, key: str) -> LocalFile:
        """Open a file for reading; raise UnknownError if there is none."""
        with disk_errors(self.name):
            try:
                return LocalFile(open_beneath(self._root, key.split("/")), self.name)
            except FileNotFoundError:
                raise UnknownError("file", key) from None

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write or replace a file atomically, with the modification time of `file`."""
        *folders, name = key.split("/")
        new = ["incoming", f"change-{uuid.uuid4().hex}", "file"]
        with disk_errors(self.name, key):
            try:
                with os.fdopen(create_beneath(self._root, new), "wb") as written:
                    written.writelines(pieces)
                    written.flush()
                    os.utime(written.fileno(), ns=(file.modified, file.modified))
                    os.fsync(written.fileno())
                with (
                    folder_beneath(self._root, new[:-1]) as source,
                    folder_beneath(self._root, folders, make=True) as target,
                ):
                    os.rename("file", name, src_dir_fd=source, dst_dir_fd=target)
                    os.fsync(target)
            finally:
                with suppress(OSError):
                    (self._root / Path(*new)).unlink()
                prune(self._root / "incoming", "/".join(new[1:]))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove files, and the folders that become empty."""
        with disk_errors(self.name):
            for key in keys:
                *folders, name = key.split("/")
                with suppress(FileNotFoundError), folder_beneath(self._root, folders) as folder:
                    if has_file(folder, name):
                        os.unlink(name, dir_fd=folder)
                        os.fsync(folder)
                if folders:
                    prune(self._root / folders[0], "/".join([*folders[1:], name]))
