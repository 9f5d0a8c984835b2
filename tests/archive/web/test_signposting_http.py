"""FAIR Signposting of an archive, as the library `signposting` reads it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import html5rdf
import pytest
from signposting import Signposting, find_signposting_html, find_signposting_http
from signposting.linkset import find_signposting_linkset

from ibi.metadata.formats import FORMATS
from tests.support.clients.http import PROBLEM
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import database_options

ORCID = "0000-0002-1825-0097"
OFFERED = [name for name in FORMATS if name != "mtd-br"]
"""The formats of items that are no theses."""


@dataclass(frozen=True)
class Shelf:
    """An archive with a few items, by what their links have to tell."""

    archive: ArchiveServer
    report: dict[str, Any]
    large: dict[str, Any]
    limited: dict[str, Any]
    gone: dict[str, Any]

    def page(self, item: dict[str, Any]) -> str:
        """Return the URL of the page of an item."""
        return f"{self.archive.address}/col/{item['metadata']['rep']}/doc/metadata"

    def file(self, item: dict[str, Any], path: str) -> str:
        """Return the URL of a file."""
        return f"{self.archive.address}/col/{item['rep']}/doc/{path}"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shelf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelf]:
    options = database_options(request, "--catalogue")
    with ArchiveServer(tmp_path_factory.mktemp(request.param), *options) as archive:
        report = archive.deposit(
            {"Relatório [1].pdf": b"%PDF-", "data/a,b;c.csv": b"n\n", "x.bin": b"x"},
            target="Relatório [1].pdf",
            metadata={
                "titles": ["Relatório"],
                "creators": [
                    {
                        "family": "Carberry",
                        "given": "Josiah",
                        "orcid": ORCID,
                        "affiliation": "Brown; Wesleyan",
                    },
                    {"name": "Someone"},
                ],
                "types": ["Dataset"],
                "dates": ["2019-05-02"],
                "languages": ["pt"],
                "subjects": ["rios", "lagos"],
                "descriptions": ["Rios </script> & lagos"],
                "identifiers": ["doi:10.1234/abc"],
                "licence": "CC-BY-4.0",
            },
        )
        folder = "a-folder-with-a-long-name-" * 5
        large = archive.deposit(
            {f"{folder}/{n:03}.txt": b"x" for n in range(60)},
            target=f"{folder}/000.txt",
            metadata={"titles": ["Many files"], "licence": "http://example.org/[odd]?%zz"},
        )
        limited = archive.deposit(
            {"secret.txt": b"s"}, readers=["192.0.2.0/24"], metadata={"titles": ["For few"]}
        )
        gone = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["Wrong"]})
        ended = archive.api("POST", f"items/{gone['rep']}/deletion", {"reason": "It was wrong."})
        assert ended.status == 200
        yield Shelf(archive, report, large, limited, gone)


def targets(links: Any) -> set[str]:  # noqa: ANN401  # a set of the library
    return {str(link.target) for link in links}


def described_at(shelf: Shelf, item: dict[str, Any]) -> set[tuple[str, str]]:
    return {(f"{shelf.page(item)}?choice={each}", FORMATS[each].media_type) for each in OFFERED}


def test_the_page_of_an_item_tells_what_belongs_to_it(shelf: Shelf) -> None:
    item, page = shelf.report, shelf.page(shelf.report)
    found = find_signposting_http(page)
    assert found.citeAs is not None
    assert found.citeAs.target == item["persistent_url"]
    assert targets(found.types) == {"https://schema.org/AboutPage", "https://schema.org/Dataset"}
    assert targets(found.authors) == {f"https://orcid.org/{ORCID}"}
    assert found.license is not None
    assert found.license.target == "https://creativecommons.org/licenses/by/4.0/"
    assert {(str(x.target), str(x.type)) for x in found.describedBy} == described_at(shelf, item)
    assert {(str(x.target), str(x.type)) for x in found.items} == {
        (shelf.file(item, "Relat%C3%B3rio%20%5B1%5D.pdf"), "application/pdf"),
        (shelf.file(item, "data/a,b;c.csv"), "text/csv"),
        (shelf.file(item, "x.bin"), "application/octet-stream"),
    }
    in_page = find_signposting_html(page)
    assert in_page.citeAs == found.citeAs
    assert in_page.describedBy == found.describedBy
    assert in_page.linksets == found.linksets


def test_a_metadata_document_has_the_type_of_its_link(shelf: Shelf) -> None:
    for link in find_signposting_http(shelf.page(shelf.report)).describedBy:
        path = str(link.target).removeprefix(shelf.archive.address)
        served = shelf.archive.get(path)
        assert served.headers["content-type"].partition(";")[0] == link.type
        found = find_signposting_http(str(link.target))
        assert targets(found.describes) == {shelf.page(shelf.report)}
        assert found.citeAs is not None
        assert found.citeAs.target == shelf.report["persistent_url"]


def test_a_file_and_a_persistent_url_tell_to_what_they_belong(shelf: Shelf) -> None:
    found = find_signposting_http(shelf.file(shelf.report, "x.bin"))
    assert found.citeAs is not None
    assert found.citeAs.target == shelf.report["persistent_url"]
    assert found.collection is not None
    assert found.collection.target == shelf.page(shelf.report)
    assert len(found.linksets) == 2
    followed = find_signposting_http(shelf.report["persistent_url"])
    assert followed.context == shelf.file(shelf.report, "Relat%C3%B3rio%20%5B1%5D.pdf")
    assert followed.collection == found.collection.with_context(followed.context)
    redirect = shelf.archive.ask("HEAD", f"/{shelf.report['ibip']}", token="")
    assert redirect.status == 302
    assert 'rel="cite-as"' in redirect.headers["link"]
    assert 'rel="linkset"' in redirect.headers["link"]


def test_the_page_describes_itself_to_search_engines(shelf: Shelf) -> None:
    item, page = shelf.report, shelf.page(shelf.report)
    shown = shelf.archive.get(page.removeprefix(shelf.archive.address)).body
    document = html5rdf.parse(shown, namespaceHTMLElements=False)
    names = [
        (each.get("name"), each.get("content"))
        for each in document.iter("meta")
        if str(each.get("name")).startswith(("citation_", "DC."))
    ]
    pdf = shelf.file(item, "Relat%C3%B3rio%20%5B1%5D.pdf")
    for pair in (
        ("citation_title", "Relatório"),
        ("citation_author", "Carberry, Josiah"),
        ("citation_author_orcid", f"https://orcid.org/{ORCID}"),
        ("citation_author_institution", "Wesleyan"),
        ("citation_publication_date", "2019/05/02"),
        ("citation_doi", "10.1234/abc"),
        ("citation_abstract_html_url", page),
        ("citation_pdf_url", pdf),
        ("DC.identifier", item["persistent_url"]),
        ("DC.rights", "https://creativecommons.org/licenses/by/4.0/"),
    ):
        assert pair in names, pair
    for name, address in names:
        if name in {"citation_abstract_html_url", "citation_pdf_url"}:
            answer = shelf.archive.get(address.removeprefix(shelf.archive.address))
            is_pdf = answer.headers["content-type"] == "application/pdf"
            assert is_pdf == (name == "citation_pdf_url")
    [block] = [e for e in document.iter("script") if e.get("type") == "application/ld+json"]
    value = json.loads("".join(block.itertext()))
    assert value["@context"] == "https://schema.org"
    assert value["@type"] == "Dataset"
    assert value["@id"] == item["persistent_url"]
    assert value["description"] == "Rios </script> & lagos"
    assert value["creator"][0]["@id"] == f"https://orcid.org/{ORCID}"
    assert [each["name"] for each in value["creator"][0]["affiliation"]] == ["Brown", "Wesleyan"]
    assert value["datePublished"] == "2019-05-02"
    assert value["keywords"] == ["rios", "lagos"]
    assert value["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert value["publisher"]["name"] == "Arquivo de prova"
    assert value["mainEntityOfPage"]["@id"] == page
    assert {each["contentUrl"]: each["encodingFormat"] for each in value["distribution"]} == {
        pdf: "application/pdf",
        shelf.file(item, "data/a,b;c.csv"): "text/csv",
        shelf.file(item, "x.bin"): "application/octet-stream",
    }
    limited = shelf.archive.get(shelf.page(shelf.limited).removeprefix(shelf.archive.address))
    assert b"ld+json" in limited.body
    assert b"contentUrl" not in limited.body
    gone = shelf.archive.get(shelf.page(shelf.gone).removeprefix(shelf.archive.address))
    assert b'<script type="application/ld+json"' not in gone.body


def linksets(shelf: Shelf, item: dict[str, Any]) -> list[Signposting]:
    """Return what both linksets of an item tell of its page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tombstone is announced by a warning
        links = find_signposting_http(shelf.page(item)).linksets
    found = {str(link.type): find_signposting_linkset(link.target, link.type) for link in links}
    assert found.keys() == {"application/linkset", "application/linkset+json"}
    return [each.for_context(shelf.page(item)) for each in found.values()]


