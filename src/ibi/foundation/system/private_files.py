"""Files and folders for their owner alone, whatever the umask of the process was.

Instances hold signing keys, tokens, drafts and items for some readers only. Commands run with a
umask that takes all rights from other users. Databases get their mode explicitly as well, because
programs in Python open them without a command; SQLite gives its journals the mode of the database.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ibi.errors import RequestError, shown

UMASK: Final = 0o077
"""The rights of other users, which are taken from all files that a command creates."""
_FILE: Final = 0o600
_FOLDER: Final = 0o700
_OTHERS_WRITE: Final = 0o022
_GROUP_WRITES: Final = 0o020
_JOURNALS: Final = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of a database for the names of its files."""


@contextmanager
def private_umask() -> Iterator[None]:
    """Create files for their owner alone in this block, in all threads of the process."""
    before = os.umask(UMASK)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def public_umask() -> Iterator[None]:
    """Create files that all users may read in this block: texts without data of an instance."""
    before = os.umask(_OTHERS_WRITE)
    try:
        yield
    finally:
        os.umask(before)


def create_private(path: Path) -> None:
    """Create an empty file for its owner alone, unless it exists.

    No descriptor is opened: closing one would release the locks that SQLite holds on the file by
    other connections of the same process.
    """
    try:
        os.mknod(path, _FILE | stat.S_IFREG)
    except FileExistsError:
        return
    path.chmod(_FILE)  # an unusual umask may have taken rights of the owner


def close_database(path: Path) -> None:
    """Take the rights of other users from a database and its journals; PermissionError if it fails.

    A group that may write keeps its rights: an administrator gave them to users who share a ledger.
    """
    for suffix in _JOURNALS:
        file = Path(f"{path}{suffix}")
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(file.stat().st_mode)
            closed = mode & (~0o007 if mode & _GROUP_WRITES else ~UMASK)
            if closed != mode:
                file.chmod(closed)


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone; an existing one is closed to other users."""
    folder.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
    if _mode_of(folder) & UMASK:
        folder.chmod(_FOLDER)


def close_folder(folder: Path, mark: str) -> None:
    """Take the rights of other users from a folder that is empty, or has the file `mark`.

    Any other folder that is open to others is refused: it may be the home of a user, or /tmp.
    """
    if _mode_of(folder) & UMASK:
        _close(folder, (mark,), "open to other users")


def close_writable(folder: Path, marks: Sequence[str]) -> None:
    """Do the same with a folder that others may write to, and in which only subfolders are private.

    In a folder like /tmp, users cannot replace the subfolders of others.
    """
    mode = _mode_of(folder)
    if mode & _OTHERS_WRITE and not mode & stat.S_ISVTX:
        _close(folder, marks, "writable for other users")


def _mode_of(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def _close(folder: Path, marks: Sequence[str], state: str) -> None:
    is_own = any((folder / mark).exists() for mark in marks) or not any(folder.iterdir())
    place = shown(str(folder))
    if not is_own or _mode_of(folder) & stat.S_ISVTX:
        msg = f"{place} is {state}, and has other files: name a new folder, or chmod 700 it."
        raise RequestError(msg)
    was_writable = bool(_mode_of(folder) & _OTHERS_WRITE)
    if was_writable:
        refuse_planted(folder)
    try:
        folder.chmod(_FOLDER)
    except PermissionError:
        msg = f"{place} is {state}, and belongs to another user: name a folder of your own."
        raise RequestError(msg) from None
    if was_writable:
        refuse_planted(folder)  # what was made meanwhile


def refuse_planted(folder: Path) -> None:
    """Raise RequestError if another user has made a file in a folder that others could write to.

    That user may have the file open, and would read in it whatever an instance writes there.
    """
    user = os.geteuid()
    planted = [each.name for each in folder.iterdir() if each.lstat().st_uid != user]
    if planted:
        place, names = shown(str(folder)), ", ".join(shown(each) for each in sorted(planted)[:3])
        msg = f"{place} was writable for other users, who made {names} in it: name a new folder."
        raise RequestError(msg)
