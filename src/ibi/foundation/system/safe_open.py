"""Safe opening of files beneath a folder: no link is followed, whatever is in the tree.

A path is walked one name at a time, each looked up in the folder that was opened before, and no
link is followed: what is checked is what is opened, even while another process replaces folders by
links. A link, a device or a pipe in the tree counts as absent.

A second hard link of a file is not refused: backups by `rsync --link-dest` or `cp -al` consist of
them, and a process that can make one in the tree can write to the tree. Nothing is ever written
through one, because a file is only written when it is new.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ibi.errors import FileNameError, StorageError, StorageFullError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def storage_error(place: str, failure: OSError) -> StorageError:
    """Return the error of this library for a failure at a place."""
    kind = StorageFullError if failure.errno in _FULL else StorageError
    return kind(place, (failure.strerror or str(failure)).lower())


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe would wait for its other end; opening a terminal might make it the controlling one.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_IN_THE_WAY: Final = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.ENODEV}
"""The errors of opening a link, a device, or a file in the place of a folder."""


@contextmanager
def storage_errors(place: Path) -> Iterator[None]:
    """Convert errors of the disk into errors of this library.

    FileExistsError and FileNotFoundError are not failures of the disk and pass unchanged.
    """
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as failure:
        raise storage_error(str(place), failure) from failure


def open_beneath(root: Path, parts: Sequence[str]) -> int:
    """Open a regular file for reading; FileNotFoundError if there is none."""
    name = _checked(parts)
    with storage_errors(root), folder_beneath(root, parts[:-1]) as folder:
        try:
            file = os.open(name, _READ, dir_fd=folder)
        except OSError as failure:
            if failure.errno in _IN_THE_WAY:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from None
            raise
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return file


def create_beneath(root: Path, parts: Sequence[str]) -> int:
    """Create a new file and its folders, and open it for writing; FileExistsError if it exists.

    A file or a link in the place of a folder is a FileExistsError too.
    """
    name = _checked(parts)
    with storage_errors(root), folder_beneath(root, parts[:-1], make=True) as folder:
        return os.open(name, _NEW, 0o600, dir_fd=folder)


def has_file(folder: int, name: str) -> bool:
    """Return whether a regular file, not a link to one, is in an open folder."""
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def fsync_folder(path: Path) -> None:
    """Wait until the names in a folder are durable."""
    with storage_errors(path):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def rename_durably(source: Path, target: Path) -> None:
    """Rename a file or folder atomically, and wait until that is durable.

    Its content must be durable already. An existing file at the target is replaced.
    """
    with storage_errors(target):
        source.replace(target)
    fsync_folder(target.parent)
    if source.parent != target.parent:
        fsync_folder(source.parent)


def _checked(parts: Sequence[str]) -> str:
    """Return the last part; raise if a part would lead out of the folder.

    `check_path` has already checked paths from outside: this is a second defence.
    """
    for part in parts:
        if part in {"", ".", ".."} or "/" in part or "\0" in part:
            raise FileNameError(part, "it is not a name")
    if not parts:
        raise FileNameError("", "it is empty")
    return parts[-1]


@contextmanager
def folder_beneath(
    root: Path, parts: Sequence[str], *, make: bool = False, lasting: int = 0
) -> Iterator[int]:
    """Open a folder beneath a root, which itself may be a link: its administrator chose it.

    `make` creates missing folders, durably; the first `lasting` ones are known to be durable.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, part in enumerate(parts):
            inner = _inner(folder, part, make=make and number >= lasting)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _inner(folder: int, part: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, 0o700, dir_fd=folder)
        # Even if it existed: a crash may have happened between its creation and this.
        os.fsync(folder)
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except OSError as failure:
        if failure.errno not in _IN_THE_WAY:
            raise
        if make:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), part) from None
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), part) from None
