"""What is counted while a zip or tar file is unpacked, so that a small one cannot fill the disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from ibi.archive.rules.file_path import FilePaths, check_path
from ibi.errors import FileNameError, UnpackError, shown

PIECE: Final = 1 << 20
"""Bytes in memory at once."""


class FileSink(Protocol):
    """Where the bytes of one file go."""

    def write(self, piece: bytes, /) -> object:
        """Take some more."""


Write = Callable[[str], AbstractContextManager[FileSink]]
"""Opens a new file by its path; what was written of it is void if the block ends by an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits:
    """How much may come out of one zip or tar file."""

    entries: int = 50_000
    """Files and folders, also those folders that have no entry of their own."""
    names: int = 16 << 20
    """Bytes of all their paths: what is remembered of a file while it is taken apart."""
    total: int = 64 << 30
    """Bytes of all files."""
    file: int = 64 << 30
    """Bytes of one file."""
    ratio: int = 200
    """How many times its own size. Texts and rasters rarely exceed 20, bombs begin at 1,000."""
    exempt: int = 64 << 20
    """Bytes up to which the ratio does not count: a small file of zeros is no bomb."""


class Unpacking:
    """One file being unpacked: what came out of it so far."""

    def __init__(self, write: Write, limits: UnpackLimits, size: int) -> None:
        """Begin with a file of some size."""
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
        """Count entries, before anything is done about them."""
        self._entries += entries
        self._check_entries(self._entries)

    def _check_entries(self, count: int) -> None:
        if count > self.limits.entries:
            msg = f"There are more than {self.limits.entries:,} files and folders in it."
            raise UnpackError(msg)

    def path(self, name: str) -> str:
        """Return the path that an entry goes to; empty for the folder that all goes to."""
        self._length += len(name)
        if self._length > self.limits.names:
            msg = f"The paths in it are longer than {self.limits.names:,} bytes."
            raise UnpackError(msg)
        path = name.removeprefix("./").removesuffix("/")
        try:
            return check_path(path) if path not in {"", "."} else ""
        except FileNameError as fault:
            raise entry_error(name, fault.reason) from None

    def check_size(self, name: str, size: int) -> None:
        """Refuse a file that says itself that it is too large."""
        if size > self.limits.file:
            raise entry_error(name, f"it is larger than {self.limits.file:,} bytes")
        self._check_total(self._total + size)

    def new_file(self, name: str, path: str) -> AbstractContextManager[FileSink]:
        """Open a file for what comes out of an entry."""
        if not path:
            raise entry_error(name, "it has no name")
        if (other := self._paths.clash(path)) is not None:
            raise entry_error(name, f"not every file system tells it from {shown(other)}")
        new = self._paths.add(path)
        if not new:
            raise entry_error(name, "it is there twice")
        self._names += new
        self._check_entries(self._names)
        self.files.append(path)
        return self._write(path)

    def came_out(self, count: int) -> None:
        """Count bytes that came out, whatever they are for."""
        self._total += count
        self._check_total(self._total)

    def _check_total(self, total: int) -> None:
        if total > self._allowed:
            msg = f"More than {self._allowed:,} bytes come out of it, which is too much for it."
            raise UnpackError(msg)


def entry_error(name: str, reason: str) -> UnpackError:
    """Say which entry cannot be taken, and why."""
    return UnpackError(f"Its entry {shown(name)} cannot be taken: {reason}.")
