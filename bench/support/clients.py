"""Clients that ask a server over HTTP as soon as they are answered, and what it cost the server.

They are bare protocols, so that they cost less than the server does.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import cast


class AskingClient(asyncio.Protocol):
    """Sends a request, waits for its answer, and again."""

    def __init__(self) -> None:
        """Expect nothing yet."""
        self._left = 0

    def request(self) -> bytes:
        """Return the next request."""
        raise NotImplementedError

    def answered(self) -> None:
        """Be told that its answer is here."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to ask."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(self.request())

    def data_received(self, data: bytes) -> None:
        """Read what came of the answer; ask again when it is whole."""
        if not self._left:
            head, _, body = data.partition(b"\r\n\r\n")
            if head[9:10] != b"2":
                raise SystemExit(data.decode())
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            self._left = length - len(body)
        else:
            self._left -= len(data)
        if self._left <= 0:
            self._left = 0
            self.answered()
            self._transport.write(self.request())


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_memory(process: int) -> float:
    """Return the most memory that a process ever had, in megabytes."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