def test_a_linkset_has_the_links_of_all_resources(shelf: Shelf) -> None:
    text, decoded = linksets(shelf, shelf.report)
    assert targets(text.signposts) == targets(decoded.signposts)
    header = find_signposting_http(shelf.page(shelf.report))
    assert targets(text.items) == targets(header.items)
    assert targets(text.describedBy) == targets(header.describedBy)
    for target in targets(text.items):
        of_file = text.for_context(target)
        assert of_file.collection is not None
        assert of_file.collection.target == shelf.page(shelf.report)
    for target in targets(text.describedBy):
        assert targets(text.for_context(target).describes) == {shelf.page(shelf.report)}
    answer = shelf.archive.get(f"/linkset.json/{shelf.report['rep']}")
    assert answer.headers["content-type"] == "application/linkset+json"
    assert all("anchor" in each for each in json.loads(answer.body)["linkset"])
    assert shelf.archive.ask("HEAD", f"/linkset/{shelf.report['rep']}").status == 200
    assert shelf.archive.get("/linkset/example.org/none/2020/01.01.00.00").status == 404
    assert shelf.archive.get("/linkset/").status == 404


def test_a_header_has_4_kilobytes_and_the_linkset_has_the_rest(shelf: Shelf) -> None:
    for method in ("HEAD", "GET"):
        path = shelf.page(shelf.large).removeprefix(shelf.archive.address)
        header = shelf.archive.ask(method, path, token="").headers["link"]
        assert 3_500 < len(f"Link: {header}\r\n") <= 4096
    found = find_signposting_http(shelf.page(shelf.large))
    assert len(found.describedBy) == len(OFFERED)
    assert found.license is None  # its address is none for strict clients
    assert 0 < len(found.items) < 60
    for each in linksets(shelf, shelf.large):
        assert len(each.items) == 60


def test_files_for_few_readers_are_not_told_of(shelf: Shelf) -> None:
    assert not find_signposting_http(shelf.page(shelf.limited)).items
    for each in linksets(shelf, shelf.limited):
        assert not each.items
        assert each.describedBy


def test_a_tombstone_tells_what_was_there(shelf: Shelf) -> None:
    address = f"{shelf.archive.address}/{shelf.gone['ibip']}"
    with pytest.warns(UserWarning, match="410 Gone"):
        found = find_signposting_http(address)
    assert found.citeAs is not None
    assert found.citeAs.target == shelf.gone["persistent_url"]
    assert {(str(x.target), str(x.type)) for x in found.describedBy} == described_at(
        shelf, shelf.gone
    )
    assert not found.items
    problem = shelf.archive.get(f"/{shelf.gone['ibip']}", accept=PROBLEM)
    assert problem.status == 410
    assert 'rel="cite-as"' in problem.headers["link"]
    for each in linksets(shelf, shelf.gone):
        assert not each.items
        assert targets(each.types) == {"https://schema.org/AboutPage"}
