"""A running archive to be attacked, whole or with one guard switched off; and what is seen of it.

The twin of an attack is the same attack on an archive whose process runs a few lines first, which
take one guard away. All else is as it is shipped.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.file_delivery import Connection

FULL: Final = os.environ.get("IBI_ATTACKS") == "full"


@contextmanager
def attacked(folder: Path, without: str = "") -> Iterator[ArchiveServer]:
    """Run an archive; `without` are lines of Python that its process runs before all others."""
    with pytest.MonkeyPatch.context() as patch:
        if without:
            lines = folder / "without"
            lines.mkdir(parents=True)
            (lines / "sitecustomize.py").write_text(without, encoding="utf-8")
            patch.setenv("PYTHONPATH", str(lines), prepend=os.pathsep)
        with ArchiveServer(folder, "--administrator", "admin@example.org") as archive:
            yield archive


def peak_memory(archive: ArchiveServer) -> int:
    """Return the bytes that the process of an archive ever had at once."""
    assert archive.process
    status = Path(f"/proc/{archive.process.pid}/status").read_text(encoding="ascii")
    [peak] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peak.split()[1]) * 1024


def connected(archive: ArchiveServer) -> Connection:
    """Return a connection on which bytes go as they are."""
    host, _, port = archive.address.removeprefix("http://").partition(":")
    connection = Connection((host, int(port)))
    # A head and a body go by themselves: the second would wait until the first is acknowledged.
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def tree(folder: Path) -> dict[str, bytes | str]:
    """Return all that lies beneath a folder: files with what is in them, links with their ends."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder"
    return found
