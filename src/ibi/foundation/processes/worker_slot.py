"""Slots for worker processes, the processes in them, and their channel to the supervisor."""

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
"""Sent by a worker: it answers."""
GO: Final = b"g"
"""Sent by the supervisor: all workers answer."""
CLOSING: Final = b"c"
"""Sent by the supervisor: the service is about to end; by a worker: it has announced that."""
LOST: Final = b""
"""Read instead of a message when the supervisor is gone."""
RETIRE: Final = signal.SIGUSR1
"""The signal to a replaced worker: finish the requests in progress, however long, and end."""


class ControlChannel:
    """The worker's end of its channel to the supervisor."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        line.settimeout(0)

    def send(self, message: bytes) -> None:
        """Send a message to the supervisor."""
        with suppress(OSError):  # its death is noticed elsewhere
            self._line.send(message)

    def on_message(self, callback: Callable[[bytes], None]) -> None:
        """Call back in the running loop with each message of the supervisor, LOST if it is gone."""
        loop = asyncio.get_running_loop()

        def listen() -> None:
            message = LOST
            with suppress(OSError):
                message = self._line.recv(1)
            if message == LOST:
                loop.remove_reader(self._line)
            callback(message)

        loop.add_reader(self._line, listen)


@dataclass(frozen=True, slots=True, eq=False)
class WorkerSlot:
    """A place for one worker process at a time."""

    name: str
    work: Callable[[ControlChannel], None]
    """Runs in the worker process, until its end."""
    alone: bool = False
    """Whether there must never be two at once; all other workers end before it does."""


@dataclass(slots=True, eq=False)
class WorkerProcess:
    """A worker process, as its supervisor sees it."""

    slot: WorkerSlot
    pid: int
    line: socket.socket
    """The supervisor's end of the channel to it."""
    began: float = field(default_factory=time.monotonic)
    is_ready: bool = False
    is_closing: bool = False
    """Whether it has announced the end of the service."""
    is_ending: bool = False
    """Whether it was told to end."""
    code: int | None = None
    """Its exit code, negative for a signal; None while it runs."""

    def has_ended(self) -> bool:
        """Return whether it has ended, without waiting."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def is_settled(self) -> bool:
        """Return whether it answers, or has ended."""
        return self.is_ready or self.has_ended()

    def send(self, message: bytes) -> None:
        """Send a message to it."""
        with suppress(OSError):  # it has ended, or is ending
            self.line.send(message)

    def end(self, number: int) -> None:
        """End it by a signal."""
        self.is_ending = True
        if not self.has_ended():
            os.kill(self.pid, number)

    @property
    def ended_by(self) -> str:
        """How it ended: a signal or an exit code, for people."""
        if self.code is not None and self.code < 0:
            return signal.Signals(-self.code).name
        return f"exit code {self.code}"
