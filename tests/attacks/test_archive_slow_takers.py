"""Clients that ask for a large file and do not read it: each costs the archive three descriptors.

The socket, the file, and a duplicate of the socket while it waits for the client. The limit of open
files has room for all connections that are allowed: the archive serves other readers meanwhile.
"""

from __future__ import annotations

import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, connected, descriptors, switched_off
from tests.support.waiting import PATIENCE, wait_until

TAKERS: Final = 2_660 if FULL else 100
SIZE: Final = 16 << 20
"""Bytes of the file: more than the buffers of both sockets."""
FEW: Final = 128
"""Files that the process may open until it asks for more."""
ROOM: Final = 8192
FEWER: Final = """
from ibi.foundation.processes import server

server.MOST_CONNECTIONS = 110
server.OTHER_FILES = 60
"""
TWO_A_CONNECTION: Final = """
from ibi.foundation.processes import server

server.FILES_A_CONNECTION = 2
"""
NO_OTHERS: Final = "server.OTHER_FILES = 0\n"


@contextmanager
def scene(folder: Path, without: str = "") -> Iterator[tuple[ArchiveServer, str]]:
    """Run an archive; yield it with the path of a large file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, ROOM)), hard))
    try:
        archive = ArchiveServer(folder)
        archive.most_files = FEW
        with switched_off(folder, ("" if FULL else FEWER) + without), archive:
            rep = archive.deposit(
                {"large.bin": bytes(SIZE), "small.txt": b"small"}, target="small.txt"
            )["rep"]
            yield archive, f"/col/{rep}/doc"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Takers:
    """Clients that ask for a file, and read nothing of it."""

    def __init__(self, archive: ArchiveServer, path: str) -> None:
        """Come, all of them."""
        host, _, port = archive.place.partition(":")
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        self._sockets = []
        self._ended = select.poll()
        for _ in range(TAKERS):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(PATIENCE)
            client.connect((host, int(port)))
            client.sendall(request)
            self._ended.register(client, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
            self._sockets.append(client)

    def __enter__(self) -> Self:
        """Stay."""
        return self

    def __exit__(self, *_: object) -> None:
        """Go, all of them."""
        for client in self._sockets:
            client.close()

    def ended(self) -> int:
        """Return how many were hung up on."""
        return len(self._ended.poll(0))

    def take(self, number: int) -> int:
        """Let one of them take the file after all; return the number of bytes after the head."""
        client = self._sockets[number]
        head, _, body = client.recv(65_536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        count = len(body)
        while count < SIZE and (more := client.recv(1 << 20)):
            count += len(more)
        return count


def test_readers_are_served_beside_slow_takers(tmp_path: Path) -> None:
    with ExitStack() as stack:
        archive, folder = stack.enter_context(scene(tmp_path))
        takers = stack.enter_context(Takers(archive, f"{folder}/large.bin"))
        wait_until(lambda: descriptors(archive) >= 3 * TAKERS)
        for _ in range(3):
            with connected(archive) as reader:
                assert reader.ask(f"{folder}/small.txt").body == b"small"
                assert reader.ask("/healthz").status == 200
        assert takers.ended() == 0
        assert [takers.take(number) for number in (0, TAKERS // 2, TAKERS - 1)] == [SIZE] * 3


def test_the_takers_bite(tmp_path: Path) -> None:
    """The twin: with room for two descriptors a connection, clients are cut off."""
    without = TWO_A_CONNECTION + (NO_OTHERS if FULL else "")
    with (
        scene(tmp_path, without) as (archive, folder),
        Takers(archive, f"{folder}/large.bin") as takers,
    ):
        wait_until(lambda: takers.ended() > 0)
