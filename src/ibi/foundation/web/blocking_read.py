"""Reads of files that do not block the event loop, also from a slow disk.

Bytes in the page cache are read at once, because a thread costs more than the read. The rest is
read by threads of its own, so that a slow disk delays neither the event loop nor the database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

READERS: Final = 16
"""Threads that read. More would not make one disk faster, and several disks share them."""
_POOL: Final = ThreadPoolExecutor(READERS, "disk")
AHEAD: Final = 8 << 20
"""Bytes that the system is asked to read ahead once it has to read from the disk."""
_AT_ONCE: Final[int | None] = getattr(os, "RWF_NOWAIT", None)


def is_at_hand(file: int, offset: int, count: int) -> bool:
    """Return whether bytes of a file are in memory, judging by the last of them.

    Pages come in order, and are dropped in order: if the last is in memory, the others are too, or
    the event loop waits for one disk access.
    """
    if _AT_ONCE is None:
        return False
    try:
        return os.preadv(file, [bytearray(1)], offset + count - 1, _AT_ONCE) == 1
    except OSError:  # not in memory, or not supported by the file system
        return False


def fetch(file: int, offset: int) -> None:
    """Ask the system to read ahead; this may block."""
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
    """Call a function in a thread; it runs to its end even if the caller is cancelled.

    The caller closes the file afterwards, when no thread may still read it: by then its descriptor
    may be that of another file.
    """
    call = asyncio.get_running_loop().run_in_executor(_POOL, function, *arguments)
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        raise
