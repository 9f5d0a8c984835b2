"""An archive gives the form of an item that its client prefers, and HTML to no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lxml import etree

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer

CHROME = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
TYPES = {
    "oai_dc": "text/xml",
    "bibtex": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
    "csl": "application/vnd.citationstyles.csl+json",
    "json": "application/json",
    "datacite": "application/vnd.datacite.datacite+xml",
    "datacite_json": "application/vnd.datacite.datacite+json",
    "schema_org": "application/ld+json",
    "mods": "application/mods+xml",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    metadata = {"titles": ["Uma tese"], "creators": ["Banon, Gerald"], "dates": ["2009-02"]}
    return archive.deposit({"a.txt": b"a text"}, metadata={**metadata, "types": ["Master thesis"]})


def follow(archive: ArchiveServer, path: str, accept: str) -> Answer:
    """Read an address as a client does that accepts some media types."""
    for _ in range(4):
        answer = archive.get(path, Accept=accept)
        if answer.status != 302:
            return answer
        assert "Accept" in answer.headers["vary"].split(", ")
        path = answer.headers["location"].removeprefix(archive.address)
    raise AssertionError(path)


def test_each_form_comes_by_header_and_by_modifier(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    page = f"/col/{item['metadata']['rep']}/doc/metadata"
    for name, media_type in TYPES.items():
        for path in (f"/{item['ibip']}", f"/{item['ibip']}:", page):
            answer = follow(archive, path, f"{media_type}, text/html;q=0.5")
            assert answer.status == 200
            assert answer.headers["content-type"].partition(";")[0] == media_type, path
            assert "Uma tese" in answer.body.decode()
        direct = archive.get(page, Accept=media_type)
        assert "Accept" in direct.headers["vary"].split(", ")
        modified = follow_modifier(archive, f"/{item['ibip']}:({name})")
        assert modified.body == direct.body
    files = json.loads(follow(archive, f"/{item['ibip']}", TYPES["schema_org"]).body)["encoding"]
    assert files["contentUrl"] == f"{archive.address}/col/{item['rep']}/doc/a.txt"


def follow_modifier(archive: ArchiveServer, path: str) -> Answer:
    answer = archive.get(path)
    return archive.get(answer.headers["location"].removeprefix(archive.address))


def test_browsers_and_those_that_take_anything_get_what_they_got(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    page = f"/col/{item['metadata']['rep']}/doc/metadata"
    # First a program, so that a cache that mixes forms up would show.
    assert archive.get(page, Accept="application/x-bibtex").body.startswith(b"@mastersthesis")
    for accept in (CHROME, "*/*", "text/html"):
        assert archive.get(page, Accept=accept).headers["content-type"].startswith("text/html")
        location = archive.get(f"/{item['ibip']}", Accept=accept).headers["location"]
        assert location == f"{archive.address}/col/{item['rep']}/doc/a.txt"
    assert archive.get(page, Accept="application/x-bibtex").body.startswith(b"@mastersthesis")
    assert "Accept" in archive.get(page, Accept=CHROME).headers["vary"].split(", ")


def test_what_is_not_offered_is_refused_with_the_list(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    file = f"/col/{item['rep']}/doc/a.txt"
    for path in (f"/{item['ibip']}", f"/{item['ibip']}:", file):
        answer = follow(archive, path, "text/turtle, application/rdf+xml;q=0.5")
        assert answer.status == 406, path
        assert "html" not in answer.headers["content-type"]
        assert "bibtex (application/x-bibtex)" in answer.json()["detail"]
        assert "mtd-br" in answer.json()["detail"]
    taken = follow(archive, f"/{item['ibip']}", "text/turtle, text/plain;q=0.5")
    assert (taken.status, taken.body) == (200, b"a text")
    unknown = archive.get(f"/{item['ibip']}:(marc)")
    assert unknown.status == 406


def test_theses_alone_are_described_for_the_bdtd(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    thesis = follow_modifier(archive, f"/{item['ibip']}:(mtd-br)")
    assert etree.fromstring(thesis.body).findtext("{*}Grau") == "Mestre"
    other = archive.deposit({"b.txt": b"b"}, metadata={"titles": ["Outra"]})
    refused = follow_modifier(archive, f"/{other['ibip']}:(mtd-br)")
    assert refused.status == 406
    assert "mtd-br," not in refused.json()["detail"]
    page = archive.get(f"/col/{other['metadata']['rep']}/doc/metadata").body.decode()
    assert "choice=mtd-br" not in page


def test_a_citation_has_the_style_and_the_language_asked_for(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    said = {}
    for style, locale in (("apa", "en-US"), ("abnt", "pt-BR")):
        accept = f"text/x-bibliography; style={style}; locale={locale}"
        answer = follow(archive, f"/{item['ibip']}", accept)
        assert answer.headers["content-type"] == "text/x-bibliography; charset=utf-8"
        assert answer.headers["content-language"] == locale
        said[style] = answer.body.decode()
    assert said["apa"].startswith("Banon, G. (2009")
    assert said["abnt"].startswith("BANON, ")
    assert "Dissertação (Mestrado)" in said["abnt"]
    for accept in ("style=mla9", "locale=xx-XX"):
        refused = follow(archive, f"/{item['ibip']}", f"text/x-bibliography; {accept}")
        assert refused.status == 400
        assert "expected one of" in refused.json()["detail"]


def test_a_tombstone_is_no_page_for_programs(archive: ArchiveServer) -> None:
    gone = archive.deposit({"c.txt": b"c"}, metadata={"titles": ["Away"]})
    archive.api("POST", f"items/{gone['rep']}/deletion", {"reason": "a test"})
    answer = archive.get(f"/{gone['ibip']}", Accept="application/x-bibtex")
    assert (answer.status, answer.headers["content-type"]) == (410, "application/problem+json")
    assert (
        archive.get(f"/{gone['ibip']}", Accept=CHROME)
        .headers["content-type"]
        .startswith("text/html")
    )
