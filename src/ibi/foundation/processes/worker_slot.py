"""Posts that processes fill, and the processes that fill them, as their supervisor sees them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

READY: Final = b"r"
"""Said by a worker: it answers."""
GO: Final = b"g"
"""Said by the supervisor: everybody does."""
CLOSING: Final = b"c"
"""Said by the supervisor: all is about to end; and by a worker: it has told whom it had to."""
LOST: Final = b""
"""Said by nobody: the supervisor is gone."""
RETIRE: Final = signal.SIGUSR1
"""Others answer by now: finish what is under way, however long it takes, and end."""


class ControlChannel:
    """A worker's end of it."""

    def __init__(self, line: socket.socket) -> None:
        """Take the socket that leads to the supervisor."""
        self._line = line
        line.settimeout(0)

    def say(self, word: bytes) -> None:
        """Say a word to the supervisor."""
        with suppress(OSError):  # it is gone, which is noticed elsewhere
            self._line.send(word)

    def attend(self, hear: Callable[[bytes], None]) -> None:
        """Have told, in the loop that runs, what the supervisor says; LOST if it is gone."""
        loop = asyncio.get_running_loop()

        def listen() -> None:
            word = LOST
            with suppress(OSError):
                word = self._line.recv(1)
            if word == LOST:
                loop.remove_reader(self._line)
            hear(word)

        loop.add_reader(self._line, listen)


@dataclass(frozen=True, slots=True, eq=False)
class WorkerSlot:
    """What one process does, and others after it."""

    name: str
    work: Callable[[ControlChannel], None]
    """Runs in a process of its own, until its end."""
    alone: bool = False
    """Whether there must never be two at it; all others end before it does."""


@dataclass(slots=True, eq=False)
class WorkerProcess:
    """A process at a post."""

    slot: WorkerSlot
    pid: int
    line: socket.socket
    """Leads to it."""
    began: float = field(default_factory=time.monotonic)
    is_ready: bool = False
    is_closing: bool = False
    """Whether it told others that all is about to end."""
    is_told: bool = False
    """Whether it was told to end."""
    code: int | None = None
    """How it ended."""

    def has_ended(self) -> bool:
        """Tell whether it has ended."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def is_settled(self) -> bool:
        """Tell whether it is known that it answers, or never will."""
        return self.is_ready or self.has_ended()

    def say(self, word: bytes) -> None:
        """Say a word to it."""
        with suppress(OSError):  # it ends, or has
            self.line.send(word)

    def end(self, number: int) -> None:
        """Tell it to end, by a signal."""
        self.is_told = True
        if not self.has_ended():
            os.kill(self.pid, number)

    @property
    def ended_by(self) -> str:
        """How it ended, for people."""
        if self.code is not None and self.code < 0:
            return signal.Signals(-self.code).name
        return f"exit code {self.code}"
