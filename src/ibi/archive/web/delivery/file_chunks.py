"""Reads a file in pieces without blocking the event loop.

A file of a local disk is read as `slow_disk` describes. A file of an object store comes over the
network in larger pieces, each requested while the one before is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

from ibi.archive.ports.file_store import OpenFile
from ibi.foundation.web import blocking_read

T = TypeVar("T")

PIECE: Final = 65_536
"""Bytes read at once from a disk where the system cannot send the file itself."""
FAR_PIECE: Final = 4 << 20
"""Bytes of one request to an object store, while few clients read."""
ROOM: Final = 32 << 20
"""Bytes of such pieces for all clients: a slow client keeps its pieces in memory."""
_FAR: Final = ThreadPoolExecutor(64, "store")
"""Threads that only wait for the network."""


class _FarReaders:
    """The number of current reads from an object store."""

    def __init__(self) -> None:
        self._count = 0

    @property
    def piece(self) -> int:
        """The bytes that each of them may request at once."""
        return max(PIECE, min(FAR_PIECE, ROOM // max(1, self._count)))

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count one more read during the block."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1


_READERS: Final = _FarReaders()


async def afar(function: Callable[..., T], *arguments: object) -> T:
    """Call a function that waits for an object store, in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_FAR, function, *arguments)


async def read(file: OpenFile, offset: int, count: int) -> bytes:
    """Return `count` bytes of a file, fewer at its end."""
    if file.fd is not None:
        return await blocking_read.read(file.fd, offset, count)
    return await afar(file.read, offset, count)


async def read_all(file: OpenFile, start: int, stop: int) -> bytes:
    """Return the bytes from `start` to `stop`, which must be few enough for one piece."""
    body = b""
    while len(body) < stop - start:
        body += _some(await read(file, start + len(body), stop - start - len(body)))
    return body


def pieces(file: OpenFile, start: int, stop: int) -> AsyncGenerator[bytes, None]:
    """Yield the bytes from `start` to `stop`."""
    return _near(file, start, stop) if file.fd is not None else _far(file, start, stop)


async def _near(file: OpenFile, at: int, stop: int) -> AsyncGenerator[bytes, None]:
    while at < stop:
        body = _some(await read(file, at, min(PIECE, stop - at)))
        at += len(body)
        yield body


async def _far(file: OpenFile, at: int, stop: int) -> AsyncGenerator[bytes, None]:
    coming: asyncio.Future[bytes] | None = None
    with _READERS.one_more():
        try:
            while at < stop:
                body = _some(await (coming or _asked(file, at, stop)))
                at += len(body)
                coming = _asked(file, at, stop) if at < stop else None
                yield body
        finally:
            if coming is not None:
                coming.cancel()


def _asked(file: OpenFile, at: int, stop: int) -> asyncio.Future[bytes]:
    return asyncio.ensure_future(read(file, at, min(_READERS.piece, stop - at)))


def _some(body: bytes) -> bytes:
    if not body:
        msg = "The file is shorter than it was."
        raise RuntimeError(msg)
    return body
