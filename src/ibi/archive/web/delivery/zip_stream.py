"""Files as one ZIP file that is written while it is sent.

Only the piece that is sent and the directory of the files so far are in memory, and nothing is on a
disk. Files are stored as they are: most large ones are compressed already, and compression would
cost more time of the processor than everything else that a reader asks for. Sizes and checksums
follow each file (APPNOTE 4.3.9), and those of more than 4 GiB have the fields of ZIP64.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from ibi.archive.ports.file_store import OpenFile
from ibi.archive.rules.file_path import check_path
from ibi.archive.web.delivery import file_chunks
from ibi.model.clock import SECOND
from ibi.model.item import File

MEDIA_TYPE: Final = "application/zip"
_SEND_FROM: Final = 65_536
"""Bytes that are collected before they are sent, so that small files do not cost a packet each."""
_FIRST_YEAR, _LAST_YEAR = 1980, 2107
"""The years that a date in a ZIP file can have (APPNOTE 4.4.6)."""
_REGULAR: Final = 0o100644 << 16
"""The mode of a file that its owner may change and everybody may read, as Unix has it."""


class _Outbox:
    """Takes what `zipfile` writes, until it is sent. It cannot seek, and `zipfile` sees that."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def write(self, piece: bytes) -> int:
        """Append bytes."""
        self._pieces.append(bytes(piece))
        self.size += len(piece)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: everything is in memory."""

    def close(self) -> None:
        """Do nothing: what was written is still to be sent."""

    def take(self) -> bytes:
        """Return all bytes so far, and forget them."""
        taken, self._pieces, self.size = b"".join(self._pieces), [], 0
        return taken


async def zipped(
    files: AsyncGenerator[File, None], open_file: Callable[[File], Awaitable[OpenFile]]
) -> AsyncGenerator[bytes, None]:
    """Yield a ZIP file of files, each under its path."""
    outbox = _Outbox()
    with ZipFile(outbox, "w", ZIP_STORED) as written:
        async with aclosing(files):
            async for file in files:
                opened = await open_file(file)
                try:
                    pieces = file_chunks.pieces(opened, 0, opened.size)
                    with written.open(_entry(file, opened.size), "w") as entry:
                        async with aclosing(pieces):
                            async for piece in pieces:
                                entry.write(piece)
                                if outbox.size >= _SEND_FROM:
                                    yield outbox.take()
                finally:
                    opened.close()
    yield outbox.take()


def _entry(file: File, size: int) -> ZipInfo:
    """Return the head of a file. No program that unpacks it gets a name that no file can have."""
    entry = ZipInfo(check_path(file.path), _date(file.modified))
    entry.file_size = size  # decides whether it needs ZIP64
    entry.external_attr = _REGULAR
    return entry


def _date(modified: int) -> tuple[int, int, int, int, int, int]:
    """Return a time in UTC; the first or the last one, if a ZIP file cannot have it."""
    at = datetime.fromtimestamp(modified // SECOND, UTC)
    if at.year < _FIRST_YEAR:
        return _FIRST_YEAR, 1, 1, 0, 0, 0
    if at.year > _LAST_YEAR:
        return _LAST_YEAR, 12, 31, 23, 59, 58
    return at.year, at.month, at.day, at.hour, at.minute, at.second
