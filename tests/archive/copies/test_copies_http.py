"""Copies over real sockets: two archives and a resolver, each in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.support.servers.archive import ArchiveServer, files_in
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

FILES = {"a.txt": b"the file", "in/b.txt": b"another"}


@dataclass
class Neighbours:
    """An archive that keeps copies of the items of another; both are linked to a resolver."""

    resolver: ResolverServer
    there: ArchiveServer
    here: ArchiveServer

    def copies(self, *options: str) -> dict[str, dict[str, Any]]:
        """Return what the command says of the copies."""
        listed = self.here.ibi("copies", "--json", *options)
        assert listed.returncode == 0, listed.stderr
        found = [json.loads(line) for line in listed.stdout.splitlines()]
        return {each["item"]: each for each in found}

    def copy(self, *arguments: str) -> str:
        """Copy by the command; return what it says."""
        done = self.here.ibi("copy", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbours]:
    with linked_archives(tmp_path_factory.mktemp("neighbours"), 2) as (resolver, archives):
        yield Neighbours(resolver, *archives)


def test_original_is_found_by_any_of_its_labels(neighbours: Neighbours) -> None:
    item = neighbours.there.deposit(FILES, target="a.txt")
    assert neighbours.copy(item["metadata"]["ibip"]) == "copied 1, current 0\n"
    assert neighbours.copy(item["ibip"]) == "copied 0, current 1\n"


def test_schedule_compares_when_the_archive_is_started(neighbours: Neighbours) -> None:
    here = neighbours.here
    label = neighbours.there.deposit({"a": b"a"})["rep"]
    neighbours.copy(label, "--from", neighbours.there.address)
    here.stop()
    forget_refreshes(here.data / "catalogue.sqlite")
    here.start()

    def is_done() -> bool:
        tasks = here.api("GET", "tasks?kind=refresh").json()["tasks"]
        return [(task["who"], task["state"]) for task in tasks] == [("schedule", "done")]

    wait_until(is_done)


def forget_refreshes(catalogue: Path) -> None:
    """Let it be as if none had been made within the last day."""
    connection = apsw.Connection(str(catalogue))
    connection.execute("DELETE FROM archive_task WHERE kind = 'refresh'")
    connection.close()


def test_all_of_an_archive(neighbours: Neighbours) -> None:
    labels = {neighbours.there.deposit({"a": str(n).encode()})["rep"] for n in range(12)}
    neighbours.copy("--all", "--from", neighbours.there.address)
    assert labels <= neighbours.copies().keys()


def test_private_items_need_more_than_a_wish(neighbours: Neighbours) -> None:
    label = neighbours.there.deposit({"a": b"a"}, list_public=False)["rep"]
    refused = neighbours.here.ibi("copy", label)
    assert refused.returncode != 0
    assert "not public" in refused.stderr
    assert neighbours.here.api("GET", f"items/{label}").status == 404


def test_refusals_change_nothing(neighbours: Neighbours) -> None:
    here, there = neighbours.here, neighbours.there
    own = here.deposit({"a": b"a"})["rep"]
    gone = here.deposit({"a": b"a"})["rep"]
    here.api("POST", f"items/{gone}/deletion", {"reason": "gone"})
    unknown = "example.org/nowhere/2020/01.01.00.00"
    before = here.snapshot()
    for arguments, words in (
        ((own,), "Original in this archive"),
        ((gone,), "was deleted"),
        ((unknown,), "No resolver says"),
        ((unknown, "--from", there.address), "does not have"),
        ((there.service, "--from", there.address), "service of another archive"),
        ((own, "--from", "http://127.0.0.1:1"), "Original in this archive"),
        ((unknown, "--from", here.address), "this archive itself"),
        ((unknown, "--from", neighbours.resolver.address), "not such an archive"),
        ((unknown, "--from", "ftp://x"), "not the address"),
        (("no label",), "no label"),
        ((), "--all --from"),
        (("--all",), "--all --from"),
        ((own, "--all", "--from", there.address), "--all --from"),
    ):
        refused = here.ibi("copy", *arguments)
        assert refused.returncode != 0, arguments
        assert words in refused.stderr, (arguments, refused.stderr)
        assert len(refused.stderr.splitlines()) == 1, refused.stderr
    for label in (own, gone, unknown):
        assert here.ibi("drop", label).returncode != 0
    assert here.snapshot() == before


def test_each_item_that_could_not_be_copied_is_named(neighbours: Neighbours) -> None:
    unknown = [f"example.org/nowhere/2020/01.01.00.0{number}" for number in range(3)]
    arguments = (*unknown, "--from", neighbours.there.address)
    refused = neighbours.here.ibi("copy", *arguments)
    assert refused.returncode == 1
    *lines, last = refused.stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == unknown
    assert "3 of 3 items" in last
    told = neighbours.here.ibi("copy", *arguments, "--json")
    assert told.returncode == 1
    assert [each["item"] for each in json.loads(told.stdout)["result"]["faults"]] == unknown


def test_only_administrators_copy_and_drop(neighbours: Neighbours) -> None:
    reader = neighbours.here.add_token("copy-reader", "deposit")
    for method, path, body in (
        ("POST", "copies", {"items": ["x"]}),
        ("DELETE", "copies/example.org/nowhere/2020/01.01.00.00", None),
    ):
        assert neighbours.here.api(method, path, body, token=reader).status == 403
        assert neighbours.here.api(method, path, body, token="").status == 401
    assert neighbours.here.api("GET", "copies", token="").status == 401
    assert neighbours.here.api("GET", "copies", token=reader).status == 200


def test_life_of_a_copy(neighbours: Neighbours) -> None:
    resolver, there, here = neighbours.resolver, neighbours.there, neighbours.here
    label = there.deposit(FILES, target="a.txt")["rep"]
    assert neighbours.copy(label) == "copied 1, current 0\n"
    item = here.item(label)
    assert item["state"] == "Copy"
    assert here.get(f"/col/{label}/doc/in/b.txt").body == FILES["in/b.txt"]
    assert here.get(f"/col/{label}/ibi.json").json()["origin"] == there.address
    assert neighbours.copies()[label]["from"] == there.address

    # The Original is edited; whoever compares gets what is new.
    id_ = there.open_deposit(item=label, metadata={})
    assert there.send(id_, "c.txt", b"new").status == 201
    there.complete(id_)
    assert label in neighbours.copies("--refresh")
    assert here.get(f"/col/{label}/doc/c.txt").body == b"new"

    # Its archive is gone: that is reported, and the Copy serves.
    there.kill()
    missing = neighbours.copies("--refresh", "--faulty")[label]
    assert missing["missing_since"]
    assert there.address in missing["fault"]
    assert here.metric("ibi_archive_originals_missing") == len(neighbours.copies())
    assert "the original of a copy is missing" in here.log()
    wait_until(
        lambda: resolver.get(f"/{label}").headers.get("location", "").startswith(here.address)
    )

    # It is back, and deletes the Original: the Copy stays, and says so.
    there.start()
    assert neighbours.copies("--refresh", "--faulty") == {}
    assert there.api("POST", f"items/{label}/deletion", {"reason": "gone"}).status == 200
    [deleted] = neighbours.copies("--refresh", "--faulty").values()
    assert "was deleted" in deleted["fault"]
    assert here.get(f"/col/{label}/doc/a.txt").body == FILES["a.txt"]

    dropped = here.ibi("drop", label)
    assert (dropped.returncode, dropped.stdout) == (0, f"dropped {label}\n"), dropped.stderr
    assert label not in neighbours.copies()
    assert here.api("GET", f"items/{label}").status == 404
    assert not [path for path in files_in(here.data / "col") if label in path]
