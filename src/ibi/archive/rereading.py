"""Files read again from the disk, whole, to see what they are by now."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ibi.archive.fixity import Found
from ibi.ports import OpenFile, pieces_of

PIECE: Final = 1 << 20
_WORTH_A_THREAD: Final = 1 << 18
"""Bytes from which on it is quicker to compute both checksums at once."""

Tell = Callable[[int], None]
"""Is told of each piece how many bytes it has; what it raises ends the reading."""


class Rereading:
    """Computes what files are; one thread reads, another helps it."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._helper = ThreadPoolExecutor(1, "ibi-checksums")

    def found(self, opened: OpenFile, tell: Tell) -> Found:
        """Read an open file to its end, and close it; StorageError if the disk does not let us."""
        sha256, sha512, size = hashlib.sha256(), hashlib.sha512(), 0
        try:
            for piece in _pieces(opened):
                if len(piece) < _WORTH_A_THREAD:
                    sha256.update(piece)
                    sha512.update(piece)
                else:
                    # Both let go of the interpreter meanwhile.
                    helped = self._helper.submit(sha256.update, piece)
                    sha512.update(piece)
                    helped.result()
                size += len(piece)
                tell(len(piece))
        finally:
            opened.close()
        return Found(size, sha256.hexdigest(), sha512.hexdigest())

    def close(self) -> None:
        """Let the helper go."""
        self._helper.shutdown()


def _pieces(opened: OpenFile) -> Iterator[bytes]:
    """Read from the disk, not from memory, and leave nothing in memory that nobody else reads."""
    _forget(opened, 0, 0)
    at = 0
    for piece in pieces_of(opened, count=PIECE):
        yield piece
        _forget(opened, at, len(piece))
        at += len(piece)


def _forget(opened: OpenFile, offset: int, count: int) -> None:
    if opened.fd is not None and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(opened.fd, offset, count, os.POSIX_FADV_DONTNEED)
