"""What the page of an item says and offers, over HTTP."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import html5rdf
import pytest

from ibi.archive.web.printed_label import QUIET_ZONE, qr_code
from tests.support.servers.archive import ArchiveServer

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


def described(archive: ArchiveServer, language: str = "", **metadata: object) -> str:
    """Deposit an item with this metadata; return the path of its page."""
    made = archive.deposit(
        {"a.txt": b"a"}, target="a.txt", language=language, metadata={"titles": ["T"], **metadata}
    )
    return f"/col/{archive.item(made['rep'])['metadata']['rep']}/doc/metadata"


def page_of(archive: ArchiveServer, path: str, language: str = "en") -> str:
    answer = archive.get(path, accept="text/html", accept_language=language)
    assert answer.status == 200
    return answer.body.decode()


def section(page: str, name: str) -> str:
    """Return a part of a page by its heading, without tags."""
    found = page.partition(f'<h2 id="{name}">')[2].partition("</section>")[0]
    return " ".join(" ".join(html5rdf.parseFragment(found).itertext()).split())


@pytest.mark.parametrize(
    ("licence", "language", "said"),
    [
        ("CC-BY-4.0", "en", "Licence CC-BY-4.0 Use it for anything; name the creators."),
        ("CC-BY-4.0", "pt", "Licença CC-BY-4.0 Use para qualquer fim; cite os autores."),
        ("LGPL-3.0-only", "en", "Licence LGPL-3.0-only"),
    ],
)
def test_what_a_licence_permits_stands_beside_it(
    archive: ArchiveServer, licence: str, language: str, said: str
) -> None:
    page = page_of(archive, described(archive, licence=licence), language)
    assert section(page, "licence") == said


@pytest.mark.parametrize(
    ("of_item", "of_metadata", "said"),
    [
        ("pt-BR", ["pt-BR"], ["Portuguese (Brazil)"]),
        ("pt-BR", ["pt"], ["Portuguese (Brazil)"]),
        ("pt", ["pt-BR", "en"], ["Portuguese (Brazil)", "English"]),
        ("pt", ["en"], ["Portuguese", "English"]),
        ("pt", [], ["Portuguese"]),
        ("", ["pt", "en"], ["Portuguese", "English"]),
    ],
)
def test_a_language_is_said_once(
    archive: ArchiveServer, of_item: str, of_metadata: list[str], said: list[str]
) -> None:
    page = page_of(archive, described(archive, of_item, languages=of_metadata))
    found = page.partition("<dt>Languages</dt>\n")[2].partition("<dt>")[0]
    assert [each.partition("</dd>")[0] for each in found.split("<dd>")[1:]] == said
    assert "Language of the item" not in page


PEOPLE_AND_MONEY: dict[str, Any] = {
    "creators": [
        {"family": "Vilela", "given": "Renata Campos", "affiliation": "INPE; Universidade"},
        {"name": "Instituto"},
    ],
    "contributors": [
        {"family": "Holanda", "given": "Paulo", "role": "editor", "affiliation": "Editora Alfa"},
        "Someone else",
    ],
    "related": [
        {
            "relation": "IsSupplementTo",
            "scheme": "doi",
            "identifier": "https://doi.org/10.1234/agua.7",
        },
        {"relation": "Cites", "scheme": "IBI", "identifier": "8JMKD3MGP7W/3EPGUE5"},
        {"relation": "References", "scheme": "RRID", "identifier": "SCR_014641"},
    ],
    "funding": [
        {
            "funder": "Fundo Amazonia",
            "funder_id": "https://ror.org/02ddkpn78",
            "award": "14.2.0929.1",
            "title": "Water for all",
        }
    ],
}


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            {
                "Affiliations": ["Renata Campos Vilela: INPE; Universidade"],
                "Contributors": ["Holanda, Paulo, Editor (Editora Alfa)", "Someone else"],
                "Related": [
                    "is a supplement to 10.1234/agua.7 DOI",
                    "cites 8JMKD3MGP7W/3EPGUE5",
                    "refers to SCR_014641 RRID",
                ],
            },
        ),
        (
            "pt",
            {
                "Afiliações": ["Renata Campos Vilela: INPE; Universidade"],
                "Colaboradores": ["Holanda, Paulo, Editor científico (Editora Alfa)"],
                "Relacionados": ["é um suplemento de 10.1234/agua.7 DOI"],
                "Financiamento": [
                    "Fundo Amazonia (https://ror.org/02ddkpn78), 14.2.0929.1: Water for all"
                ],
            },
        ),
    ],
)
def test_people_related_items_and_funding_are_shown(
    archive: ArchiveServer, language: str, said: dict[str, list[str]]
) -> None:
    page = page_of(archive, described(archive, **PEOPLE_AND_MONEY), language)
    more = page.partition('<h2 id="more">')[2].partition("</section>")[0]
    for term, values in said.items():
        found = more.partition(f"<dt>{term}</dt>")[2].partition("<dt>")[0]
        shown = [" ".join("".join(each.itertext()).split()) for each in _values(found)]
        assert shown[: len(values)] == values
    assert '<a href="https://doi.org/10.1234/agua.7"' in more
    assert '<a href="https://ror.org/02ddkpn78"' in more
    assert "/8JMKD3MGP7W/3EPGUE5" in more


def _values(found: str) -> list[Any]:
    return [html5rdf.parseFragment(each) for each in found.split("<dd>")[1:]]


def test_the_archive_keeps_them_and_finds_items_by_them(archive: ArchiveServer) -> None:
    made = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["Kept"], **PEOPLE_AND_MONEY})
    kept = archive.api("GET", f"items/{made['rep']}/metadata").json()
    assert kept["creators"][0]["affiliation"] == "INPE; Universidade"
    assert kept["contributors"][0]["role"] == "Editor"
    assert kept["related"][0] == {
        "relation": "IsSupplementTo",
        "scheme": "DOI",
        "identifier": "10.1234/agua.7",
    }
    assert kept["funding"] == PEOPLE_AND_MONEY["funding"]
    assert archive.api("PUT", f"items/{made['rep']}/metadata", kept).status == 200
    assert archive.api("GET", f"items/{made['rep']}/metadata").json() == kept
    for words in ("Universidade", "Alfa", "Fundo Amazonia", "14.2.0929.1", "10.1234/agua.7"):
        found = archive.get(f"/search?q={words.replace(' ', '+')}", accept="text/html").body
        assert f"{made['ibip']}".encode() in found, words


@pytest.mark.parametrize("language", ["en", "pt"])
def test_an_unknown_creator_is_said_to_be_unknown(archive: ArchiveServer, language: str) -> None:
    page = page_of(archive, described(archive, creators=[":unkn"]), language)
    assert ("Autor desconhecido" if language == "pt" else "Creator unknown") in page
    assert ":unkn" not in page


@pytest.mark.parametrize(
    ("element", "value", "said"),
    [
        ("contributors", {"name": "A", "role": "Cook"}, "is not a role of a contributor"),
        ("creators", {"name": "A", "role": "Editor"}, "has no part 'role'"),
        ("related", {"relation": "Cites", "scheme": "DOI"}, "needs its relation, its scheme"),
        (
            "related",
            {"relation": "Cites", "scheme": "DOI", "identifier": "javascript:alert(1)"},
            "is not an identifier of the kind DOI",
        ),
        (
            "related",
            {"relation": "Likes", "scheme": "DOI", "identifier": "10.1234/x"},
            "is not a relation between items",
        ),
        (
            "related",
            {"relation": "Cites", "scheme": "X", "identifier": "10.1234/x"},
            "is not a kind of identifier",
        ),
        ("related", ["10.1234/x"], "is not an object"),
        ("funding", {"award": "1"}, "needs the name of the funder"),
    ],
)
def test_faults_in_them_are_refused(
    archive: ArchiveServer, element: str, value: object, said: str
) -> None:
    answer = archive.api("POST", "deposits", {"metadata": {"titles": ["T"], element: value}})
    assert answer.status == 400
    assert said in answer.json()["detail"]


def test_formats_have_names_for_people(archive: ArchiveServer) -> None:
    page = page_of(archive, described(archive))
    for code, name in {
        "oai_dc": "Dublin Core",
        "bibtex": "BibTeX",
        "ris": "RIS",
        "csl": "CSL-JSON",
    }.items():
        assert f'<a href="?choice={code}">{name}</a>' in page
        assert f">{code}<" not in page


def test_the_qr_code_is_saved_as_an_image(archive: ArchiveServer) -> None:
    path = described(archive)
    page = page_of(archive, path)
    assert '<a href="?qr=svg" download>Save as SVG</a>' in page
    answer = archive.get(f"{path}?qr=svg")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    item = archive.item(ibi_of(page))
    name = f"{item['ibip'].replace('/', '-')}.svg"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    image = ET.fromstring(answer.body)  # noqa: S314  # the archive's own
    assert image.findtext(f"{SVG}title") == item["persistent_url"]
    assert drawn(image) == squares(qr_code(item["persistent_url"]).lines, 0)
    assert archive.get("/col/none.example/x/2009/01.01.01.01/doc/metadata?qr=svg").status == 404


def ibi_of(page: str) -> str:
    return (
        page.partition('data-copy="')[2].partition('"')[0].removeprefix("http://").partition("/")[2]
    )


def drawn(image: ET.Element) -> set[tuple[int, int]]:
    """Return the dark squares of an image, without its margin."""
    paths = {each.get("class", ""): each.get("d", "") for each in image.iter(f"{SVG}path")}
    return squares(paths["qrline"], QUIET_ZONE)


def squares(lines: str, margin: int) -> set[tuple[int, int]]:
    """Return the squares that horizontal lines of an SVG path cover."""
    found: set[tuple[int, int]] = set()
    x, y = 0.0, 0.0
    for command, numbers in re.findall("([Mmh])([-0-9. ]+)", lines):
        given: Any = [float(each) for each in numbers.split()]
        if command == "M":
            x, y = given
        elif command == "m":
            x, y = x + given[0], y + given[1]
        else:
            found |= {(int(x) + step - margin, int(y) - margin) for step in range(int(given[0]))}
            x += given[0]
    return found


def test_a_subject_leads_to_other_items_with_it(archive: ArchiveServer) -> None:
    for title in ("First", "Second"):
        path = described(archive, titles=[title], subjects=['the "great" flood'])
    linked = re.search(r'class="tag" href="([^"]+)"', page_of(archive, path))
    assert linked is not None
    assert linked[1].startswith("/search?q=%22the+great+flood%22")
    titles = re.findall(r':" dir="auto">([^<>]+)</a></h3>', page_of(archive, linked[1]))
    assert sorted(titles) == ["First", "Second"]


def test_the_page_of_a_deleted_item_names_its_replacement(archive: ArchiveServer) -> None:
    old, new = (
        archive.deposit(
            {"a.txt": b"a"}, metadata={"titles": [title], "creators": ["Lins, Beatriz"]}
        )
        for title in ("Draft", "Final <text>")
    )
    reason = {"reason": "Full of errors", "replaced_by": new["ibip"]}
    assert archive.api("POST", f"items/{old['rep']}/deletion", reason).status == 200
    for address in (f"/{old['ibip']}", f"/displaydoccontent.cgi/{old['ibip']}"):
        answer = archive.get(address, accept="text/html")
        assert answer.status == 410
        said = section(answer.body.decode(), "instead").replace("/ ", "/")
        assert said == f"Replaced by Final <text> Beatriz Lins · {new['ibip']} Open the replacement"


def test_the_description_of_a_deleted_item_only_notes_it(archive: ArchiveServer) -> None:
    old, new = (
        archive.deposit({"a.txt": b"a"}, metadata={"titles": [title], "dates": ["2001"]})
        for title in ("Draft", "Final")
    )
    reason = {"reason": "Full of errors", "replaced_by": new["ibip"]}
    assert archive.api("POST", f"items/{old['rep']}/deletion", reason).status == 200
    page = page_of(archive, f"/col/{old['metadata']['rep']}/doc/metadata")
    assert f'It was replaced by: <a href="/{new["ibip"]}:">' in page
    for gone in ("How to cite", "BibTeX</a>", "Leads to this item", "No licence was given"):
        assert gone not in page
    tombstone = archive.get(f"/{old['ibip']}", accept="text/html").body.decode()
    assert f'<a class="act main" href="/{new["ibip"]}:">Open the replacement' in tombstone
    problem = archive.get(f"/{old['ibip']}", accept="application/json").json()
    assert problem["replacement_title"] == "Final"


def test_editions_have_the_dates_of_their_publication(archive: ArchiveServer) -> None:
    first = archive.deposit({"a.txt": b"1"}, metadata={"titles": ["First"], "dates": ["1999"]})
    record = {"titles": ["Second"], "dates": ["2012-05"]}
    second = archive.deposit({"a.txt": b"2"}, metadata=record, edition_of=first["rep"])
    path = f"/col/{archive.item(second['rep'])['metadata']['rep']}/doc/metadata"
    assert section(page_of(archive, path), "editions") == (
        "Editions Second May 2012 · newest First 1999"
    )


def test_links_to_other_items_keep_the_language_of_the_page(archive: ArchiveServer) -> None:
    first = archive.deposit({"a.txt": b"1"}, language="en", metadata={"titles": ["First"]})
    later = archive.deposit({"a.txt": b"2"}, metadata={"titles": ["S"]}, edition_of=first["rep"])
    other = archive.deposit(
        {"a.txt": b"3"}, language="pt", metadata={"titles": ["P"]}, translation_of=first["rep"]
    )
    path = f"/col/{archive.item(first['rep'])['metadata']['rep']}/doc/metadata"
    for pair in ("", "?lang=pt"):
        page = page_of(archive, path + pair)
        for address in (f"{first['ibip']}!:", f"{later['ibip']}:", f"{other['ibip']}:"):
            assert f'href="{archive.address}/{address}{pair}"' in page


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Licence No licence was given: ask the creators."),
        ("pt", "Licença Nenhuma licença foi indicada: pergunte aos autores."),
    ],
)
def test_an_item_without_licence_says_so(archive: ArchiveServer, language: str, said: str) -> None:
    assert section(page_of(archive, described(archive), language), "licence") == said


def test_services_do_not_claim_files(archive: ArchiveServer) -> None:
    service = archive.deposit(metadata={"titles": ["S"]}, service="https://example.org/")
    page = page_of(archive, f"/col/{archive.item(service['rep'])['metadata']['rep']}/doc/")
    assert "Original: the service runs elsewhere" in page
    assert "the item is kept here" not in page


def test_an_address_without_an_item_leads_on(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["T"]})
    answer = archive.get(f"/col/{item['rep']}/doc/b.txt", accept="text/html")
    assert answer.status == 404
    page = answer.body.decode()
    assert "There is no such thing here" not in page
    assert "a label has no blanks" not in page
    assert f'<a class="act main" href="/{item["ibip"]}:">Page of this item</a>' in page
    mistyped = archive.get("/8JMKD3MGP7W/3EPGU05", accept="text/html")
    assert mistyped.status == 404
    assert 'href="/search?q=8JMKD3MGP7W/3EPGUQ5">' in mistyped.body.decode()


def test_a_collection_is_named_in_the_language_of_the_reader(archive: ArchiveServer) -> None:
    titles = [{"value": "Rivers", "language": "en"}, {"value": "Rios", "language": "pt"}]
    record = {"titles": titles, "types": ["Collection"]}
    rivers = archive.deposit(metadata=record)
    item = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["T"]}, collections=[rivers["rep"]])
    path = f"/col/{archive.item(item['rep'])['metadata']['rep']}/doc/metadata"
    assert ">Rivers</a>" in page_of(archive, path)
    assert ">Rios</a>" in page_of(archive, path, "pt")


def test_a_translation_names_the_newer_edition_of_its_original(archive: ArchiveServer) -> None:
    def deposited(language: str, **relation: str) -> dict[str, Any]:
        return archive.deposit({"a.txt": b"a"}, language=language, **relation)

    first = deposited("en")
    translation = deposited("pt", translation_of=first["rep"])
    page = f"/col/{translation['metadata']['rep']}/doc/metadata"
    assert "There is a newer edition" not in page_of(archive, page)
    second = deposited("en", edition_of=first["rep"])
    said = page_of(archive, page)
    assert "There is a newer edition of the item that this one translates." in said
    newest = f"/{first['ibip']}!+:?ibiurl.language=pt"
    assert f'href="{archive.address}{newest}"' in said
    # A new edition is there before its translation.
    answer = archive.get(newest, accept="text/html")
    assert second["metadata"]["rep"] in answer.headers["location"]
    later = deposited("pt", translation_of=second["rep"])
    answer = archive.get(newest, accept="text/html")
    assert later["metadata"]["rep"] in answer.headers["location"]


def test_a_page_in_another_language_names_the_title_in_that_of_the_item(
    archive: ArchiveServer,
) -> None:
    titles = [{"value": "Rivers", "language": "en"}, {"value": "Rios", "language": "pt"}]
    item = archive.deposit({"a.txt": b"a"}, language="pt", metadata={"titles": titles})
    path = f"/col/{archive.item(item['rep'])['metadata']['rep']}/doc/metadata"
    english, portuguese = page_of(archive, path), page_of(archive, path, "pt")
    assert "Original title Rios" in section(english, "more")
    assert "Título original" not in portuguese
    for page in (english, portuguese):
        assert '<meta name="citation_title" content="Rios">' in page


def test_readers_that_may_not_open_files_are_told_before_the_list(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.bin": b"a", "b.bin": b"b"}, readers=["10.0.0.0/8"])
    path = f"/col/{archive.item(item['rep'])['metadata']['rep']}/doc/"
    page = page_of(archive, path)
    told = page.index("Only readers in certain networks can open the files.")
    assert told < page.index('<h2 id="files">')
    # A link that saves what it leads to would not show why nothing comes.
    acts = page.partition('<p class="acts">')[2].partition("</p>")[0]
    assert "Download all" in acts
    assert "download>" not in acts


def test_a_deleted_translation_is_not_offered(archive: ArchiveServer) -> None:
    first = archive.deposit({"a.txt": b"1"}, language="en", metadata={"titles": ["E"]})
    other = archive.deposit(
        {"a.txt": b"2"}, language="pt", metadata={"titles": ["P"]}, translation_of=first["rep"]
    )
    page = f"/col/{first['metadata']['rep']}/doc/metadata"
    assert b"This item in" in archive.get(page, Accept="text/html").body
    archive.api("POST", f"items/{other['ibip']}/deletion", {"reason": "Wrong"})
    assert b"This item in" not in archive.get(page, Accept="text/html").body
