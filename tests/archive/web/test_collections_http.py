"""Collections as curators, readers and programs use them, on each database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import quote, urlencode

import feedparser
import pytest

from ibi.archive.rules.collections.membership import MOST_COLLECTIONS
from tests.support.clients.http import Answer
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.postgres import database_options
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Curated:
    """An archive with two collections, and three items in one of them."""

    archive: ArchiveServer
    notes: dict[str, Any]
    maps: dict[str, Any]
    items: list[dict[str, Any]]

    def change(self, collection: dict[str, Any], **members: list[str]) -> Answer:
        """Add or remove items."""
        return self.archive.api("PATCH", f"collections/{quote(collection['rep'])}", members)

    def members(self, collection: str, text: str = "") -> list[str]:
        """Return the titles of the items of a collection that the search finds."""
        pairs = urlencode({"q": text, "collection": collection})
        found = self.archive.get(f"/api/v1/search?{pairs}").json()
        return [item["title"] for item in found["items"]]


def collection(archive: ArchiveServer, title: str, **facts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Deposit a collection."""
    record = {"titles": [title], "types": ["Collection"], "descriptions": [f"About {title}"]}
    return archive.deposit(metadata=record, **facts)


def command(archive: ArchiveServer, *arguments: str) -> CompletedProcess[str]:
    """Run a command on the collections of an archive."""
    given = ["archive", "collection", *arguments, "--data", str(archive.data)]
    return run(given, own_environment(archive.folder))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def curated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Curated]:
    options = database_options(request, "--catalogue")
    with ArchiveServer(tmp_path_factory.mktemp(request.param), *options) as archive:
        notes = collection(archive, "Field notes")
        maps = collection(archive, "Maps <b>of</b> rivers")
        items = [
            archive.deposit({"a.txt": b"a"}, metadata={"titles": [f"Note {word}"]})
            for word in ("alpha", "beta", "gamma")
        ]
        found = Curated(archive, notes, maps, items)
        labels = [items[0]["rep"], items[1]["ibip"], items[2]["rep"]]
        assert found.change(notes, add=labels).json()["items"] == 3
        yield found


def test_the_items_of_a_collection_are_found_by_either_of_its_labels(curated: Curated) -> None:
    expected = ["Note gamma", "Note beta", "Note alpha"]
    assert curated.members(curated.notes["rep"]) == expected
    assert curated.members(curated.notes["ibip"].lower()) == expected
    assert curated.members(curated.notes["ibip"], "betas") == ["Note beta"]
    assert curated.members("nothing of that kind") == []
    facets = curated.archive.get("/api/v1/search?q=note").json()["facets"]
    assert {"value": curated.notes["ibip"], "count": 3} in facets["collection"]


def test_programs_list_collections_without_a_token(curated: Curated) -> None:
    listed = curated.archive.get("/api/v1/collections").json()
    titles = [each["title"] for each in listed["collections"]]
    assert titles.index("Field notes") < titles.index("Maps <b>of</b> rivers")
    one = curated.archive.get(f"/api/v1/collections/{curated.notes['ibip']}").json()
    assert (one["items"], one["description"]) == (3, "About Field notes")
    assert curated.archive.get(f"/api/v1/collections/{curated.items[0]['rep']}").status == 409
    assert curated.archive.get("/api/v1/collections/a.example.org/b/2020/01.01.00.00").status == 404


def test_only_curators_change_collections(curated: Curated) -> None:
    archive, path = curated.archive, f"collections/{quote(curated.notes['rep'])}"
    assert archive.api("PATCH", path, {}, token="").status == 401
    reader = archive.add_token("reader", "read")
    assert archive.api("PATCH", path, {}, token=reader).status == 403


