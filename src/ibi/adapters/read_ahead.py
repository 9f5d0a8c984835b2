"""Bytes that are read by a thread of their own while those before them are written.

obstore waits for what it sends within its own event loop, where it cannot be asked for anything
else: what comes from an object store must be fetched outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Final

_AHEAD: Final = 2
"""Pieces."""
_LOOK: Final = 0.5
"""Seconds after which each side sees whether the other is still there."""


def read_ahead(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same pieces; a failure of whoever yields them is raised here."""
    queue: Queue[bytes | BaseException | None] = Queue(_AHEAD)
    unwanted = Event()
    reader = Thread(target=_read, args=(pieces, queue, unwanted), name="read-ahead", daemon=True)
    reader.start()
    try:
        while (piece := _next(queue, reader)) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        unwanted.set()


def _next(
    queue: Queue[bytes | BaseException | None], reader: Thread
) -> bytes | BaseException | None:
    while True:
        try:
            return queue.get(timeout=_LOOK)
        except Empty:
            if not reader.is_alive() and queue.empty():
                raise RuntimeError("Whoever reads ahead is gone.") from None


def _read(
    pieces: Iterator[bytes], queue: Queue[bytes | BaseException | None], unwanted: Event
) -> None:
    try:
        for piece in pieces:
            if not _put(queue, piece, unwanted):
                return
        _put(queue, None, unwanted)
    except BaseException as failure:  # noqa: BLE001  # it is raised where the pieces are wanted
        _put(queue, failure, unwanted)


def _put(
    queue: Queue[bytes | BaseException | None],
    piece: bytes | BaseException | None,
    unwanted: Event,
) -> bool:
    while not unwanted.is_set():
        try:
            queue.put(piece, timeout=_LOOK)
        except Full:
            continue
        return True
    return False
