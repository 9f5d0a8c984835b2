"""The search of an archive as its readers and programs use it, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import database_options


@dataclass(frozen=True)
class Shelf:
    """An archive with a few items."""

    archive: ArchiveServer
    report: dict[str, Any]
    study: dict[str, Any]
    hostile: dict[str, Any]
    limited: dict[str, Any]

    def find(self, text: str = "", **pairs: str) -> dict[str, Any]:
        """Return the answer of the API."""
        answer = self.archive.get(f"/api/v1/search?{urlencode({'q': text, **pairs})}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def titles(self, text: str = "", **pairs: str) -> list[str]:
        """Return the titles that the API finds."""
        return [item["title"] for item in self.find(text, **pairs)["items"]]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shelf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelf]:
    options = database_options(request, "--catalogue")
    with ArchiveServer(tmp_path_factory.mktemp(request.param), *options) as archive:
        report = archive.deposit(
            {"r.pdf": b"%PDF-"},
            language="pt-BR",
            metadata={
                "titles": ["Relatórios da Mata Atlântica"],
                "creators": ["Fonseca, Inês"],
                "descriptions": ["Imagens do satélite CBERS-4A & estações de campo."],
                "dates": ["2013-05-02"],
                "types": ["Report"],
            },
        )
        study = archive.deposit(
            {"s.csv": b"1"},
            language="en",
            metadata={
                "titles": ["Studies of deforestation"],
                "creators": ["Fonseca, Inês", "Burnings Programme"],
                "dates": ["2008"],
                "types": ["Data set"],
            },
        )
        hostile = archive.deposit(
            {"h.txt": b"1"},
            metadata={
                "titles": ["<script>alert(1)</script> report"],
                "descriptions": ["<img src=x onerror=alert(1)> forest"],
                "types": ["<b>bold</b>"],
                "creators": ['"><script>alert(2)</script>'],
            },
        )
        limited = archive.deposit(
            {"l.txt": b"1"}, metadata={"titles": ["For the campus"]}, readers=["192.0.2.0/24"]
        )
        yield Shelf(archive, report, study, hostile, limited)


def test_programs_search_without_a_token(shelf: Shelf) -> None:
    found = shelf.find("imagem CBERS", type="report")
    assert (found["count"], found["more"], found["page"], found["pages"]) == (1, False, 1, 1)
    assert found["complete"]
    [item] = found["items"]
    assert item["rep"] == shelf.report["rep"]
    assert item["persistent_url"] == shelf.report["persistent_url"]
    assert item["title"] == "Relatórios da Mata Atlântica"
    assert item["creators"] == ["Fonseca, Inês"]
    assert (item["year"], item["types"], item["languages"]) == ("2013", ["Report"], ["pt"])
    assert item["snippet"] == "Imagens do satélite CBERS-4A & estações de campo."
    assert found["facets"]["creator"] == [{"value": "Fonseca, Inês", "count": 1}]


def test_facets_are_counted_and_narrow_the_search(shelf: Shelf) -> None:
    facets = shelf.find("fonseca")["facets"]
    assert facets["creator"][0] == {"value": "Fonseca, Inês", "count": 2}
    assert facets["year"] == [{"value": "2013", "count": 1}, {"value": "2008", "count": 1}]
    assert shelf.titles("fonseca", year="2008") == ["Studies of deforestation"]
    assert shelf.titles(creator="burnings programme") == ["Studies of deforestation"]


def test_restricted_items_are_found_by_their_public_descriptions(shelf: Shelf) -> None:
    assert shelf.titles("campus") == ["For the campus"]


def test_changes_are_found_at_once_and_deleted_items_never(shelf: Shelf) -> None:
    archive = shelf.archive
    item = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["Ephemeral"]})
    assert shelf.titles("ephemeral") == ["Ephemeral"]
    record = {"titles": ["Perpetual"]}
    assert archive.api("PUT", f"items/{item['rep']}/metadata", record).status == 200
    assert (shelf.titles("ephemeral"), shelf.titles("perpetual")) == ([], ["Perpetual"])
    archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "a test"})
    assert shelf.titles("perpetual") == []


def test_the_list_of_items_is_public_without_facts_for_the_administration(shelf: Shelf) -> None:
    listed = shelf.archive.get("/api/v1/items?kind=data&limit=1000").json()["items"]
    [limited] = [item for item in listed if item["rep"] == shelf.limited["rep"]]
    assert limited["title"] == "For the campus"
    assert "readers" not in limited
    known = shelf.archive.api("GET", "items?kind=data&limit=1000").json()["items"]
    assert [item["readers"] for item in known if "readers" in item] == [["192.0.2.0/24"]]
    assert shelf.archive.get("/api/v1/items?words=report").status == 401
    wrong = shelf.archive.get("/api/v1/items", Authorization="Bearer wrong")
    assert wrong.status == 401


def _ask(shelf: Shelf, path: str, pairs: dict[str, str]) -> Answer:
    query = "&".join(
        f"{name}={quote(value, errors='surrogatepass')}" for name, value in pairs.items()
    )
    return shelf.archive.get(f"{path}?{query}")


NAMES = st.sampled_from(["q", "year", "type", "language", "creator", "sort", "page", "lang"])
WORDS = st.text() | st.text(alphabet="\"*-()':&|!<>^{}~=\\ aAND NEAR")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(NAMES, WORDS, min_size=1))
def test_any_text_is_a_search(shelf: Shelf, pairs: dict[str, str]) -> None:
    assert _ask(shelf, "/api/v1/search", pairs).status == 200