def test_items_are_added_and_removed_all_or_none(curated: Curated) -> None:
    archive = curated.archive
    item = archive.deposit({"b.txt": b"b"}, metadata={"titles": ["Sketch"]})
    refused = curated.change(curated.maps, add=[item["rep"], "8JMKD3MGP7W/3EPGUE5"])
    assert refused.status == 404
    assert curated.members(curated.maps["rep"]) == []
    before = archive.item(item["rep"])
    assert curated.change(curated.maps, add=[item["rep"]]).json()["items"] == 1
    again = curated.change(curated.maps, add=[item["rep"]])
    assert again.json()["items"] == 1
    after = archive.item(item["rep"])
    assert [each["ibip"] for each in after["collections"]] == [curated.maps["ibip"]]
    assert after["updated"] == before["updated"]
    [entry, *_] = archive.api("GET", "history?act=collect&order=newest").json()["history"]
    assert entry["label"] == curated.maps["rep"]
    assert curated.change(curated.maps, remove=[item["ibip"]]).json()["items"] == 0
    assert "collections" not in archive.item(item["rep"])
    assert curated.change(curated.maps, add=["x"] * 101).status == 400


def test_what_cannot_be_a_member_is_refused(curated: Curated) -> None:
    archive = curated.archive
    described = archive.item(curated.items[0]["rep"])["metadata"]["rep"]
    assert curated.change(curated.maps, add=[described]).status == 409
    assert curated.change(curated.items[0], add=[curated.items[1]["rep"]]).status == 409
    gone = archive.deposit({"c.txt": b"c"})
    archive.api("POST", f"items/{gone['rep']}/deletion", {"reason": "a test"})
    assert curated.change(curated.maps, add=[gone["rep"]]).status == 410


def test_a_collection_is_never_in_itself(curated: Curated) -> None:
    archive = curated.archive
    outer, inner = collection(archive, "Outer"), collection(archive, "Inner")
    assert curated.change(outer, add=[outer["rep"]]).status == 409
    assert curated.change(outer, add=[inner["rep"]]).status == 200
    refused = curated.change(inner, add=[outer["ibip"]])
    assert refused.status == 409
    assert "in itself" in refused.json()["detail"]
    text = archive.get(f"/collections/{inner['ibip']}").body.decode()
    assert f'href="/collections/{outer["ibip"]}"' in text


def test_an_item_is_in_a_limited_number_of_collections(curated: Curated) -> None:
    archive = curated.archive
    item = archive.deposit({"d.txt": b"d"}, metadata={"titles": ["Everywhere"]})
    many = [collection(archive, f"Series {number}") for number in range(MOST_COLLECTIONS + 1)]
    for each in many[:-1]:
        assert curated.change(each, add=[item["rep"]]).status == 200
    assert curated.change(many[-1], add=[item["rep"]]).status == 409


def test_an_item_is_deposited_into_a_collection(curated: Curated) -> None:
    archive = curated.archive
    place = collection(archive, "Incoming")
    item = archive.deposit(
        {"e.txt": b"e"}, metadata={"titles": ["Fresh"]}, collections=[place["ibip"]]
    )
    assert [each["rep"] for each in item["collections"]] == [place["rep"]]
    assert curated.members(place["rep"]) == ["Fresh"]
    wrong = archive.api(
        "POST", "deposits", {"metadata": {"titles": ["x"]}, "collections": [item["rep"]]}
    )
    assert wrong.status == 409


def test_curators_use_commands(curated: Curated, tmp_path: Path) -> None:
    archive = curated.archive
    made = archive.ibi(
        "deposit", "--title", "Herbarium", "--type", "Collection", "--creator", "Silva, Ana"
    )
    herbarium = made.stdout.split()[1]
    leaf = tmp_path / "leaf.txt"
    leaf.write_text("green")
    into = archive.ibi("deposit", str(leaf), "--title", "Leaf", "--collection", herbarium, "--json")
    label = json.loads(into.stdout)["ibip"]
    other = curated.items[0]["rep"]
    added = command(archive, "add", herbarium, other, label)
    assert added.returncode == 0, added.stderr
    assert added.stdout.split("\t")[2:] == ["2", "Herbarium\n"]
    listed = command(archive, "list", herbarium)
    assert [line.split("\t")[2] for line in listed.stdout.splitlines()] == ["Leaf", "Note alpha"]
    assert "Herbarium" in command(archive, "list").stdout
    removed = command(archive, "remove", herbarium, other, "--json")
    assert json.loads(removed.stdout)["items"] == 1
    refused = command(archive, "add", label, other)
    assert refused.returncode == 1
    assert "is not a collection" in refused.stderr


