"""Handle records of labels, read by pyhandle as it is, and by requests that it would not send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from lxml import etree

from tests.support.clients.handle_client import REFUSED, handle_client
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import label, service_of
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer

CONTESTED, UNKNOWN = label(1), label(2)
HANDLES: Final = "/api/handles"


@dataclass(frozen=True)
class Scene:
    """A resolver with an archive that it includes, and two that claim the same item."""

    resolver: ResolverServer
    archive: ArchiveServer

    @property
    def client(self) -> Any:  # noqa: ANN401  # it ships no types
        """A client that nobody has changed."""
        return handle_client(self.resolver.address)

    def code(self, handle: str, query: str = "") -> tuple[int, int]:
        """Return the status, and the code of the document."""
        answer = self.resolver.get(f"{HANDLES}/{handle}{query}")
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["access-control-allow-origin"] == "*"
        return answer.status, answer.json()["responseCode"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("handles")
        resolver, (archive,) = stack.enter_context(linked_archives(folder, 1))
        for number in range(2):
            rival = stack.enter_context(ArchiveDouble(service_of(number)))
            rival.hold(CONTESTED)
            resolver.include(rival)
        yield Scene(resolver, archive)


def test_pyhandle_reads_what_a_persistent_url_leads_to(scene: Scene) -> None:
    item = scene.archive.deposit({"a.txt": b"a"}, metadata={"titles": ["A"]})
    for name in (item["rep"], item["ibip"]):
        location = scene.resolver.get(f"/{name}").headers["location"]
        record = scene.client.retrieve_handle_record(name)
        assert record.keys() == {"URL", "10320/loc", "IBI"}
        assert record["URL"] == location == item["url"]
        places = etree.fromstring(record["10320/loc"])
        assert [each.get("href") for each in places] == [
            location,
            f"{scene.resolver.address}/{name}:",
        ]
        assert scene.client.get_value_from_handle(name, "URL", indices=[1]) == location
        whole = scene.client.retrieve_handle_record_json(name, auth=True)
        assert [each["data"]["value"] for each in whole["values"][2:]] == [
            item["rep"],
            item["ibip"],
        ]
        assert "HS_ADMIN" not in str(whole)
    assert scene.client.retrieve_handle_record(UNKNOWN) is None
    assert scene.client.retrieve_handle_record_json(UNKNOWN) is None


def test_types_and_indices_select_values(scene: Scene) -> None:
    item = scene.archive.deposit({"a.txt": b"a"})
    place = f"{HANDLES}/{item['ibip']}"

    def found(query: str) -> list[int]:
        answer = scene.resolver.get(f"{place}?{query}")
        assert answer.status == HTTPStatus.OK
        return [each["index"] for each in answer.json()["values"]]

    assert found("") == [1, 2, 100, 101]
    assert found("type=url") == [1]
    assert found("type=10320/loc&index=1") == [1, 2]
    assert found("type=IBI&pretty&auth=false") == [100, 101]
    assert found("type=HS_ADMIN") == []
    assert scene.code(item["ibip"], "?type=HS_ADMIN") == (200, 200)
    for wrong in ("index=-1", "index=x", "index=%D9%A3", "index=" + "9" * 11, "index=1&" * 21):
        assert scene.code(item["ibip"], f"?{wrong}") == (400, 4)
    script = scene.resolver.get(f"{place}?callback=alert")
    assert (script.status, script.json()["responseCode"]) == (400, 4)
    assert script.headers["x-content-type-options"] == "nosniff"


def test_uris_and_inflections_lead_to_the_item(scene: Scene) -> None:
    metadata = {"titles": ["Rios; lagos"], "creators": ["Alencar, Ana"], "dates": ["2013-09-04"]}
    item = scene.archive.deposit({"a.txt": b"a"}, metadata=metadata)
    for server in (scene.resolver, scene.archive):
        for name in (item["rep"], item["ibip"]):
            location = server.get(f"/{name}").headers["location"]
            for before in ("ibi:", "upn:", "IBI:", "ibi%3A"):
                found = server.get(f"/{before}{name}")
                assert (found.status, found.headers["location"]) == (302, location)
            described = server.get(f"/{name}:").headers["location"]
            assert server.get(f"/{name}??").headers["location"] == described
            shown = server.get(f"/{name}?info")
            assert shown.status == HTTPStatus.FOUND
            record = scene.archive.get(
                shown.headers["location"].removeprefix(scene.archive.address)
            )
            assert record.headers["content-type"] == "text/plain; charset=utf-8"
            assert record.body.decode() == (
                "erc:\nwho: Alencar, Ana\nwhat: Rios%3B lagos\nwhen: 20130904\n"
                f"where: {scene.resolver.address}/{item['ibip']}\n"
            )
    # A pair that has a value belongs to the item, as it did.
    assert "info=1" in scene.resolver.get(f"/{item['ibip']}?info=1").headers["location"]
    pasted = scene.resolver.get(f"/search?q=upn:{item['ibip']}", Accept="text/html")
    assert f'href="/{item["ibip"]}"' in pasted.body.decode()


def test_what_is_no_label_is_an_invalid_handle(scene: Scene) -> None:
    for wrong in ("x", "10.1000/182", "%00/%ff", "//", quote("é/ñ"), f"{UNKNOWN}!", "9" * 5000):
        assert scene.code(wrong) == (400, 102), wrong
    for method in ("PUT", "DELETE", "POST"):
        answer = scene.resolver.ask(method, f"{HANDLES}/{UNKNOWN}", b"{}")
        assert answer.status == HTTPStatus.METHOD_NOT_ALLOWED


def test_a_deleted_item_has_no_values_and_a_tombstone(scene: Scene) -> None:
    name = scene.archive.deposit({"a.txt": b"a"})["ibip"]
    deletion = {"reason": "It held names of residents."}
    assert scene.archive.api("POST", f"items/{name}/deletion", deletion).status == HTTPStatus.OK
    assert scene.code(name) == (410, 200)
    message = scene.resolver.get(f"{HANDLES}/{name}").json()["message"]
    assert f"http://{scene.archive.place}/{name}" in message
    with pytest.raises(REFUSED):
        scene.client.retrieve_handle_record(name)


def test_a_contested_original_has_no_record(scene: Scene) -> None:
    """As for readers: what is no claim to the Original is served, what needs it is not."""
    original = "?ibiurl.requireditemstatus=Original"
    assert scene.resolver.get(f"/{CONTESTED}{original}").status == HTTPStatus.CONFLICT
    assert scene.code(CONTESTED, "?auth=true") == (409, 2)
    with pytest.raises(REFUSED):
        scene.client.retrieve_handle_record_json(CONTESTED, auth=True)


def test_what_is_for_some_readers_only_no_cache_stores(scene: Scene) -> None:
    local = scene.archive.deposit({"a.txt": b"a"}, readers=["127.0.0.0/8"])["ibip"]
    distant = scene.archive.deposit({"a.txt": b"a"}, readers=["192.0.2.0/24"])["ibip"]
    for name, cache in ((local, "private, no-store"), (distant, "private, no-store")):
        answer = scene.resolver.get(f"{HANDLES}/{name}")
        assert answer.headers["cache-control"] == cache
        [value] = scene.resolver.get(f"{HANDLES}/{name}?type=URL").json()["values"]
        assert value["data"]["value"] == scene.resolver.get(f"/{name}").headers["location"]


def test_records_are_charged_as_searches(tmp_path: Path) -> None:
    """A network that has used up its share of searches gets no more of them as handles."""
    resolver = ResolverServer(tmp_path)
    resolver.set(messages_a_second=1)
    with resolver, ArchiveDouble(service_of(0)) as archive:
        resolver.include(archive)
        asked = [resolver.get(f"{HANDLES}/{label(100 + number)}") for number in range(30)]
        busy = [each for each in asked if each.status == HTTPStatus.TOO_MANY_REQUESTS]
        assert {each.status for each in asked} == {404, 429}
        assert {each.json()["responseCode"] for each in busy} == {3}
        assert all(int(each.headers["retry-after"]) > 0 for each in busy)
