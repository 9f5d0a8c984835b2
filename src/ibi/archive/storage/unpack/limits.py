"""Limits of unpacking a zip or tar file, so that a small one cannot fill the disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from ibi.archive.rules.file_path import FilePaths, check_path
from ibi.errors import FileNameError, Sentence, UnpackError, shown

PIECE: Final = 1 << 20
"""Bytes that are in memory at once."""


class FileSink(Protocol):
    """Receives the bytes of one file."""

    def write(self, piece: bytes, /) -> object:
        """Append bytes."""


Write = Callable[[str], AbstractContextManager[FileSink]]
"""Opens a new file by its path; it is discarded if the block ends by an exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits:
    """How much may come out of one zip or tar file."""

    entries: int = 50_000
    """Files and folders, with the folders that have no entry of their own."""
    names: int = 16 << 20
    """Bytes of all paths, which are kept in memory during the unpacking."""
    total: int = 64 << 30
    """Bytes of all files."""
    file: int = 64 << 30
    """Bytes of one file."""
    ratio: int = 200
    """Multiple of its own size. Texts and rasters rarely exceed 20, bombs begin at 1,000."""
    exempt: int = 64 << 20
    """Bytes up to which the ratio is not checked: a small file of zeros is no bomb."""


class Unpacking:
    """One file being unpacked, and the counts of its entries and bytes so far."""

    def __init__(self, write: Write, limits: UnpackLimits, size: int) -> None:
        """Begin to unpack a file of `size` bytes."""
        self._write = write
        self.limits = limits
        self.size = size
        self._allowed = min(limits.total, max(limits.exempt, limits.ratio * size))
        self._paths = FilePaths()
        self._entries = 0
        self._names = 0
        self._length = 0
        self._total = 0
        self.files: list[str] = []

    def count(self, entries: int) -> None:
        """Count entries before they are processed."""
        self._entries += entries
        self._check_entries(self._entries)

    def _check_entries(self, count: int) -> None:
        if count > self.limits.entries:
            msg = Sentence(
                "There are more than %(entries)s files and folders in it.",
                entries=f"{self.limits.entries:,}",
            )
            raise UnpackError(msg)

    def path(self, name: str) -> str:
        """Return the path of an entry; empty for the top folder."""
        self._length += len(name)
        if self._length > self.limits.names:
            msg = Sentence(
                "The paths in it are longer than %(names)s bytes.", names=f"{self.limits.names:,}"
            )
            raise UnpackError(msg)
        path = name.removeprefix("./").removesuffix("/")
        try:
            return check_path(path) if path not in {"", "."} else ""
        except FileNameError as fault:
            raise entry_error(name, fault.reason) from None

    def check_size(self, name: str, size: int) -> None:
        """Raise UnpackError if the declared size of a file is too large."""
        if size > self.limits.file:
            raise entry_error(
                name, Sentence("it is larger than %(file)s bytes", file=f"{self.limits.file:,}")
            )
        self._check_total(self._total + size)

    def new_file(self, name: str, path: str) -> AbstractContextManager[FileSink]:
        """Open the file of an entry for writing."""
        if not path:
            raise entry_error(name, Sentence("it has no name"))
        if (other := self._paths.clash(path)) is not None:
            raise entry_error(
                name, Sentence("not every file system tells it from %(other)s", other=shown(other))
            )
        new = self._paths.add(path)
        if not new:
            raise entry_error(name, Sentence("it is there twice"))
        self._names += new
        self._check_entries(self._names)
        self.files.append(path)
        return self._write(path)

    def came_out(self, count: int) -> None:
        """Count unpacked bytes, those of files and of headers."""
        self._total += count
        self._check_total(self._total)

    def _check_total(self, total: int) -> None:
        if total > self._allowed:
            msg = Sentence(
                "More than %(allowed)s bytes come out of it, which is too much for it.",
                allowed=f"{self._allowed:,}",
            )
            raise UnpackError(msg)


def entry_error(name: str, reason: str) -> UnpackError:
    """Return an error that names an entry and the reason."""
    return UnpackError(
        Sentence(
            "Its entry %(name)s cannot be unpacked: %(reason)s.", name=shown(name), reason=reason
        )
    )
