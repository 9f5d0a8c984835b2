"""A failpoint before every change of the disk: at the k-th step it kills the server or fails.

A step is a write, a sync, a rename, a link, a removal or a new folder, of files and of SQLite's
files. The server is not aware of it: it calls `os` and its VFS as usual.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import signal
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Final

import apsw

from ibi.foundation.sql import database_url
from ibi.foundation.sql.sqlite import Sqlite

OPEN, KILL, NO_SPACE, BROKEN, POWER = range(5)
"""What happens at the failpoint: nothing, SIGKILL, ENOSPC, EIO, a power loss."""

_MAKING: Final = ("rename", "replace", "link", "mkdir", "fsync")
_REMOVING: Final = ("unlink", "remove", "rmdir")
"""Removals work on a full disk."""

_ERRORS: Final = {NO_SPACE: errno.ENOSPC, BROKEN: errno.EIO}


class Failpoint:
    """A shared page of memory by which the suite sets the failpoint and counts the steps."""

    _LAYOUT: Final = struct.Struct("<qqBB")

    def __init__(self, path: Path) -> None:
        with path.open("ab+") as file:
            file.truncate(self._LAYOUT.size)
            self._page = mmap.mmap(file.fileno(), self._LAYOUT.size)
        self._lock = RLock()
        self.lose: Callable[[], None] = lambda: None
        """Called at a power loss, before the kill."""

    def set(self, step: int, what: int, *, lasting: bool = False) -> None:
        """Trigger at a step counted from now, once or until it is disabled."""
        self._page[:] = self._LAYOUT.pack(step, 0, what, lasting)

    def disable(self) -> None:
        """Let every step succeed."""
        self.set(0, OPEN)

    @property
    def steps(self) -> int:
        """Number of steps since it was set."""
        return int(self._LAYOUT.unpack(self._page[:])[1])

    @property
    def triggered(self) -> bool:
        """Whether the step was reached since it was set."""
        step, steps, *_ = self._LAYOUT.unpack(self._page[:])
        return bool(step) and steps >= step

    def step(self, *, removes: bool = False) -> int:
        """Count a step; return its fault, or do not return if it kills."""
        with self._lock:
            step, steps, what, lasting = self._LAYOUT.unpack(self._page[:])
            self._page[:] = self._LAYOUT.pack(step, steps + 1, what, lasting)
            reached = steps + 1 >= step if lasting else steps + 1 == step
            if not reached or (removes and what == NO_SPACE):
                return OPEN
            if what in {KILL, POWER}:
                if what == POWER:
                    # The changes of the disk that follow are no steps of the server.
                    self._page[:] = self._LAYOUT.pack(step, steps + 1, OPEN, lasting)
                    self.lose()
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
            return int(what)

    def pass_or_fail(self, *, removes: bool = False) -> None:
        """Count a step; raise OSError if it fails."""
        if what := self.step(removes=removes):
            raise OSError(_ERRORS[what], os.strerror(_ERRORS[what]))


class _FailpointFile(io.FileIO):
    """A file whose writes are steps."""

    failpoint: ClassVar[Failpoint]

    def write(self, data: Any, /) -> int:  # noqa: ANN401  # whatever has bytes
        self.failpoint.pass_or_fail()
        return super().write(data) or 0


class _FailpointDisk(apsw.VFS):
    """A VFS whose writes and syncs are steps."""

    name: Final = "failpoint"

    def __init__(self, failpoint: Failpoint) -> None:
        self.failpoint = failpoint
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _FailpointSqliteFile:  # noqa: N802  # SQLite's name
        return _FailpointSqliteFile(self.failpoint, name, flags)


class _FailpointSqliteFile(apsw.VFSFile):
    def __init__(
        self, failpoint: Failpoint, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._trap = failpoint
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        self._pass_or_fail()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        self._pass_or_fail()
        super().xSync(flags)

    def _pass_or_fail(self) -> None:
        match self._trap.step():
            case what if what == NO_SPACE:
                raise apsw.FullError
            case what if what == BROKEN:
                raise apsw.IOError


_DISKS: Final[list[_FailpointDisk]] = []
"""Registered VFS objects, which must live as long as the process."""


def install(failpoint: Failpoint, disk: str = "") -> None:
    """Install the failpoint in this process for good; `disk` is a VFS that has it already."""
    for name in _MAKING:
        setattr(os, name, _with_failpoint(getattr(os, name), failpoint, removes=False))
    for name in _REMOVING:
        setattr(os, name, _with_failpoint(getattr(os, name), failpoint, removes=True))
    _FailpointFile.failpoint = failpoint
    io.open = _open_with_failpoint(io.open)  # it is what pathlib calls
    if not disk:
        _DISKS.append(_FailpointDisk(failpoint))
        disk = _FailpointDisk.name
    vars(database_url)["Sqlite"] = partial(Sqlite, vfs=disk)


def _with_failpoint(
    call: Callable[..., Any], failpoint: Failpoint, *, removes: bool
) -> Callable[..., Any]:
    def call_with_failpoint(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # as the call
        failpoint.pass_or_fail(removes=removes)
        return call(*arguments, **named)

    return call_with_failpoint


def _open_with_failpoint(call: Callable[..., Any]) -> Callable[..., Any]:
    def call_with_failpoint(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # as the call
        match mode:
            case "wb":
                return io.BufferedWriter(_FailpointFile(file, "w"))
            case "r+b":
                return io.BufferedRandom(_FailpointFile(file, "r+"))
            case "w":
                return io.TextIOWrapper(io.BufferedWriter(_FailpointFile(file, "w")), "utf-8")
            case _:
                return call(file, mode, *arguments, **named)

    return call_with_failpoint
