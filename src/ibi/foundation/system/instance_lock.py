"""The folder of a running instance: held by one process, which says there where it answers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ibi.errors import InstanceHeldError
from ibi.foundation.system.safe_open import storage_error

_LOCK: Final = "lock"
_SERVING: Final = "serving"
_TOKEN: Final = "token"  # noqa: S105  # the name of a file


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder; InstanceHeldError if another process does."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
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
    """Tell whether a process holds the folder."""
    try:
        with held(folder):
            return False
    except InstanceHeldError:
        return True


@contextmanager
def serving(folder: Path, address: str) -> Iterator[None]:
    """Say where the instance answers, for as long as it does."""
    path = folder / _SERVING
    path.write_text(address, encoding="utf-8")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def serving_at(folder: Path) -> str:
    """Return where the instance of a folder answers; empty if none runs."""
    with suppress(OSError):
        return (folder / _SERVING).read_text(encoding="utf-8").strip()
    return ""


def keep_token(folder: Path, secret: str) -> None:
    """Keep the token of those who may read the folder: its owner."""
    path = folder / _TOKEN
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secret + "\n")


def token_of(folder: Path) -> str:
    """Return that token; empty if there is none, or it is not for us."""
    with suppress(OSError):
        return (folder / _TOKEN).read_text(encoding="utf-8").strip()
    return ""
