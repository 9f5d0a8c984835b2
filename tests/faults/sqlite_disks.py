"""Disks that lose power, fail and fill up: SQLite reaches its files through them.

apsw calls these methods in place of SQLite's own; what they do not override, SQLite's own VFS does,
the shared memory of the log included.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import ClassVar, Final, Protocol

import apsw

SECTOR: Final = 512
"""Bytes that a disk writes atomically."""

WORKING, SYNC_FAILS, WRITE_FAILS, DISK_FULL = FAULTS = range(4)


class Switch(Protocol):
    """Selects the fault of a disk."""

    @property
    def fault(self) -> int:
        """One of FAULTS."""
        ...


class FailingDisk(apsw.VFS):
    """A disk that fails with EIO or ENOSPC while a switch says so."""

    _made: ClassVar[dict[str, FailingDisk]] = {}

    def __init__(self, name: str, switch: Switch) -> None:
        self.name = name
        self.switch = switch
        super().__init__(name, "")

    @classmethod
    def named(cls, switch: Switch) -> FailingDisk:
        """Return the one of this process: SQLite keeps it until the process ends."""
        return cls._made.setdefault("failing", cls("failing", switch))

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _FailingFile:  # noqa: N802  # SQLite's name
        """Open a file on this disk."""
        return _FailingFile(self, name, flags)


class _FailingFile(apsw.VFSFile):
    def __init__(
        self, disk: FailingDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        match self._disk.switch.fault:
            case fault if fault == WRITE_FAILS:
                raise apsw.IOError
            case fault if fault == DISK_FULL:
                raise apsw.FullError
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        if self._disk.switch.fault == SYNC_FAILS:
            raise apsw.IOError
        super().xSync(flags)


class FileImage:
    """What a power loss would leave of one file."""

    def __init__(self, data: bytes = b"") -> None:
        self.synced = bytearray(data)
        self.unsynced: list[tuple[int, bytes | None]] = []
        """Writes (offset, data) and truncations (size, None) since the last sync, in order."""

    def sync(self) -> None:
        """Make all writes durable."""
        self.synced = self.survivor(lambda: True)
        self.unsynced = []

    def survivor(self, reaches_the_disk: Callable[[], bool]) -> bytearray:
        """Return the file with those unsynced sectors that reached the disk, in any order."""
        image = bytearray(self.synced)
        for offset, data in self.unsynced:
            if data is None:
                if reaches_the_disk():
                    del image[offset:]
                continue
            for begin in range(offset - offset % SECTOR, offset + len(data), SECTOR):
                if reaches_the_disk():
                    low, high = max(begin, offset), min(begin + SECTOR, offset + len(data))
                    if len(image) < low:
                        image.extend(bytes(low - len(image)))
                    image[low:high] = data[low - offset : high - offset]
        return image


class PowerLossDisk(apsw.VFS):
    """A disk that computes what a power loss would leave of each file."""

    def __init__(self, name: str, watch: Callable[[], None]) -> None:
        """Register with SQLite under a name; `watch` is called before every write and sync."""
        self.name = name
        self.watch = watch
        self.syncs_fail = False
        self.images: dict[str, FileImage] = {}
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _PowerLossFile:  # noqa: N802  # SQLite's name
        """Open a file on this disk."""
        return _PowerLossFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802  # SQLite's name
        """Delete a file; it is durable at once."""
        super().xDelete(filename, syncdir)
        self.images.pop(os.path.abspath(filename), None)  # noqa: PTH100  # it need not exist

    def adopt(self, path: str, data: bytes) -> None:
        """Add a file as durable content of this disk."""
        self.images[path] = FileImage(data)

    def survivors(self, rng: random.Random) -> dict[str, bytes]:
        """Return the files as a power loss at this moment would leave them.

        A third of the losses keeps nothing that was not synced, a third all of it, and a third some
        sectors of it.
        """
        kept = rng.choice([0.0, rng.random(), 1.0])
        return {
            path: bytes(image.survivor(lambda: rng.random() < kept))
            for path, image in self.images.items()
        }


class _PowerLossFile(apsw.VFSFile):
    def __init__(
        self, disk: PowerLossDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._image = disk.images.setdefault(path, FileImage())
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        self._disk.watch()
        super().xWrite(data, offset)
        self._image.unsynced.append((offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  # SQLite's name
        self._disk.watch()
        super().xTruncate(newsize)
        self._image.unsynced.append((newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        self._disk.watch()
        if self._disk.syncs_fail:
            # As Linux does: the kernel marks the lost pages clean, still returns them to
            # readers, and does not report them again.
            self._image.unsynced = []
            raise apsw.IOError
        super().xSync(flags)
        self._image.sync()
