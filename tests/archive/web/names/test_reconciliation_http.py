"""Reconciliation as OpenRefine asks for it: manifest, batches, suggestions, data extension."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from tests.support.clients.http import PROBLEM, Answer
from tests.support.servers.archive import ArchiveServer

FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
RIVERS: Final = "Rios da Amazônia: vazões"


@dataclass(frozen=True)
class Scene:
    """An archive with items of some titles."""

    archive: ArchiveServer
    rivers: dict[str, Any]
    floods: dict[str, Any]
    twins: tuple[dict[str, Any], dict[str, Any]]
    deleted: dict[str, Any]

    def post(self, **fields: object) -> Answer:
        """Send a form, whose values are JSON."""
        body = urlencode({name: json.dumps(value) for name, value in fields.items()}).encode()
        answer = self.archive.ask("POST", "/reconcile", body, headers=FORM)
        assert answer.headers["access-control-allow-origin"] == "*"
        return answer

    def found(self, **query: object) -> list[dict[str, Any]]:
        """Return the candidates of one query."""
        answer = self.post(queries={"q0": query})
        assert answer.status == HTTPStatus.OK, answer.body
        result: list[dict[str, Any]] = answer.json()["q0"]["result"]
        assert [each["score"] for each in result] == sorted(
            (each["score"] for each in result), reverse=True
        )
        return result


def record(title: str, creator: str, year: str, type_: str) -> dict[str, Any]:
    return {"titles": [title], "creators": [creator], "dates": [year], "types": [type_]}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as archive:

        def deposit(*parts: str, **more: object) -> dict[str, Any]:
            return archive.deposit({"a.txt": b"a"}, metadata=record(*parts), **more)

        rivers = deposit(RIVERS, "Alencar, Ana", "2013", "Dataset", readers=["192.0.2.0/24"])
        floods = deposit("Rios da Amazônia: cheias", "Brito, Beto", "2014", "Report")
        twins = (
            deposit("Annual report", "Costa, Caio", "2001", "Report"),
            deposit("Annual report", "Costa, Caio", "2002", "Report"),
        )
        deleted = deposit("Rios da Amazônia: erros", "Costa, Caio", "2002", "Report")
        wanted = {"reason": "It was wrong."}
        done = archive.api("POST", f"items/{deleted['rep']}/deletion", wanted)
        assert done.status == HTTPStatus.OK
        yield Scene(archive, rivers, floods, twins, deleted)


def test_the_manifest_describes_the_service(scene: Scene) -> None:
    answer = scene.archive.get("/reconcile", Origin="http://127.0.0.1:3333")
    assert answer.headers["access-control-allow-origin"] == "*"
    manifest = answer.json()
    assert "0.2" in manifest["versions"]
    assert manifest["identifierSpace"].startswith("http")
    view = manifest["view"]["url"].replace("{{id}}", scene.rivers["ibip"])
    assert view == f"{scene.archive.address}/{scene.rivers['ibip']}:"
    for kind in ("entity", "type", "property"):
        service = manifest["suggest"][kind]
        path = service["service_url"].removeprefix(scene.archive.address)
        assert scene.archive.get(path + service["service_path"] + "?prefix=re").json()["result"]


def test_cells_are_reconciled_with_items(scene: Scene) -> None:
    [best] = scene.found(query=RIVERS.upper().replace(":", ""))
    assert (best["id"], best["score"], best["match"]) == (scene.rivers["ibip"], 100.0, True)
    assert best["name"] == RIVERS
    assert best["type"] == [{"id": "Dataset", "name": "Dataset"}]
    assert best["description"] == "Alencar, Ana; 2013"
    misspelled = scene.found(query="Rios da Amazônia: qwertz")
    assert {each["id"] for each in misspelled} == {scene.rivers["ibip"], scene.floods["ibip"]}
    assert not any(each["match"] for each in misspelled)
    assert 0 < misspelled[0]["score"] < 100
    assert len(scene.found(query="Rios da Amazônia", limit=1)) == 1
    # Of two with one title, only what else is known tells which is meant.
    both = scene.found(query="Annual report")
    assert {each["id"] for each in both} == {each["ibip"] for each in scene.twins}
    assert [(each["score"], each["match"]) for each in both] == [(100.0, False)] * 2
    [one, _] = scene.found(query="Annual report", properties=[{"pid": "year", "v": 2002}])
    assert (one["id"], one["match"]) == (scene.twins[1]["ibip"], True)
    author = [{"pid": "creator", "v": [{"id": "x", "name": "beto BRITO"}]}]
    assert scene.found(query="", properties=author)[0]["id"] == scene.floods["ibip"]
    # A label is a certain name, however it is written.
    for name in (scene.rivers["ibip"], f"ibi:{scene.rivers['rep']}"):
        [named] = scene.found(query=name)
        assert (named["id"], named["match"]) == (scene.rivers["ibip"], True)
    assert scene.found(query=scene.deleted["rep"]) == []
    assert "erros" not in str(scene.found(query="Rios da Amazônia erros"))
    assert scene.found(query="nothing of the kind") == []
    assert scene.found(query='" - * "') == []


def test_types_narrow_the_candidates(scene: Scene) -> None:
    name = "Rios da Amazônia"
    every = {scene.rivers["ibip"], scene.floods["ibip"]}
    for wanted, strict, found in (
        ("", "any", every),
        ("item", "any", every),
        ("dataset", "any", {scene.rivers["ibip"]}),
        (["Dataset", "Report"], "any", every),
        (["Dataset", "Report"], "all", set()),
        (["Dataset"], "should", every),
    ):
        result = scene.found(query=name, type=wanted, type_strict=strict)
        assert {each["id"] for each in result} == found, (wanted, strict)


def test_a_table_is_extended_by_properties(scene: Scene) -> None:
    ids = [scene.rivers["ibip"], scene.floods["rep"], scene.deleted["ibip"], "no label"]
    names = ["title", "creator", "year", "persistent-url", "shoe size"]
    answer = scene.post(extend={"ids": ids, "properties": [{"id": each} for each in names]})
    told = answer.json()
    assert [each["id"] for each in told["meta"]] == names
    assert told["rows"][ids[0]]["title"] == [{"str": RIVERS}]
    assert told["rows"][ids[1]]["creator"] == [{"str": "Brito, Beto"}]
    assert told["rows"][ids[2]] == told["rows"][ids[3]] == {each: [] for each in names}
    assert told["rows"][ids[0]]["shoe size"] == []
    proposed = scene.archive.get("/reconcile/properties?type=item&limit=3").json()
    assert [each["id"] for each in proposed["properties"]] == ["title", "creator", "year"]


def test_suggestions_complete_what_a_person_types(scene: Scene) -> None:
    def suggested(kind: str, prefix: str) -> list[str]:
        path = f"/reconcile/suggest/{kind}?{urlencode({'prefix': prefix})}"
        return [each["id"] for each in scene.archive.get(path).json()["result"]]

    assert set(suggested("entity", "rios da amaz")) == {
        scene.rivers["ibip"],
        scene.floods["ibip"],
    }
    assert suggested("entity", scene.rivers["rep"]) == [scene.rivers["ibip"]]
    assert suggested("entity", "r") == []
    assert suggested("type", "data") == ["Dataset"]
    assert suggested("property", "pers") == ["persistent-url"]


def test_what_is_wrong_or_too_much_is_refused(scene: Scene) -> None:
    query = {"query": "x"}
    too_many = {f"q{number}": query for number in range(51)}
    wrong: tuple[dict[str, Any], ...] = (
        {"queries": too_many},
        {"queries": [query]},
        {"queries": {"q0": {"query": 5}}},
        {"queries": {"q0": {"query": "x", "limit": "many"}}},
        {"extend": {"ids": ["x"] * 101, "properties": []}},
        {"extend": {"properties": []}},
        {"other": 1, "callback": "alert"},
    )
    for fields in wrong:
        answer = scene.post(**fields)
        assert answer.status == HTTPStatus.BAD_REQUEST, fields
        assert answer.headers["content-type"] == PROBLEM
    for body in (b"", b"\xff\xfe", b"queries=%ff", b"queries={", b"&".join([b"a=b"] * 99)):
        answer = scene.archive.ask("POST", "/reconcile", body, headers=FORM)
        assert answer.status == HTTPStatus.BAD_REQUEST, body
    large = scene.archive.ask("POST", "/reconcile", b"queries=" + b"x" * 300_000, headers=FORM)
    assert large.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    odd = {
        "query": "\ud800\x00" * 9 + "x" * 5000,
        "limit": 1e300,
        "properties": [{"pid": "", "v": None}],
    }
    assert scene.post(queries={"q": odd, "": query}).status in {200, 400}
    assert scene.archive.get("/reconcile?queries={}").json() == {}
    assert "unforeseen" not in scene.archive.log()
