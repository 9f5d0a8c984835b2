"""What attacks on any program need: processes with a guard switched off, and a look at them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.raw_http import Connection
from tests.support.servers.program import ProgramServer

FULL: Final = os.environ.get("IBI_ATTACKS") == "full"
"""Whether all variants of an attack are tried (`make attack`)."""


@contextmanager
def switched_off(folder: Path, lines: str) -> Iterator[None]:
    """Let processes that start in the block run lines of Python before all others.

    Modules of the programs are imported then, unless the lines begin with BEFORE_IMPORTS.
    """
    with pytest.MonkeyPatch.context() as patch:
        if lines:
            place = folder / "without"
            place.mkdir(parents=True)
            (place / "sitecustomize.py").write_text(lines, encoding="utf-8")
            patch.setenv("PYTHONPATH", str(place), prepend=os.pathsep)
        yield


def connected(server: ProgramServer) -> Connection:
    """Return a connection on which bytes go as they are."""
    host, _, port = server.place.partition(":")
    connection = Connection((host, int(port)))
    # A head and a body go by themselves: the second would wait until the first is acknowledged.
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def peak_memory(server: ProgramServer) -> int:
    """Return the most bytes that its process ever had in memory."""
    return _memory(server, "VmHWM")


def resident_memory(server: ProgramServer) -> int:
    """Return the bytes that its process has in memory."""
    return _memory(server, "VmRSS")


def _memory(server: ProgramServer, name: str) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    [found] = [line for line in status.splitlines() if line.startswith(name)]
    return int(found.split()[1]) * 1024


def descriptors(server: ProgramServer) -> int:
    """Return how many files and sockets its process has open."""
    return len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
