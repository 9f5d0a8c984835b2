"""The processes of an archive with workers, as the system knows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.support.clients.raw_http import Connection
from tests.support.servers.archive import ArchiveServer
from tests.support.waiting import wait_until

_LISTENING: Final = "0A"
"""The state of a listening socket in `/proc/net/tcp`."""


def keeper_of(archive: ArchiveServer) -> int:
    """Return the process that changes the archive, which alone has the ledger of labels."""
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in archive.workers() if _has_ledger(pid)]
        return bool(found)

    wait_until(is_there)
    [keeper] = found
    return keeper


def _has_ledger(pid: int) -> bool:
    return any(path.endswith("/ledger.sqlite") for path in _opened(pid))


def readers_of(archive: ArchiveServer) -> list[int]:
    """Return the processes that have the socket that readers connect to."""
    listening = {socket for state, _, socket in _sockets() if state == _LISTENING}
    return [pid for pid in archive.workers() if not listening.isdisjoint(_opened(pid))]


def reader_at(archive: ArchiveServer, connection: Connection) -> int:
    """Return the process that has accepted a connection."""
    port = connection.socket.getsockname()[1]
    accepted = {socket for _, peer, socket in _sockets() if peer == port}
    [pid] = [pid for pid in archive.workers() if not accepted.isdisjoint(_opened(pid))]
    return pid


def _sockets() -> Iterator[tuple[str, int, str]]:
    """Yield the state of each TCP socket, the port at its other end, and its name."""
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        yield fields[3], int(fields[2].rpartition(":")[2], 16), f"socket:[{fields[9]}]"


def _opened(pid: int) -> Iterator[str]:
    """Yield what a process has open; of one that is gone, nothing."""
    with suppress(FileNotFoundError, PermissionError, ProcessLookupError):
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                yield str(each.readlink())
