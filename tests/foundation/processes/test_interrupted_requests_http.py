"""Requests that the stop of a service interrupts: they are told to come again, and when."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.clients.raw_http import Answer, Connection
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import connected

SIZE = 1_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[ArchiveServer]:
    made = ArchiveServer(tmp_path)
    yield made
    made.kill()


def begun(archive: ArchiveServer) -> Connection:
    """Begin an upload, of which the archive has asked for the body, and send half of it."""
    id_ = archive.open_deposit()
    connection = connected(archive)
    connection.send(
        f"/api/v1/deposits/{id_}/files/slow.bin",
        f"Authorization: Bearer {archive.token}",
        f"Content-Length: {SIZE}",
        "Expect: 100-continue",
        method="PUT",
    )
    assert connection.receive().status == 100
    connection.socket.sendall(bytes(SIZE // 2))
    return connection


def stop(archive: ArchiveServer) -> None:
    assert archive.stop() == 0


def kill_the_supervisor(archive: ArchiveServer) -> None:
    os.kill(archive.pid, signal.SIGKILL)


def is_told_to_come_again(answer: Answer) -> bool:
    return (answer.status, answer["retry-after"], answer["connection"]) == (503, "5", "close")


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ((), stop),
        (("--workers", "2"), stop),
        (("--workers", "2"), kill_the_supervisor),
    ],
    ids=["a stop", "a stop of workers", "a killed supervisor"],
)
def test_an_upload_is_told_to_come_again(
    archive: ArchiveServer, options: tuple[str, ...], end: Callable[[ArchiveServer], None]
) -> None:
    archive.start(*options)
    with begun(archive) as upload:
        end(archive)
        assert is_told_to_come_again(upload.receive())
        assert upload.rest() == b""
    assert '"status": 500' not in archive.log()
