"""The folder of an instance: the process that serves it locks it, and writes its address there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ibi.errors import InstanceHeldError, StorageFullError
from ibi.foundation.system.private_files import close_folder, create_private
from ibi.foundation.system.safe_open import storage_error

_LOCK: Final = "lock"
_SERVING: Final = "serving"
TOKEN_FILE: Final = "token"  # noqa: S105  # the name of a file
"""The file with the token for commands on this machine."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Close the folder to other users, and lock it.

    Raises InstanceHeldError if another process has locked it, and RequestError if it is open to
    others and cannot be closed.
    """
    try:
        close_folder(folder, _LOCK)
    except OSError as failure:
        raise storage_error(str(folder), failure) from failure
    with _locked(folder):
        yield


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as failure:
        raise storage_error(str(folder), failure) from failure
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where = serving_at(folder)
            msg = f"{folder} is served already{f' at {where}' if where else ''}: stop that first."
            raise InstanceHeldError(msg) from None
        (folder / _SERVING).unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)


def is_held(folder: Path) -> bool:
    """Return whether a process has locked the folder."""
    try:
        with _locked(folder):
            return False
    except InstanceHeldError:
        return True


@contextmanager
def serving(folder: Path, address: str) -> Iterator[None]:
    """Write the address of the instance into its folder, as long as it is served."""
    path = folder / _SERVING
    try:
        create_private(path)
        path.write_text(address, encoding="utf-8")
    except OSError as failure:
        # On a full disk it serves nevertheless; commands have to name its address.
        if not isinstance(storage_error(str(folder), failure), StorageFullError):
            raise
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def serving_at(folder: Path) -> str:
    """Return the address of the instance of a folder; empty if none is running."""
    with suppress(OSError):
        return (folder / _SERVING).read_text(encoding="utf-8").strip()
    return ""


def keep_token(folder: Path, secret: str) -> None:
    """Write the token into a file that only the owner of the folder can read."""
    path = folder / TOKEN_FILE
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secret + "\n")


def token_of(folder: Path) -> str:
    """Return the token in the folder; empty if there is none, or it is not readable."""
    with suppress(OSError):
        return (folder / TOKEN_FILE).read_text(encoding="utf-8").strip()
    return ""