def test_readers_look_at_a_collection(curated: Curated) -> None:
    archive, notes = curated.archive, curated.notes
    text = archive.get(f"/collections/{notes['ibip']}").body.decode()
    assert "About Field notes" in text
    assert re.findall(r"Note [a-z]+", text) == ["Note gamma", "Note beta", "Note alpha"]
    assert f'<input type="hidden" name="collection" value="{notes["ibip"]}">' in text
    _, _, link = text.partition('rel="alternate" type="application/atom')
    feed = link.partition('href="')[2].partition('"')[0]
    entries = feedparser.parse(archive.get(feed.replace("&amp;", "&")).body).entries
    assert [entry.title for entry in entries] == ["Note gamma", "Note beta", "Note alpha"]
    pt = archive.get(f"/collections/{notes['rep']}?lang=pt").body.decode()
    assert "Buscar nesta coleção" in pt
    elsewhere = archive.get(f"/collections/{curated.items[0]['ibip']}")
    assert (elsewhere.status, elsewhere.headers["location"]) == (
        302,
        f"/{curated.items[0]['ibip']}:",
    )
    assert archive.get("/collections/nothing").status == 404


def test_pages_name_collections_by_their_titles(curated: Curated) -> None:
    archive = curated.archive
    for path in ("/collections", "/"):
        text = archive.get(path).body.decode()
        assert "<b>of</b>" not in text
    assert "Field notes</a>" in archive.get("/collections").body.decode()
    results = archive.get("/search?q=note").body.decode()
    assert "Field notes</span> <data" in results
    chosen = archive.get(f"/search?collection={curated.notes['ibip']}").body.decode()
    assert "Collection: Field notes</span>" in chosen
    item = archive.item(curated.items[0]["rep"])
    page = archive.get(f"/col/{item['metadata']['rep']}/doc/").body.decode()
    assert f'<a href="/collections/{curated.notes["ibip"]}" dir="auto">Field notes</a>' in page
    about = archive.item(curated.notes["rep"])
    own = archive.get(f"/col/{about['metadata']['rep']}/doc/").body.decode()
    assert "Items of this collection" in own


def test_the_items_of_a_deleted_collection_stay(curated: Curated) -> None:
    archive = curated.archive
    place = collection(archive, "Passing")
    item = archive.deposit(
        {"f.txt": b"f"}, metadata={"titles": ["Lasting"]}, collections=[place["rep"]]
    )
    archive.api("POST", f"items/{place['rep']}/deletion", {"reason": "a test"})
    assert archive.get(f"/api/v1/collections/{place['rep']}").status == 410
    assert curated.change(place, add=[item["rep"]]).status == 410
    page = archive.get("/search?q=lasting").body.decode()
    assert "Lasting" in page
    assert "Passing" not in page
    assert archive.item(item["rep"])["state"] == "Original"


def test_a_deleted_collection_leaves_the_manifests_of_its_items(tmp_path: Path) -> None:
    with neighbour(tmp_path, 1) as archive:
        passing, lasting = collection(archive, "Passing"), collection(archive, "Lasting")
        both = [passing["rep"], lasting["rep"]]
        items = [
            archive.deposit({"f.txt": b"f"}, metadata={"titles": [f"Item {n}"]}, collections=both)
            for n in range(3)
        ]
        assert (
            archive.api("POST", f"items/{passing['rep']}/deletion", {"reason": "x"}).status == 200
        )
        before = archive.item(items[0]["rep"])
        assert [each["rep"] for each in before["collections"]] == both
        archive.restart()  # housekeeping begins at the start, and again every hour

        def named() -> list[str]:
            found = [archive.item(item["rep"])["collections"] for item in items]
            return [each["rep"] for labels in found for each in labels]

        wait_until(lambda: named() == [lasting["rep"]] * 3)
        assert archive.item(items[0]["rep"])["updated"] == before["updated"]
        manifests = [json.loads(path.read_bytes()) for path in archive.data.rglob("ibi.json")]
        forms = [each for manifest in manifests for each in manifest.get("collections", [])]
        assert [each.split()[1] for each in forms] == [lasting["rep"]] * 3
        last = archive.api("GET", "history?act=collect&order=newest&limit=1").json()["history"]
        assert [each["who"] for each in last] == ["archive"]
        assert archive.get(f"/api/v1/collections/{lasting['rep']}").json()["items"] == 3


