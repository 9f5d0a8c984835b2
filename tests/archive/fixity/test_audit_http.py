"""Audits of archives that run, and of one that does not, by the doors that people have."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest

from ibi.foundation.system.instance_lock import serving_at
from tests.support.clients.http import PROBLEM
from tests.support.failures.disk_damage import flip
from tests.support.servers.archive import ArchiveServer, files_in, neighbour
from tests.support.servers.federation import linked_archives
from tests.support.waiting import wait_until

RANDOM: Final = Random(21)  # noqa: S311  # the same damage every time
FILES: Final = {"a.txt": b"one", "folder/b.bin": bytes(range(256)) * 100}


class Pair(NamedTuple):
    """Two archives of one resolver: the second has copies of what is in the first."""

    first: ArchiveServer
    second: ArchiveServer


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with linked_archives(tmp_path_factory.mktemp("audits"), 2) as (_, archives):
        yield Pair(*archives)


def path_of(archive: ArchiveServer, item: dict[str, Any], path: str) -> Path:
    return archive.data.joinpath("col", item["rep"], "doc", path)


def deposited(archive: ArchiveServer) -> dict[str, Any]:
    return archive.deposit(FILES, target="a.txt")


def copied(pair: Pair, item: dict[str, Any]) -> None:
    done = pair.second.ibi("copy", item["rep"], "--from", pair.first.address)
    assert done.returncode == 0, done.stderr


def tasks_of(archive: ArchiveServer, kind: str = "audit") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = archive.api("GET", f"tasks?kind={kind}").json()["tasks"]
    return found


def files_read(archive: ArchiveServer, task: str) -> int:
    return int(archive.api("GET", task).json().get("result", {}).get("files", 0))


def metric(archive: ArchiveServer) -> float:
    return archive.metric("ibi_archive_damaged_files")


def test_the_first_audit_is_due_at_the_start_and_not_again(pair: Pair) -> None:
    archive = pair.second
    wait_until(lambda: [task["state"] for task in tasks_of(archive)] == ["done"])
    [task] = tasks_of(archive)
    assert task["who"] == "schedule"
    assert task["result"]["damaged"] == 0


def test_damage_is_told_wherever_an_administrator_looks(pair: Pair) -> None:
    archive = pair.first
    item = deposited(archive)
    done = archive.ibi("audit", item["rep"])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "checked 2 files, 25603 bytes, all whole\n"
    flip(path_of(archive, item, "folder/b.bin"), RANDOM)
    done = archive.ibi("audit", item["ibip"])
    assert done.returncode == 1
    damage, summary = done.stdout.splitlines()
    assert damage.startswith(f"{item['rep']}/doc/folder/b.bin: its bytes have changed: sha256 was ")
    assert summary == "checked 2 files, 25603 bytes, 1 damaged"
    told = json.loads(archive.ibi("audit", "--json").stdout)
    assert told["damage"] == archive.api("GET", "damage").json()["damage"]
    [only] = told["damage"]
    assert (only["label"], only["path"]) == (item["rep"], "doc/folder/b.bin")
    assert (told["damaged"], told["repaired"]) == (1, 0)
    assert metric(archive) == 1
    warnings = [json.loads(line) for line in archive.log().splitlines() if '"damaged"' in line]
    assert [line["level"] for line in warnings] == ["warning"]
    assert archive.get("/readyz").status == 200
    # The second has nothing to repair it from, and the resolver knows of nobody else.
    done = archive.ibi("audit", item["rep"], "--repair")
    assert done.returncode == 1
    assert "No other archive is known to have it." in done.stdout
    copied_back = archive.ibi("audit", item["rep"], "--repair", "--from", pair.second.address)
    assert copied_back.returncode == 1
    assert pair.second.address in copied_back.stdout
    path_of(archive, item, "folder/b.bin").write_bytes(FILES["folder/b.bin"])
    assert archive.ibi("audit").returncode == 0
    assert metric(archive) == 0


def test_an_original_is_repaired_from_a_copy_that_the_resolver_knows(pair: Pair) -> None:
    first = pair.first
    item = deposited(first)
    copied(pair, item)
    before = files_in(first.data / "col")
    for path in FILES:
        flip(path_of(first, item, path), RANDOM)
    done = first.ibi("audit", "--repair")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("repaired 2, all whole\n")
    assert files_in(first.data / "col") == before
    history = first.api("GET", "history?act=repair&limit=1000").json()["history"]
    assert {line["detail"]["from"] for line in history} == {pair.second.address}
    answer = first.get(f"/col/{item['rep']}/doc/a.txt")
    assert answer.body == FILES["a.txt"]
    assert "repr-digest" in answer.headers  # its time is the one that the catalogue knows


def test_a_copy_is_repaired_from_its_origin(pair: Pair) -> None:
    item = deposited(pair.first)
    copied(pair, item)
    path_of(pair.second, item, "a.txt").unlink()
    done = pair.second.ibi("audit", item["rep"], "--repair", "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["repaired"] == 1
    assert path_of(pair.second, item, "a.txt").read_bytes() == FILES["a.txt"]


def test_what_cannot_be_begun_is_refused(pair: Pair) -> None:
    archive = pair.first
    for body, status in (
        ({"items": ["8JMKD3MGP7W/3EPGUE5"]}, 404),
        ({"items": ["nothing"]}, 400),
        ({"rate": -1}, 400),
        ({"from": pair.second.address}, 400),
        ({"repair": True, "from": "ftp://example.org"}, 400),
        ({"unknown": 1}, 400),
    ):
        answer = archive.api("POST", "audits", body)
        assert answer.status == status, answer.body
        assert answer.headers["content-type"] == PROBLEM
    reader = archive.add_token("looks", "read")
    assert archive.api("POST", "audits", {}, token=reader).status == 403
    assert archive.api("GET", "damage", token=reader).json() == {"damage": [], "after": ""}
    assert archive.api("GET", "damage", token="").status == 401  # none
    for options, named in (
        (("--from", pair.second.address), "--repair"),
        (("--rate", "nan"), "--rate"),
    ):
        done = archive.ibi("audit", *options)
        assert done.returncode == 2
        assert named in done.stderr


def test_the_list_comes_in_pages(pair: Pair) -> None:
    archive = pair.first
    names = [f"{number:02} a.txt" for number in range(5)]
    item = archive.deposit(dict.fromkeys(names, b"x"), target=names[0])
    for name in names:
        path_of(archive, item, name).unlink()
    assert archive.ibi("audit", item["rep"]).returncode == 1
    found, after = [], ""
    while True:
        page = archive.api("GET", f"damage?limit=2&after={after.replace(' ', '%20')}").json()
        found += [damage["path"] for damage in page["damage"]]
        after = page["after"]
        if not after:
            break
    assert found == [f"doc/{name}" for name in names]
    deletion = {"reason": "a reason"}
    assert archive.api("POST", f"items/{item['rep']}/deletion", deletion).status == 200
    assert archive.ibi("audit").returncode == 0


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path) as archive:
        yield archive


def test_a_killed_audit_is_gone_on_with_from_where_it_was(own: ArchiveServer) -> None:
    names = [f"{number:02}" for number in range(20)]
    item = own.deposit({name: os.urandom(20_000) for name in names}, target="00")
    flip(path_of(own, item, "00"), RANDOM)
    flip(path_of(own, item, "19"), RANDOM)
    wait_until(lambda: all(task["state"] == "done" for task in tasks_of(own)))
    begun = own.api("POST", "audits", {"rate": 0.1}).json()
    task = f"tasks/{begun['id']}"
    # What is told is what was kept: as much as this is not read again.
    wait_until(lambda: files_read(own, task) >= 5)
    again = own.api("POST", "audits", {"rate": 0.1})
    assert again.json()["id"] == begun["id"]
    assert own.api("POST", "audits", {"repair": True}).status == 409
    own.kill()
    flip(path_of(own, item, "03"), RANDOM)  # which was judged before
    own.start()
    wait_until(lambda: own.api("GET", task).json()["state"] == "done")
    ended = own.api("GET", task).json()
    assert ended["result"]["files"] == 20
    assert ended["done"] == ended["total"] == 400_000
    assert [each["path"] for each in own.api("GET", "damage").json()["damage"]] == [
        "doc/00",
        "doc/19",
    ]
    assert len(json.loads(own.ibi("audit", "--json").stdout)["damage"]) == 3


def test_an_archive_that_does_not_run_is_audited_all_the_same(own: ArchiveServer) -> None:
    item = own.deposit(FILES, target="a.txt")
    own.kill()
    assert serving_at(own.data)  # it had no time to take that back
    done = own.ibi("audit")
    assert (done.returncode, done.stdout) == (0, "checked 2 files, 25603 bytes, all whole\n")
    flip(path_of(own, item, "a.txt"), RANDOM)
    done = own.ibi("audit", item["rep"], "--json")
    assert done.returncode == 1
    assert [each["path"] for each in json.loads(done.stdout)["damage"]] == ["doc/a.txt"]
    with neighbour(own.folder, 3) as third:
        third.deposit({"x": b"x"})
        own.set(allowed_networks=["127.0.0.0/8"])
        done = own.ibi("audit", "--repair", "--from", third.address, "--rate", "1000")
        assert done.returncode == 1
        assert f"{third.address}: There is no file 'a.txt'" in done.stdout
    path_of(own, item, "a.txt").write_bytes(FILES["a.txt"])
    assert own.ibi("audit").returncode == 0
    own.start()
    assert own.ibi("audit").returncode == 0
