"""The files of an archive are moved while it serves: to an object store, back, and elsewhere."""

from __future__ import annotations

import json
import os
import stat
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ibi.archive.settings import read_archive
from ibi.archive.wiring.stores import open_catalogue
from ibi.model.task import Task
from tests.support.clients.http import Client
from tests.support.servers.archive import ArchiveServer, files_in
from tests.support.servers.object_store import ObjectServer
from tests.support.waiting import wait_until

LARGE = os.urandom(9_000_000)


class Traffic:
    """Somebody who reads all the time, and somebody who deposits, revises and deletes."""

    def __init__(self, archive: ArchiveServer) -> None:
        """Use an archive."""
        self._archive = archive
        self._ending = threading.Event()
        self.files: dict[str, dict[str, bytes]] = {}
        """What each item has, as far as it was answered."""
        self.faults: list[str] = []
        self.reads = 0

    def deposit(self, number: int) -> str:
        """Make an item."""
        files = {"a.txt": b"%d" % number, "b/c.bin": b"x" * number}
        label = str(self._archive.deposit(files, target="a.txt")["rep"])
        self.files[label] = files
        return label

    def revise(self, label: str, number: int) -> None:
        """Replace a file, remove one, add one."""
        id_ = self._archive.open_deposit(item=label, metadata={}, remove=["b/c.bin"])
        files = {"a.txt": b"new %d" % number, "b/d.bin": b"y" * number}
        for path, content in files.items():
            assert self._archive.send(id_, path, content).status == 201
        self._archive.complete(id_)
        self.files[label] = files

    def _write(self) -> None:
        number = 100
        # Whoever deposits without a pause may do so for as long as it takes to move what they did.
        while not self._ending.wait(0.05):
            number += 1
            label = self.deposit(number)
            if number % 3 == 0:
                self.revise(label, number)
            if number % 7 == 0:
                gone = self._archive.api("POST", f"items/{label}/deletion", {"reason": "a test"})
                assert gone.status == 200
                del self.files[label]

    def _read(self, known: dict[str, dict[str, bytes]]) -> None:
        client = Client(self._archive.address, "")
        try:
            while not self._ending.is_set():
                for label, files in known.items():
                    for path, content in files.items():
                        answer = client.ask("GET", f"/col/{label}/doc/{path}")
                        self.reads += 1
                        if (answer.status, answer.body) != (200, content):
                            self.faults.append(f"{label} {path} {answer.status}")
        finally:
            client.close()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Go on while the block runs."""
        known = dict(self.files)
        threads = [
            threading.Thread(target=self._guarded, args=[self._write]),
            threading.Thread(target=self._guarded, args=[lambda: self._read(known)]),
        ]
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: self.reads > len(known))
            yield
        finally:
            self._ending.set()
            for thread in threads:
                thread.join()
            self._ending.clear()

    def _guarded(self, work: Any) -> None:  # noqa: ANN401  # whatever is done all the time
        try:
            work()
        except BaseException as fault:  # noqa: BLE001  # whatever it is, the test tells it
            self.faults.append(repr(fault))

    def check(self) -> None:
        """See that every item is whole."""
        assert self.faults == []
        for label, files in self.files.items():
            listed = self._archive.api("GET", f"items/{label}/files").json()["files"]
            assert {each["path"] for each in listed} == set(files)
            for path, content in files.items():
                assert self._archive.get(f"/col/{label}/doc/{path}").body == content


def moved(archive: ArchiveServer, *arguments: str) -> dict[str, Any]:
    done = archive.ibi("move-store", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def archive(object_server: ObjectServer, tmp_path: Path) -> Iterator[ArchiveServer]:
    del object_server  # its credentials are in the environment
    with ArchiveServer(tmp_path / "made") as started:
        yield started


def test_an_archive_is_moved_to_objects_and_back_by_a_folder_while_it_serves(
    archive: ArchiveServer, object_server: ObjectServer, tmp_path: Path
) -> None:
    traffic = Traffic(archive)
    for number in range(12):
        traffic.deposit(number)
    big = str(archive.deposit({"big": LARGE}, target="big")["rep"])
    traffic.files[big] = {"big": LARGE}
    reserved = archive.api("POST", "reservations", {"count": 2}).json()
    waiting = archive.open_deposit()
    assert archive.send(waiting, "half", LARGE[:1000], Upload_Complete="?0").status == 200
    storage = object_server.storage()

    with (archive.data / "archive.toml").open("a", encoding="utf-8") as file:
        file.write("# A word of the administrator.\n")
    with traffic.going_on():
        told = moved(archive, storage, "--endpoint", object_server.endpoint)
        after = traffic.deposit(999)
    traffic.check()
    assert told["from"] == str(archive.data)
    assert told["to"] == storage
    assert told["damaged"] == []
    assert told["bytes"] > len(LARGE)
    left = files_in(archive.data / "col")
    assert f"{big}/doc/big" in left
    assert not [path for path in left if path.startswith(f"{after}/")]

    text = (archive.data / "archive.toml").read_text("utf-8")
    assert "# A word of the administrator.\n" in text
    assert tomllib.loads(text)["storage"] == storage
    assert stat.S_IMODE((archive.data / "archive.toml").stat().st_mode) == 0o600
    archive.restart()
    traffic.check()
    assert archive.api("GET", "storage").json()["storage"] == storage
    assert archive.api("GET", "reservations").json() == reserved
    path = f"deposits/{waiting}/files/half"
    assert archive.api("PATCH", path, LARGE[1000:], Upload_Offset="1000").status == 201
    traffic.files[str(archive.complete(waiting)["rep"])] = {"half": LARGE}
    back_by_a_folder(archive, traffic, tmp_path / "elsewhere", big)


def back_by_a_folder(archive: ArchiveServer, traffic: Traffic, folder: Path, big: str) -> None:
    waiting = archive.open_deposit()
    assert archive.send(waiting, "whole", b"whole").status == 201
    with traffic.going_on():
        told = moved(archive, str(folder))
    traffic.check()
    assert told["to"] == str(folder)
    assert (folder / "col" / big / "doc" / "big").read_bytes() == LARGE
    traffic.files[str(archive.complete(waiting)["rep"])] = {"whole": b"whole"}
    digest = archive.get(f"/col/{big}/doc/big").headers.get("repr-digest", "")
    assert digest.startswith("sha-256=")  # its time came along
    archive.restart()
    traffic.check()
    assert not list((folder / "incoming").iterdir())

    # Back to where it was at first: what is there still is of use.
    told = moved(archive, str(archive.data))
    traffic.check()
    assert told["bytes"] < 2 * len(LARGE)
    assert "storage" not in tomllib.loads((archive.data / "archive.toml").read_text("utf-8"))
    acts = [each["act"] for each in archive.api("GET", "history?limit=1000").json()["history"]]
    assert acts.count("move store") == 3


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """An archive of which nothing is moved."""
    with ArchiveServer(tmp_path_factory.mktemp("idle")) as started:
        yield started


@pytest.mark.parametrize(
    ("storage", "says"),
    [
        ("s3://", "s3://bucket/prefix"),
        ("s3://nobody/there", "there is no such bucket"),
        ("gs://bucket", "s3://bucket/prefix"),
        ("{data}", "already"),
        ("{data}/..", "not empty"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_moved(
    idle: ArchiveServer, object_server: ObjectServer, storage: str, says: str
) -> None:
    given = storage.format(data=idle.data)
    endpoint = ["--endpoint", object_server.endpoint] if given.startswith("s3://n") else []
    before = (idle.data / "archive.toml").read_text("utf-8")
    refused = idle.ibi("move-store", given, *endpoint)
    assert refused.returncode != 0
    [line] = refused.stderr.splitlines()
    assert says in line
    assert (idle.data / "archive.toml").read_text("utf-8") == before
    assert idle.deposit({"a": b"1"})["rep"]


def test_nothing_is_written_where_another_archive_lies(
    idle: ArchiveServer, object_server: ObjectServer, tmp_path: Path
) -> None:
    storage = object_server.storage()
    there = ["--storage", storage, "--storage-endpoint", object_server.endpoint]
    ArchiveServer(tmp_path / "other", *there)
    before = list(object_server.objects(storage).keys(""))
    refused = idle.ibi("move-store", storage, "--endpoint", object_server.endpoint)
    assert refused.returncode != 0
    assert "not of this move" in refused.stderr
    assert list(object_server.objects(storage).keys("")) == before


def test_a_move_that_was_killed_is_done_or_still_to_be_done(
    idle: ArchiveServer, tmp_path: Path
) -> None:
    """As it began, when there were only empty folders; and as it ended, before it was said."""
    label = idle.deposit({"a": b"1"})["rep"]
    assert idle.stop() == 0
    before = (idle.data / "archive.toml").read_text("utf-8")
    (tmp_path / "there" / "col").mkdir(parents=True)
    request = {"storage": str(tmp_path / "there"), "endpoint": "", "region": ""}
    catalogue = open_catalogue(read_archive(idle.data))
    ids = ["1" * 32, "2" * 32]
    for id_ in ids:
        text = json.dumps(request)
        catalogue.tasks.keep(
            Task(id=id_, kind="move-store", who="me", begun=int(id_[0]), request=text)
        )
    catalogue.close()
    idle.start()
    ended = [ended_task(idle, id_) for id_ in ids]
    assert [task["state"] for task in ended] == ["done", "done"]
    assert [task["result"]["to"] for task in ended] == [request["storage"]] * 2
    assert ended[0]["result"]["files"] > ended[1]["result"]["files"] == 0
    assert idle.api("GET", "storage").json()["storage"] == request["storage"]
    assert (tmp_path / "there" / "col" / label / "doc" / "a").read_bytes() == b"1"
    moved(idle, str(idle.data))
    assert (idle.data / "archive.toml").read_text("utf-8") == before


def ended_task(archive: ArchiveServer, id_: str) -> dict[str, Any]:
    def look() -> dict[str, Any]:
        found: dict[str, Any] = archive.api("GET", f"tasks/{id_}").json()
        return found

    wait_until(lambda: look()["state"] not in {"waiting", "running"})
    return look()


def test_only_an_administrator_moves_or_sees_it(idle: ArchiveServer) -> None:
    archive = idle
    token = archive.add_token("depositor", "deposit")
    for method, body in (("GET", None), ("POST", {"storage": "elsewhere"})):
        assert archive.api(method, "storage", body, token=token).status == 403
        assert archive.api(method, "storage", body, token="").status == 401
    missing = archive.api("POST", "storage", {"storage": "/nowhere/at/all"})
    assert missing.status == 400
    assert "make it first" in missing.json()["detail"]