def test_a_transferred_item_keeps_its_collections(tmp_path: Path) -> None:
    with neighbour(tmp_path, 1) as first, neighbour(tmp_path, 2) as second:
        there = collection(first, "There")
        item = first.deposit({"a": b"a"}, metadata={"titles": ["One"]}, collections=[there["rep"]])
        token = second.add_token("sender", "receive")
        given = (item["rep"], "--to", second.address, "--to-token", token, "--yes")
        sent = first.ibi("transfer", *given)
        assert sent.returncode == 0, sent.stderr
        wait_until(lambda: second.api("GET", f"items/{item['rep']}").status == 200)
        wait_until(lambda: second.item(item["rep"])["state"] == "Original")
        assert [each["rep"] for each in second.item(item["rep"])["collections"]] == [there["rep"]]
        # The sender has a Copy, which stays in its collection.
        assert Curated(first, there, there, []).members(there["rep"]) == ["One"]
        # The collection is not held by the receiver, which therefore shows none.
        assert second.get("/api/v1/collections").json()["collections"] == []
        # When it comes too, it has its item again.
        sent = first.ibi("transfer", there["rep"], *given[1:])
        assert sent.returncode == 0, sent.stderr
        wait_until(lambda: second.get(f"/api/v1/collections/{there['rep']}").status == 200)
        assert Curated(second, there, there, []).members(there["rep"]) == ["One"]


def test_a_bag_carries_collections(tmp_path: Path) -> None:
    with neighbour(tmp_path, 1) as first, neighbour(tmp_path, 2) as second:
        place = collection(first, "There")
        item = first.deposit({"a": b"a"}, metadata={"titles": ["One"]}, collections=[place["rep"]])
        for label in (item["rep"], place["rep"]):
            bag = tmp_path / f"bag-{label.rpartition('.')[2]}-{label == place['rep']}"
            exported = first.ibi("export", label, str(bag))
            assert exported.returncode == 0, exported.stderr
            imported = second.ibi("import", str(bag))
            assert imported.returncode == 0, imported.stderr
        assert [each["rep"] for each in second.item(item["rep"])["collections"]] == [place["rep"]]
        assert Curated(second, place, place, []).members(place["rep"]) == ["One"]


def test_collections_survive_a_rebuild_from_the_files(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    with archive:
        place = collection(archive, "Series")
        archive.deposit({"a": b"a"}, metadata={"titles": ["One"]}, collections=[place["rep"]])
    for catalogue in archive.data.glob("catalogue*"):
        catalogue.unlink()
    rebuilt = archive.ibi("rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    with archive:
        found = Curated(archive, place, place, [])
        wait_until(lambda: archive.get("/api/v1/search").json()["complete"])
        assert found.members(place["rep"]) == ["One"]


def test_a_copy_brings_its_collections_and_then_keeps_its_own(tmp_path: Path) -> None:
    with neighbour(tmp_path, 1) as first, neighbour(tmp_path, 2) as second:
        there = collection(first, "There")
        item = first.deposit({"a": b"a"}, metadata={"titles": ["One"]}, collections=[there["rep"]])
        here = collection(second, "Here")
        copied = second.ibi("copy", item["rep"], "--from", first.address)
        assert copied.returncode == 0, copied.stderr
        labels = [each["rep"] for each in second.item(item["rep"])["collections"]]
        assert labels == [there["rep"]]
        own = Curated(second, here, here, [])
        assert own.change(here, add=[item["rep"]]).status == 200
        other = {"titles": ["One, corrected"]}
        assert first.api("PUT", f"items/{item['rep']}/metadata", other).status == 200
        assert second.ibi("copy", item["rep"], "--from", first.address).returncode == 0
        after = second.item(item["rep"])
        assert after["record"]["titles"][0] in ("One, corrected", {"value": "One, corrected"})
        assert [each["rep"] for each in after["collections"]] == [there["rep"], here["rep"]]
