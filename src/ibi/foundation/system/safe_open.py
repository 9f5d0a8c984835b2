"""Files strictly beneath a folder, whatever somebody has put in the way.

A path is walked one name at a time, each looked up in the folder that the last one opened, and no
link is followed: what is checked is what is opened, also while another process swaps folders for
links. A link, a device or a pipe in the tree counts as not there.

A second hard link of a file is not refused: backups by `rsync --link-dest` or `cp -al` are made of
them, and whoever can make one in the tree can write to the tree. Nothing is ever written through
one, because a file is only written when it is new.
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
    """Say what failed at a place."""
    kind = StorageFullError if failure.errno in _FULL else StorageError
    return kind(place, (failure.strerror or str(failure)).lower())


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# To open a pipe would wait for its other end, to open a terminal might make it ours.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_IN_THE_WAY: Final = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.ENODEV}
"""What a link, a device or a file where a folder should be is reported as."""


@contextmanager
def storage_errors(place: Path) -> Iterator[None]:
    """Turn what the disk reports into errors of ours.

    That a file is there, or is not, is no failure of the disk: FileExistsError and
    FileNotFoundError pass.
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
    """Make a new file and its folders, and open it for writing; FileExistsError if it is there.

    So it is too if a file or a link stands where a folder should be.
    """
    name = _checked(parts)
    with storage_errors(root), folder_beneath(root, parts[:-1], make=True) as folder:
        return os.open(name, _NEW, 0o644, dir_fd=folder)


def has_file(folder: int, name: str) -> bool:
    """Tell whether a regular file, and no link to one, lies in an open folder."""
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def fsync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    with storage_errors(path):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def rename_durably(source: Path, target: Path) -> None:
    """Give a file or folder another name at once, and wait until that is on the disk.

    What is in it must be there already. A file in the place of the target is replaced.
    """
    with storage_errors(target):
        source.replace(target)
    fsync_folder(target.parent)
    if source.parent != target.parent:
        fsync_folder(source.parent)


def _checked(parts: Sequence[str]) -> str:
    """Return the last part; refuse all that would lead elsewhere.

    `check_path` has been here before for whatever comes from outside: this is the second lock.
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
    """Walk down from a root, which itself may be a link: its administrator chose it.

    `make` makes the folders that are not there, durably; so many of the first are known to last.
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
            os.mkdir(part, 0o755, dir_fd=folder)
        # Even if it was there: a crash may have come between making it and this.
        os.fsync(folder)
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except OSError as failure:
        if failure.errno not in _IN_THE_WAY:
            raise
        if make:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), part) from None
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), part) from None
