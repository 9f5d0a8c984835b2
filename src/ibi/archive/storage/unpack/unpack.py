"""Unpacks the zip and tar files of a deposit within limits.

Files are written as they are read; the caller keeps them apart until the unpacking has ended
without an error. Any doubt is an error, because a wrongly unpacked deposit would be kept for ever.

All files are kept, also those that macOS adds (`__MACOSX`, `.DS_Store`): an archive does not choose
among the files of a depositor. Empty folders are dropped, because an item consists of files.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from ibi.archive.storage.unpack.limits import FileSink, Unpacking, UnpackLimits, Write
from ibi.archive.storage.unpack.tar import Stream, is_header, unpack_tar
from ibi.archive.storage.unpack.zip import SIGNATURES, unpack_zip
from ibi.errors import Sentence, UnpackError

__all__ = ["FileSink", "UnpackLimits", "Write", "unpack"]


def unpack(source: BinaryIO | Path, write: Write, limits: UnpackLimits | None = None) -> list[str]:
    """Write every file of a zip or tar file; return their paths, in its order.

    A tar file may be compressed by gzip, bzip2 or xz. The format is recognized by the content.
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
        # Unlike a zip file, a tar file has no directory, and writing and removing a file takes a
        # thousand times as long as reading its header: so it is checked to its end first.
        unpack_tar(source, Unpacking(_nowhere, limits, size))
        unpack_tar(source, unpacking)
    else:
        msg = Sentence("It is neither a zip nor a tar file.")
        raise UnpackError(msg)
    return unpacking.files


class _Nothing:
    """Discards the bytes of a file."""

    def write(self, piece: bytes, /) -> None:
        """Discard bytes."""


def _nowhere(_: str) -> AbstractContextManager[FileSink]:
    return nullcontext(_Nothing())
