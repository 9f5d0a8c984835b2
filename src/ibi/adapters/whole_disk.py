"""A disk synced as a whole: a hundred thousand small files are durable by one wait, not by as many.

Python has no name for this call of Linux. It tells of every write that failed since the disk was
opened (Linux 5.8), where a sync of all disks would keep silent.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final
from weakref import finalize

_SYNC: Final = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


class Disk:
    """The disk that a folder lies on."""

    def __init__(self, folder: Path) -> None:
        """Open it, before anything is written."""
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        finalize(self, os.close, self._descriptor)

    def sync(self) -> None:
        """Wait until all that was written to it is there; OSError if something could not be."""
        if _SYNC is None:
            os.sync()
        elif _SYNC(self._descriptor):
            failure = ctypes.get_errno()
            raise OSError(failure, os.strerror(failure))
