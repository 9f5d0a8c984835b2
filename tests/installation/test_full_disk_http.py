"""Services on a full disk: they start, serve readers, say so at /readyz, and go on by themselves.

The disk is a real one of a few megabytes, filled to the last byte, and has room again later.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from ibi.foundation.system.instance_lock import token_of
from tests.support.clients.http import Client
from tests.support.failures.small_disk import SmallDisk, small_disk
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.installation import InstallationServer
from tests.support.servers.minting import MintingServer
from tests.support.servers.process import ServerProcess
from tests.support.waiting import wait_until

FULL: Final = "no room"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as found:
        yield found


def readiness(client: Client) -> tuple[int, str]:
    """Return what a service says of itself."""
    answer = client.ask("GET", "/readyz")
    return answer.status, answer.body.decode()


def is_ready(client: Client) -> Callable[[], bool]:
    return lambda: readiness(client)[0] == 200


STOPS: Final[dict[str, Callable[[ServerProcess], object]]] = {
    "stopped": ServerProcess.stop,
    "killed": ServerProcess.kill,
}


@pytest.mark.parametrize("workers", ["", "2"])
@pytest.mark.parametrize("stop", STOPS)
def test_an_archive(disk: SmallDisk, stop: str, workers: str) -> None:
    server = ArchiveServer(disk.folder)
    server.wanted_workers = workers
    with server:
        item = server.deposit({"a.txt": b"read me"})
        STOPS[stop](server)
        disk.fill()
        server.start()
        status, text = readiness(server)
        assert (status, FULL in text) == (507, True), text
        answer = server.ask("GET", f"/col/{item['rep']}/doc/a.txt")
        assert (answer.status, answer.body) == (200, b"read me")
        assert server.ask("GET", f"/{item['rep']}").status == 302
        # A start after a kill may have emptied the log of the database, which makes room.
        disk.fill()
        refused = server.api("POST", "deposits", {"metadata": {"titles": ["New"]}})
        assert refused.status in {503, 507}, refused.body
        disk.clear()
        wait_until(is_ready(server))
        again = server.deposit({"b.txt": b"new"})
        assert server.ask("GET", f"/col/{again['rep']}/doc/b.txt").body == b"new"
        assert server.stop() == 0


def test_an_archive_whose_disk_fills_while_it_runs(disk: SmallDisk) -> None:
    with ArchiveServer(disk.folder) as server:
        item = server.deposit({"a.txt": b"read me"})
        assert readiness(server)[0] == 200
        disk.fill()
        assert FULL in readiness(server)[1]
        assert server.ask("GET", f"/col/{item['rep']}/doc/a.txt").body == b"read me"
        disk.clear()
        wait_until(is_ready(server))
        server.deposit({"b.txt": b"new"})
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_installation(disk: SmallDisk, tmp_path: Path, number: int) -> None:
    up = InstallationServer(disk.folder)
    up._log = tmp_path / "log"  # noqa: SLF001
    with up:
        token = token_of(up.data / "archive")
        with closing(Client(up.archive, token)) as archive:
            deposit = archive.ask("POST", "/api/v1/deposits", b'{"metadata":{"titles":["One"]}}')
            id_ = deposit.json()["id"]
            archive.ask("PUT", f"/api/v1/deposits/{id_}/files/a.txt", b"read me")
            item = archive.ask("POST", f"/api/v1/deposits/{id_}/completion").json()
        up.stop(number)
        disk.fill()
        up.start()
        with (
            closing(Client(up.archive, token)) as archive,
            closing(Client(up.resolver, "")) as resolver,
        ):
            for each in (archive, resolver):
                status, text = readiness(each)
                assert (status, FULL in text) == (507, True), text
            # The resolver includes the archive, which was off, and cannot write that down.
            wait_until(lambda: up.follow(f"{up.resolver}/{item['rep']}").status == 200)
            assert up.follow(f"{up.resolver}/{item['rep']}").body == b"read me"
            disk.clear()
            for each in (archive, resolver):
                wait_until(is_ready(each))
            deposit = archive.ask("POST", "/api/v1/deposits", b'{"metadata":{"titles":["Two"]}}')
            assert deposit.status == 201, deposit.body
        assert up.stop() == 0


def test_a_minting_service(disk: SmallDisk, tmp_path: Path) -> None:
    server = MintingServer(tmp_path, "--ledger", str(disk.folder / "ledger.sqlite"))
    with server:
        minted = server.ask("POST", "/api/v1/labels", b'{"reserve": true}')
        assert minted.status == 201, minted.body
        label = minted.json()["labels"][0]["rep"]
        assert server.stop() == 0
        disk.fill()
        server.start()
        status, text = readiness(server)
        assert (status, FULL in text) == (503, True), text
        found = server.ask("GET", f"/api/v1/labels/{label}")
        assert found.status == 200, found.body
        refused = server.ask("POST", "/api/v1/labels", b"{}")
        assert refused.status == 503, refused.body
        disk.clear()
        wait_until(is_ready(server))
        again = server.ask("POST", "/api/v1/labels", b"{}")
        assert again.status == 201, again.body
        assert server.stop() == 0
