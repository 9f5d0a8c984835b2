"""The folder of an instance: the process that serves it locks it, and writes its address there."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
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
WORKERS_END_SECONDS: Final = 60.0
"""Seconds in which workers must end whose supervisor was killed."""
_POLL_SECONDS: Final = 0.05
"""Seconds between two attempts to take the lock."""


@contextmanager
def held(folder: Path, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Close the folder to other users, and lock it.

    Raises InstanceHeldError if another process has locked it, and RequestError if it is open to
    others and cannot be closed. Workers keep their part of the lock if their supervisor is killed,
    and end soon after. If `on_wait` is given, it is called with a sentence for people, and the end
    of such workers is awaited.
    """
    try:
        close_folder(folder, _LOCK)
    except OSError as failure:
        raise storage_error(str(folder), failure) from failure
    with _lock_file(folder) as descriptor:
        # Of this process alone: unlike the other lock, forked workers do not inherit it.
        if not _is_taken(fcntl.lockf, descriptor):
            raise _held_error(folder)
        if not _is_taken(fcntl.flock, descriptor):
            _await_workers(folder, descriptor, on_wait)
        (folder / _SERVING).unlink(missing_ok=True)
        yield


def _await_workers(folder: Path, descriptor: int, on_wait: Callable[[str], None] | None) -> None:
    """Take the lock when the workers of a killed supervisor have ended."""
    if on_wait is None:
        raise _held_error(folder)
    on_wait(f"Waiting for workers to end, whose supervisor was killed: they still use {folder}.")
    latest = time.monotonic() + WORKERS_END_SECONDS
    while not _is_taken(fcntl.flock, descriptor):
        if time.monotonic() > latest:
            msg = f"Workers whose supervisor was killed still use {folder}: end them first."
            raise InstanceHeldError(msg)
        time.sleep(_POLL_SECONDS)


@contextmanager
def _lock_file(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as failure:
        raise storage_error(str(folder), failure) from failure
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_taken(lock: Callable[[int, int], None], descriptor: int) -> bool:
    """Take a lock, unless another process has it; return whether it was taken."""
    try:
        lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _held_error(folder: Path) -> InstanceHeldError:
    where = serving_at(folder)
    place = f" at {where}" if where else ""
    return InstanceHeldError(f"{folder} is served already{place}: stop that first.")


def is_held(folder: Path) -> bool:
    """Return whether a process has locked the folder."""
    with _lock_file(folder) as descriptor:
        return not _is_taken(fcntl.flock, descriptor)


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
    with suppress(OSError, UnicodeDecodeError):
        return (folder / TOKEN_FILE).read_text(encoding="utf-8").strip()
    return ""
