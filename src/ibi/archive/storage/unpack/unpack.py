"""Zip and tar files that come with a deposit, taken apart within bounds.

What is in one is written file by file as it comes; whoever calls puts it aside until all is
well. Any doubt ends it: a deposit that was taken apart wrongly would be kept so for ever.

Everything that is in it is kept, also what macOS adds (`__MACOSX`, `.DS_Store`): an archive does
not judge. Empty folders are not, because an item has files.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from ibi.archive.storage.unpack.limits import FileSink, Unpacking, UnpackLimits, Write
from ibi.archive.storage.unpack.tar import Stream, is_header, unpack_tar
from ibi.archive.storage.unpack.zip import SIGNATURES, unpack_zip
from ibi.errors import UnpackError

__all__ = ["FileSink", "UnpackLimits", "Write", "unpack"]


def unpack(source: BinaryIO | Path, write: Write, limits: UnpackLimits | None = None) -> list[str]:
    """Write every file of a zip or tar file; return their paths, in its order.

    A tar file may be compressed by gzip, bzip2 or xz. What the source is, its bytes say.
    """
    if isinstance(source, Path):
        with source.open("rb") as file:
            return unpack(file, write, limits)
    size = source.seek(0, 2)
    source.seek(0)
    limits = limits or UnpackLimits()
    unpacking = Unpacking(write, limits, size)
    if source.read(4) in SIGNATURES:
        unpack_zip(source, size, unpacking)
    elif is_header(Stream(source).read(512)):
        # Unlike a zip file it has no list of what is in it, and to write and remove a file takes
        # a thousand times as long as to read its header: it is read to its end first.
        unpack_tar(source, Unpacking(_nowhere, limits, size))
        unpack_tar(source, unpacking)
    else:
        msg = "It is neither a zip nor a tar file."
        raise UnpackError(msg)
    return unpacking.files


class _Nothing:
    """Forgets what it is given."""

    def write(self, piece: bytes, /) -> None:
        """Take it."""


def _nowhere(_: str) -> AbstractContextManager[FileSink]:
    return nullcontext(_Nothing())
