"""Uploads to an archive whose processes are killed, or late: a retry completes them."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ibi.client.archive import Progress, RemoteArchive
from tests.support.clients.http import Answer
from tests.support.clients.raw_http import Connection
from tests.support.processes.shell import Shell
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import connected
from tests.support.servers.object_store import ObjectServer
from tests.support.servers.worker_processes import keeper_of, reader_at
from tests.support.values.citable import OPTIONS
from tests.support.waiting import wait_for, wait_until

CONTENT = bytes(range(256)) * 12_000
HALF = len(CONTENT) // 2
DIGEST = f"sha-256=:{base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()}:"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PATH = "data/a.bin"
PIECE = 1 << 20
"""Bytes that the archive writes at once."""

Kill = Callable[[ArchiveServer, Connection], None]


@pytest.fixture(scope="module", params=["folder", "objects"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options: list[str] = []
    if request.param == "objects":
        server: ObjectServer = request.getfixturevalue("object_server")
        options = ["--storage", server.storage(), "--storage-endpoint", server.endpoint]
    made = ArchiveServer(tmp_path_factory.mktemp("uploads"), *options)
    try:
        yield made.start("--workers", "2")
    finally:
        made.kill()


def file_of(id_: str) -> str:
    return f"deposits/{id_}/files/{PATH}"


def begin(
    archive: ArchiveServer, upload: Connection, id_: str, sent: bytes, offset: int = 0
) -> None:
    """Send the head of an upload, and some of its body."""
    upload.send(
        f"/api/v1/{file_of(id_)}",
        f"Authorization: Bearer {archive.token}",
        f"Content-Length: {len(CONTENT) - offset}",
        *([f"Upload-Offset: {offset}"] if offset else []),
        method="PATCH" if offset else "PUT",
    )
    upload.socket.sendall(sent)


def arrived(archive: ArchiveServer, id_: str) -> int:
    """Return how many bytes of the file are on the disk, -1 if it has not begun to come."""
    parts = archive.data / "incoming" / id_ / "parts"
    return sum((each.stat().st_size for each in parts.glob("*")), -1 if not parts.exists() else 0)


def kill_the_writer(archive: ArchiveServer, _: Connection) -> None:
    _kill(archive, keeper_of(archive))


def kill_the_reader(archive: ArchiveServer, upload: Connection) -> None:
    _kill(archive, reader_at(archive, upload))


def _kill(archive: ArchiveServer, pid: int) -> None:
    """Kill a process, and wait until another has taken its place."""
    count = len(archive.workers())
    os.kill(pid, signal.SIGKILL)
    archive.close()  # its connections may be to that process
    wait_until(lambda: pid not in archive.workers() and len(archive.workers()) == count)


def check_completion(archive: ArchiveServer, id_: str) -> None:
    [file] = archive.complete(id_)["files"]
    assert (file["path"], file["sha256"]) == (PATH, SHA256)


def test_a_late_request_does_not_undo_the_one_that_was_answered(archive: ArchiveServer) -> None:
    """The client gave the first request up, which its process handles after the second."""
    id_ = archive.open_deposit()
    archive.close()
    with connected(archive) as upload:
        assert upload.ask("/healthz").status == 200
        late = reader_at(archive, upload)
        os.kill(late, signal.SIGSTOP)
        try:
            begin(archive, upload, id_, CONTENT[:1000])
            upload.close()
            assert archive.send(id_, PATH, CONTENT).status == 201
        finally:
            os.kill(late, signal.SIGCONT)
    wait_until(lambda: f'{file_of(id_)}", "status": 400' in archive.log())
    check_completion(archive, id_)


@pytest.mark.parametrize("kill", [kill_the_writer, kill_the_reader])
@pytest.mark.parametrize("sent", [1000, HALF])
def test_an_upload_that_was_killed_is_sent_again(
    archive: ArchiveServer, kill: Kill, sent: int
) -> None:
    id_ = archive.open_deposit()
    with connected(archive) as upload:
        begin(archive, upload, id_, CONTENT[:sent])
        wait_until(lambda: arrived(archive, id_) >= sent // PIECE * PIECE)
        kill(archive, upload)
    assert sent_again(lambda: archive.send(id_, PATH, CONTENT, Repr_Digest=DIGEST)) == 201
    check_completion(archive, id_)


@pytest.mark.parametrize("kill", [kill_the_writer, kill_the_reader])
def test_an_upload_that_was_killed_is_resumed(archive: ArchiveServer, kill: Kill) -> None:
    id_ = archive.open_deposit()
    assert archive.send(id_, PATH, CONTENT[:PIECE], Upload_Complete="?0").status == 200
    with connected(archive) as upload:
        begin(archive, upload, id_, CONTENT[PIECE : HALF + PIECE], PIECE)
        wait_until(lambda: arrived(archive, id_) >= 2 * PIECE)
        kill(archive, upload)

    def resume() -> Answer:
        offset = archive.api("GET", file_of(id_)).json()["size"]
        assert 2 * PIECE <= offset < len(CONTENT)
        headers = {"Upload_Offset": str(offset), "Repr_Digest": DIGEST}
        return archive.api("PATCH", file_of(id_), CONTENT[offset:], **headers)

    assert sent_again(resume) == 201
    check_completion(archive, id_)


def sent_again(send: Callable[[], Answer]) -> int:
    """Send until the archive has noticed that the first request broke off; return the status."""
    return wait_for(send, lambda answer: answer.status != 409).status


def test_the_command_goes_on_when_the_writer_was_replaced(
    archive: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    killed: list[int] = []
    send_file = RemoteArchive.send_file

    def send_until_half(
        remote: RemoteArchive, deposit: str, path: str, source: Path, progress: Progress
    ) -> None:
        def kill_at_half(sent: int) -> None:
            if sent >= HALF and not killed:
                killed.append(keeper_of(archive))
                os.kill(killed[0], signal.SIGKILL)
            progress(sent)

        send_file(remote, deposit, path, source, kill_at_half)

    monkeypatch.setattr(RemoteArchive, "send_file", send_until_half)
    where = ("--archive", archive.address, "--token", archive.token)
    done = Shell(tmp_path).call(
        *("archive", "deposit", str(tmp_path / "a.bin"), "--title", "A title", *OPTIONS, *where)
    )
    assert (done.returncode, done.stderr) == (0, "")
    [file] = archive.api("GET", f"items/{done.stdout.split()[0]}/files").json()["files"]
    assert file["sha256"] == SHA256
    assert killed
    assert keeper_of(archive) != killed[0]
