"""A file on a disk of this machine, open for reading."""

from __future__ import annotations

import os

from ibi.adapters.disk_failure import storage_error


class LocalFile:
    """An open descriptor, with what is known of its file."""

    __slots__ = ("_place", "fd", "modified", "size")

    def __init__(self, fd: int, place: str = "") -> None:
        """Take over a descriptor; the place is named when its disk fails."""
        status = os.fstat(fd)
        self.fd = fd
        self.size = status.st_size
        self.modified = status.st_mtime_ns
        self._place = place

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes of it; fewer at its end."""
        try:
            return os.pread(self.fd, count, offset)
        except OSError as failure:
            raise storage_error(self._place, failure) from failure

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)
