"""How files are read while the loop goes on, also from a disk that takes its time.

What lies in memory already is read at once, for a thread costs more than the reading. The rest is
read by threads of their own, so that a slow disk holds up neither the loop nor the database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

READERS: Final = 16
"""Threads. More would not make one disk faster, and of several each has some."""
_POOL: Final = ThreadPoolExecutor(READERS, "disk")
AHEAD: Final = 8 << 20
"""Bytes that the system is asked to fetch once it has to go to the disk."""
_AT_ONCE: Final[int | None] = getattr(os, "RWF_NOWAIT", None)


def is_at_hand(file: int, offset: int, count: int) -> bool:
    """Return whether bytes of a file are in memory, by the last of them.

    Pages come in order, and are dropped in order: where the last is, the others are too, or the
    loop waits for one disk access.
    """
    if _AT_ONCE is None:
        return False
    try:
        return os.preadv(file, [bytearray(1)], offset + count - 1, _AT_ONCE) == 1
    except OSError:  # not in memory, or a file system that cannot tell
        return False


def fetch(file: int, offset: int) -> None:
    """Have the system read ahead; this may take its time."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file, offset, AHEAD, os.POSIX_FADV_WILLNEED)


async def read(file: int, offset: int, count: int) -> bytes:
    """Read bytes of a file; fewer at its end."""
    if is_at_hand(file, offset, count):
        return os.pread(file, count, offset)
    return await in_thread(_fetched, file, offset, count)


def _fetched(file: int, offset: int, count: int) -> bytes:
    fetch(file, offset)
    return os.pread(file, count, offset)


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call something in a thread, and let it end also if nobody waits for it any more.

    Whoever closes the file afterwards must know that no thread still reads it, by a number that
    may be another file's then.
    """
    call = asyncio.get_running_loop().run_in_executor(_POOL, function, *arguments)
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        raise
