"""What ties a worker to its supervisor: what they say to each other, and that either is there."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
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


class Leash:
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
