"""The disk: durable writes, checksums, and its errors as errors of this library."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import finalize

from ibi.errors import FileNameError, StorageFullError
from ibi.foundation.system.safe_open import (
    folder_beneath,
    fsync_folder,
    rename_durably,
    storage_error,
)

_PIECE: Final = 1 << 20
_SMALL_CHANGE: Final = 1 << 20
"""Bytes that a change of some rows takes at most, with the logs of its databases."""


@dataclass(eq=False, slots=True)
class Checksums:
    """Checksums of the data so far."""

    size: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)
    sha512: Any = field(default_factory=hashlib.sha512)

    def update(self, data: bytes) -> None:
        """Add data."""
        self.size += len(data)
        self.sha256.update(data)
        self.sha512.update(data)


def checksums_of(path: Path, report: Callable[[int], None] = lambda _: None) -> Checksums:
    """Return the checksums of a file; `report` gets the size of each piece that was read."""
    sums = Checksums()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            sums.update(piece)
            report(len(piece))
    return sums


_SYNC: Final = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


class Disk:
    """The file system of a folder."""

    def __init__(self, folder: Path) -> None:
        """Open the folder, which must be done before anything is written."""
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        finalize(self, os.close, self._descriptor)

    def sync(self) -> None:
        """Wait until all data written to it is durable; OSError if some could not be written."""
        if _SYNC is None:
            os.sync()
        elif _SYNC(self._descriptor):
            failure = ctypes.get_errno()
            raise OSError(failure, os.strerror(failure))


A_FOLDER_IS_THERE: Final = "a folder of that name is there"
A_FILE_IS_THERE: Final = "a file lies where it needs a folder"

_BAD_NAME: Final = {
    errno.ENAMETOOLONG: "it is too long",
    errno.ENOTDIR: A_FILE_IS_THERE,
    errno.EEXIST: A_FILE_IS_THERE,
    errno.EISDIR: A_FOLDER_IS_THERE,
    errno.EILSEQ: "the file system refuses it",
}

_NOT_EMPTY: Final = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR}
"""The errors of removing a folder that is not empty, is gone, or became a file."""


@contextmanager
def disk_errors(place: str, path: str = "") -> Iterator[None]:
    """Convert errors of the disk into errors of this library."""
    try:
        yield
    except OSError as failure:
        if path and failure.errno in _BAD_NAME:
            raise FileNameError(path, _BAD_NAME[failure.errno]) from failure
        raise storage_error(place, failure) from failure


@dataclass(frozen=True, slots=True)
class Room:
    """The room on a disk, in bytes."""

    total: int
    free: int
    """What this user may still write."""

    @property
    def used(self) -> int:
        """What is taken, by whatever it is."""
        return self.total - self.free


def room_of(folder: Path) -> Room:
    """Return the room on the disk of a folder; StorageError if it cannot be read."""
    with disk_errors(str(folder)):
        found = shutil.disk_usage(folder)
    return Room(found.total, found.free)


def check_room(*folders: Path) -> None:
    """Raise StorageFullError if a disk has no room for a small change."""
    for folder in folders:
        with disk_errors(str(folder)):
            free = shutil.disk_usage(folder).free
        if free < _SMALL_CHANGE:
            raise StorageFullError(str(folder), "the disk is full")


def write_durably(path: Path, content: bytes) -> None:
    """Write a file durably; its name is durable only once its folder is synced."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_durably(path: Path, content: bytes) -> None:
    """Write a file atomically and durably, replacing an existing one."""
    new = path.with_name(f"{path.name}.new")
    write_durably(new, content)
    rename_durably(new, path)


def prune(root: Path, path: str) -> None:
    """Remove the folders that the removal of a file leaves empty."""
    folders = path.split("/")[:-1]
    while folders:
        try:
            with folder_beneath(root, folders[:-1]) as above:
                os.rmdir(folders.pop(), dir_fd=above)
        except OSError as failure:
            if failure.errno in _NOT_EMPTY:
                return
            raise


def fsync_nearest(path: Path, root: Path) -> None:
    """Make the removal of a path durable: sync the nearest folder above it that still exists."""
    folder = path.parent
    while folder != root and not folder.is_dir():
        folder = folder.parent
    if folder.is_dir():
        fsync_folder(folder)


def fsync_up(folder: Path, root: Path) -> None:
    """Sync a folder, and each one above it up to a root."""
    while folder != root.parent:
        fsync_folder(folder)
        folder = folder.parent
