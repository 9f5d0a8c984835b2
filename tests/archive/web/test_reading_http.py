"""What readers get of an archive: persistent URLs on its own host, files, pages, metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import pytest
from lxml import etree

from ibi.identifier.verbs import COMPOSITIONS
from tests.support.clients.http import PROBLEM, Answer
from tests.support.servers.archive import ArchiveServer, raw_get

HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
PORTUGUESE = "pt-BR,pt;q=0.9,en;q=0.5"


@dataclass(frozen=True)
class Family:
    """An item in two languages and two editions, each with its metadata."""

    en1: dict[str, Any]
    pt1: dict[str, Any]
    en2: dict[str, Any]
    pt2: dict[str, Any]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def family(archive: ArchiveServer) -> Family:
    en1 = archive.deposit(
        {"report.html": b"en1", "data/reference.bib": b"@b"},
        language="en",
        target="report.html",
        metadata={"titles": ["A <report>"], "creators": ["Banon, Gerald"]},
    )
    en2 = archive.deposit({"report.html": b"en2"}, language="en", edition_of=en1["rep"])
    pt1 = archive.deposit({"r.html": b"pt1"}, language="pt", translation_of=en1["ibip"])
    pt2 = archive.deposit(
        {"r.html": b"pt2"}, language="pt", translation_of=en2["rep"], edition_of=pt1["rep"]
    )
    return Family(*(archive.item(each["rep"]) for each in (en1, pt1, en2, pt2)))


def target(archive: ArchiveServer, path: str, **headers: str) -> str:
    """Return where a persistent URL leads, on the archive itself."""
    answer = archive.get(path, **headers)
    assert answer.status == 302, answer.body
    assert answer.body == b""
    location = answer.headers["location"]
    assert location.startswith(f"{archive.address}/")
    return location


def read(archive: ArchiveServer, path: str, **headers: str) -> Answer:
    """Follow a persistent URL to its end."""
    return archive.get(target(archive, path, **headers).removeprefix(archive.address), **headers)


def metadata_url(archive: ArchiveServer, item: dict[str, Any]) -> str:
    return f"{archive.address}/col/{item['metadata']['rep']}/doc/metadata"


LEADS = {
    "": ("en1", False),
    ":": ("en1", True),
    ":+": ("en1", True),
    "!": ("en2", False),
    "!+": ("pt2", False),
    "!:": ("en2", True),
    "!+:": ("pt2", True),
    "!:+": ("en2", True),
    "!+:+": ("pt2", True),
    "+": ("pt1", False),
    "+!": ("pt2", False),
    "+:": ("pt1", True),
    "+!:": ("pt2", True),
    "+:+": ("pt1", True),
    "+!:+": ("pt2", True),
}
VERBS = {"+": "GetTranslation", "!": "GetLastEdition", ":": "GetMetadata"}


def test_all_compositions_are_here() -> None:
    assert set(LEADS) == {"", *COMPOSITIONS}


@pytest.mark.parametrize("composition", LEADS)
@pytest.mark.parametrize("form", ["rep", "ibip"])
def test_every_composition_leads_where_it_should(
    archive: ArchiveServer, family: Family, composition: str, form: str
) -> None:
    name, is_metadata = LEADS[composition]
    item = getattr(family, name)
    expected = metadata_url(archive, item) if is_metadata else item["url"]
    label = family.en1[form]
    for prefix in ("", "ibi/", "rep/"):
        path = f"/{prefix}{label}{composition}"
        assert target(archive, path, Accept_Language=PORTUGUESE) == expected
    verbs = "+".join(VERBS[symbol] for symbol in composition)
    if verbs:
        path = f"/{label}?ibiurl.verblist={verbs}"
        assert target(archive, path, Accept_Language=PORTUGUESE) == expected
        assert target(archive, path.replace("+", "%20"), Accept_Language="pt") == expected


@pytest.mark.parametrize("order", ["::", "!!", ":!", "+:!", "!+!", "?ibiurl.verblist=GetTea"])
def test_an_order_that_does_not_exist_is_refused(
    archive: ArchiveServer, family: Family, order: str
) -> None:
    answer = archive.get(f"/{family.en1['ibip']}{order}")
    assert answer.status == 400
    assert answer.headers["content-type"] == PROBLEM
    assert answer.json()["status"] == 400
    if "?" not in order:
        assert "!+:+" in answer.json()["detail"]


def test_modifiers_may_be_percent_encoded(archive: ArchiveServer, family: Family) -> None:
    label = family.en1["ibip"]
    assert target(archive, f"/{label}%21") == family.en2["url"]
    assert target(archive, f"/{label}%2B%28pt%29") == family.pt1["url"]


def test_two_question_marks_ask_for_metadata(archive: ArchiveServer, family: Family) -> None:
    for form in ("rep", "ibip"):
        found = target(archive, f"/{family.en1[form]}??")
        assert found == metadata_url(archive, family.en1)


def test_a_language_may_be_given_in_the_url_or_by_the_browser(
    archive: ArchiveServer, family: Family
) -> None:
    label, en, pt = family.en1["ibip"], family.en1["url"], family.pt1["url"]
    assert target(archive, f"/{label}+(pt)") == pt
    assert target(archive, f"/{label}+(en)", Accept_Language="pt") == en
    assert target(archive, f"/{label}+(pt-BR)") == pt
    assert target(archive, f"/{label}+?ibiurl.language=pt", Accept_Language="en") == pt
    assert target(archive, f"/{label}+?ibiurl.language=en", Accept_Language="pt") == en
    assert target(archive, f"/{label}+", Accept_Language="fr, *;q=0.1") == en
    assert target(archive, f"/{label}+") == en
    assert target(archive, f"/{label}", Accept_Language="pt") == en
    assert archive.get(f"/{label}+(fr)").status == 404
    assert archive.get(f"/{label}+(xx)").status == 400


def test_caches_are_told_when_the_language_matters(archive: ArchiveServer, family: Family) -> None:
    assert archive.get(f"/{family.en1['ibip']}+").headers["vary"] == "Accept, Accept-Language"
    assert archive.get(f"/{family.en1['ibip']}!").headers["vary"] == "Accept"


def test_pairs_that_belong_to_the_item_are_passed_on(
    archive: ArchiveServer, family: Family
) -> None:
    label = family.en1["ibip"]
    path = f"/{label}?a=1&ibiurl.verblist=GetLastEdition&b=%C3%A9+x&ibiurl.requiredsite=y&c"
    assert target(archive, path) == f"{family.en2['url']}?a=1&b=%C3%A9+x&ibiurl.requiredsite=y&c"
    found = target(archive, f"/{label}:(oai_dc)?a=1")
    assert found == f"{metadata_url(archive, family.en1)}?choice=oai_dc&a=1"


def test_an_original_that_is_required_is_here(archive: ArchiveServer, family: Family) -> None:
    path = f"/{family.en1['ibip']}?ibiurl.requireditemstatus="
    assert target(archive, f"{path}Original") == family.en1["url"]
    assert archive.get(f"{path}Copy").status == 400


def test_a_file_of_an_item_is_found_by_its_path(archive: ArchiveServer, family: Family) -> None:
    label = family.en1["ibip"]
    found = read(archive, f"/{label}/data/reference.bib")
    assert (found.status, found.body) == (200, b"@b")
    assert archive.get(f"/{label}/data/other.bib").status == 404
    assert archive.get(f"/{label}/data").status == 404


@pytest.mark.parametrize("spelling", ["Relat%f3rio%20Final.txt", "Relat%C3%B3rio%20Final.txt"])
def test_old_links_in_iso_8859_1_are_read(archive: ArchiveServer, spelling: str) -> None:
    item = archive.deposit({"Relatório Final.txt": b"x", "a.txt": b"a"}, target="a.txt")
    assert read(archive, f"/{item['ibip']}/{spelling}").body == b"x"
    assert archive.get(f"/col/{item['rep']}/doc/{spelling}").body == b"x"
    raw = raw_get(archive.address, f"/col/{item['rep']}/doc/{spelling}".encode())
    assert raw.endswith(b"\r\n\r\nx")


def test_the_list_of_files_is_a_page(archive: ArchiveServer, family: Family) -> None:
    path = f"/{family.en1['ibip']}?ibiurl.verblist=GetFileList"
    page = read(archive, path, Accept=HTML)
    assert page.status == 200
    text = page.body.decode()
    assert f"/col/{family.en1['rep']}/doc/data/reference.bib" in text
    both = f"/{family.en1['ibip']}/report.html?ibiurl.verblist=GetLastEdition+GetFileList"
    assert family.en2["ibip"] in target(archive, both)


def test_a_list_that_is_not_public_is_refused_in_words(archive: ArchiveServer) -> None:
    item = archive.deposit(
        {"secret-name.txt": b"a", "b.txt": b"b"}, target="b.txt", list_public=False
    )
    path = f"/{item['ibip']}?ibiurl.verblist=GetFileList"
    for language, words in (("en", "not public"), ("pt", "não é pública")):
        page = read(archive, path, Accept=HTML, Accept_Language=language)
        assert page.status == 403
        assert words in page.body.decode()
        assert "secret-name" not in page.body.decode()
    described = read(archive, f"/{item['ibip']}:", Accept=HTML)
    assert "secret-name" not in described.body.decode()
    assert read(archive, f"/{item['ibip']}/secret-name.txt").body == b"a"


def test_unknown_formats_are_refused_with_those_that_there_are(
    archive: ArchiveServer, family: Family
) -> None:
    for path in (
        f"/{family.en1['ibip']}:(marc)",
        f"/{family.en1['ibip']}?ibiurl.verblist=GetMetadata(marc)",
        f"/col/{family.en1['metadata']['rep']}/doc/metadata?choice=marc",
    ):
        answer = archive.get(path)
        assert answer.status == 406
        assert "oai_dc" in answer.json()["detail"]


def test_metadata_come_as_oai_dc(archive: ArchiveServer, family: Family) -> None:
    answer = read(archive, f"/{family.en1['ibip']}:(oai_dc)")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(("text/xml", "application/xml"))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    root = etree.fromstring(answer.body)
    assert root.tag == "{http://www.openarchives.org/OAI/2.0/oai_dc/}dc"
    dublin_core = "{http://purl.org/dc/elements/1.1/}"
    assert [each.text for each in root.iter(f"{dublin_core}title")] == ["A <report>"]
    assert [each.text for each in root.iter(f"{dublin_core}creator")] == ["Banon, Gerald"]
    identifiers = [each.text for each in root.iter(f"{dublin_core}identifier")]
    assert f"{archive.address}/{family.en1['ibip']}" in identifiers
    api = archive.api("GET", f"items/{family.en1['rep']}/metadata?format=oai_dc")
    assert api.body == answer.body


CITATION_FORMATS = {
    "bibtex": ("application/x-bibtex", "bib", r"title = {A \ensuremath{<}report\ensuremath{>}}"),
    "ris": ("application/x-research-info-systems", "ris", "TI  - A <report>\r\n"),
    "csl": ("application/vnd.citationstyles.csl+json", "json", '"title": "A <report>"'),
}


@pytest.mark.parametrize("name", CITATION_FORMATS)
def test_metadata_come_in_formats_of_citation_managers(
    archive: ArchiveServer, family: Family, name: str
) -> None:
    media_type, extension, title = CITATION_FORMATS[name]
    answer = read(archive, f"/{family.en1['ibip']}:({name})")
    assert answer.status == 200
    assert answer.headers["content-type"].partition(";")[0] == media_type
    saved = f"{family.en1['ibip'].replace('/', '-')}.{extension}"
    assert answer.headers["content-disposition"] == f'attachment; filename="{saved}"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert title in answer.body.decode()
    assert f"{archive.address}/{family.en1['ibip']}" in answer.body.decode()
    api = archive.api("GET", f"items/{family.en1['rep']}/metadata?format={name}")
    assert api.headers["content-type"] == answer.headers["content-type"]
    assert api.body == answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/LK47B6W/362SFKH",
        "/example.org/nobody/2020/01.01.01.01",
        "/col/LK47B6W/362SFKH/doc/a.txt",
        "/displaydoccontent.cgi/LK47B6W/362SFKH",
        "/col/x",
        "/col/",
        "/displaydoccontent.cgi/",
        "/nothing",
        "/static/nothing.js",
        "/api/v1/nothing",
        "//evil.example/",
        "/http://evil.example/",
        "/static/../archive.toml",
        "/%2e%2e/archive.toml",
        "/%00",
        "/%ff%fe",
        "/%0d%0aSet-Cookie:%20a=b",
        f"/{'x' * 9000}",
    ],
)
def test_what_is_not_there_is_not_found(archive: ArchiveServer, path: str) -> None:
    answer = raw_get(archive.address, path.encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 404 " in head.partition(b"\r\n")[0]
    assert b"application/problem+json" in head
    assert b"set-cookie" not in head.lower()
    assert b"Traceback" not in body
    if not path.startswith("/api/"):
        page = raw_get(archive.address, path.encode(), b"Accept: " + HTML.encode())
        assert b" 404 " in page.partition(b"\r\n")[0]
        assert b"<!doctype html>" in page


def test_a_deleted_item_has_a_tombstone_everywhere(archive: ArchiveServer, family: Family) -> None:
    gone = archive.deposit({"a.txt": b"gone"}, metadata={"titles": ["Lost <b>title</b>"]})
    body = {"reason": "Deposited twice", "replaced_by": family.en1["ibip"]}
    assert archive.api("POST", f"items/{gone['ibip']}/deletion", body).status == 200
    for path in (
        f"/{gone['ibip']}",
        f"/{gone['rep']}!",
        f"/{gone['rep']}/a.txt",
        f"/{gone['ibip']}:",
        f"/col/{gone['rep']}/doc/a.txt",
        f"/displaydoccontent.cgi/{gone['ibip']}?displaytype=FileList",
        f"/{gone['ibip']}?ibiurl.requireditemstatus=Original",
    ):
        for language, word in (("en", "deleted"), ("pt", "excluíd")):
            page = archive.get(path, Accept=HTML, Accept_Language=language)
            assert page.status == 410, path
            text = page.body.decode()
            assert "Deposited twice" in text
            assert word in text
            assert family.en1["ibip"] in text
            assert "<b>title" not in text
            assert page.headers["cache-control"] == "no-cache"
        problem = archive.get(path, Accept="application/json")
        assert problem.status == 410, path
        assert problem.headers["content-type"] == "application/problem+json"
        assert "Accept" in problem.headers["vary"].split(", ")
        told = problem.json()
        assert told["type"] == "urn:ibi:problem:deleted"
        assert (told["status"], told["reason"]) == (410, "Deposited twice")
        assert gone["rep"] in told["detail"]
        assert told["replaced_by"]["ibip"] == family.en1["ibip"]
        assert told["metadata"] == gone["metadata"]
    # What was said of it stays under the label of its metadata.
    assert read(archive, f"/{gone['metadata']['ibip']}", Accept=HTML).status == 200


def test_an_edition_that_was_deleted_has_its_tombstone_and_may_be_followed(
    archive: ArchiveServer,
) -> None:
    first = archive.deposit({"a.txt": b"1"})
    second = archive.deposit({"a.txt": b"2"}, edition_of=first["rep"])
    body = {"reason": "Full of mistakes"}
    assert archive.api("POST", f"items/{second['ibip']}/deletion", body).status == 200
    page = archive.get(f"/{first['ibip']}!", Accept=HTML)
    assert page.status == 410
    assert b"Full of mistakes" in page.body
    assert second["metadata"]["ibip"].encode() in page.body  # where what was said of it stays
    third = archive.deposit({"a.txt": b"3"}, edition_of=first["rep"])
    assert (
        archive.get(f"/{first['ibip']}!").headers["location"].endswith(f"{third['rep']}/doc/a.txt")
    )


def test_metadata_that_were_deleted_too_say_nothing(archive: ArchiveServer) -> None:
    gone = archive.deposit({"a.txt": b"x"}, metadata={"titles": ["Confidential"]})
    body = {"reason": "By court order", "with_metadata": True}
    assert archive.api("POST", f"items/{gone['ibip']}/deletion", body).status == 200
    metadata = gone["metadata"]["rep"]
    for path in (
        f"/{gone['ibip']}",
        f"/{metadata}",
        f"/col/{metadata}/doc/metadata",
        f"/col/{metadata}/doc/metadata?choice=oai_dc",
    ):
        page = archive.get(path, Accept=HTML)
        assert page.status == 410, path
        assert b"Confidential" not in page.body
        assert "metadata" not in archive.get(path, Accept="application/json").json()
    assert archive.api("GET", f"items/{gone['rep']}/metadata").status == 404
    assert b"Confidential" not in archive.api("GET", f"items/{gone['rep']}").body


def test_a_web_service_gets_the_query_of_its_persistent_url(archive: ArchiveServer) -> None:
    item = archive.deposit(service="https://service.example/maps?layer=1")
    first = target(archive, f"/{item['ibip']}?x=1&y=a%20b&ibiurl.language=pt")
    onward = archive.get(first.removeprefix(archive.address))
    assert onward.status == 302
    assert onward.headers["location"] == "https://service.example/maps?layer=1&x=1&y=a%20b"
    deeper = archive.get(
        target(archive, f"/{item['rep']}/tiles/3?x=1").removeprefix(archive.address)
    )
    assert deeper.headers["location"] == "https://service.example/maps/tiles/3?layer=1&x=1"


@pytest.mark.parametrize(
    "path", ["%0d", "%0dX-Bad:%20y", "%E6%97%A5", "%f3", "a%20b", "%22%3E", "%5c%5cevil", "%23x"]
)
def test_nothing_of_a_path_gets_into_a_header_as_it_is(archive: ArchiveServer, path: str) -> None:
    item = archive.deposit(service="https://service.example/日本")
    answer = raw_get(archive.address, f"/col/{item['rep']}/doc/{path}?q=%0d%0aX:y".encode())
    head = answer.partition(b"\r\n\r\n")[0]
    assert b" 302 " in head.partition(b"\r\n")[0]
    [location] = re.findall(rb"(?m)^location: (.*)\r$", head)
    assert location.startswith(b"https://service.example/%E6%97%A5%E6%9C%AC/")
    assert re.fullmatch(rb"[!-~]+", location)
    assert b"#" not in location
    assert b"\r" not in head.replace(b"\r\n", b"")
    up = raw_get(archive.address, f"/col/{item['rep']}/doc/..%2f..%2fx".encode())
    assert b" 404 " in up.partition(b"\r\n")[0]


def test_what_is_not_digital_is_seen_by_its_metadata(archive: ArchiveServer) -> None:
    stone = archive.deposit(metadata={"titles": ["Amostra de rocha"], "types": ["PhysicalObject"]})
    assert "files" not in stone
    page = read(archive, f"/{stone['ibip']}", Accept=HTML)
    assert page.status == 200
    assert "Amostra de rocha" in page.body.decode()
    assert archive.get(f"/col/{stone['rep']}/doc/").status == 302


def test_relative_links_between_items_work_without_a_resolver(
    archive: ArchiveServer, family: Family
) -> None:
    link = f"../../../../../{family.en1['rep']}/doc/data/reference.bib"
    page = f'<a href="{link}">bib</a>'.encode()
    item = archive.deposit({"index.html": page, "more/deep.html": page}, target="index.html")
    here = target(archive, f"/{item['ibip']}")
    [found] = re.findall(r'href="([^"]+)"', archive.get(urlsplit(here).path).body.decode())
    answer = archive.get(urljoin(here, found).removeprefix(archive.address))
    assert (answer.status, answer.body) == (200, b"@b")
    # In the tree itself, moved with plain file tools.
    place = archive.data / "col" / item["rep"] / "doc" / "index.html"
    assert (place.parent / link).resolve().read_bytes() == b"@b"


PAGES = {
    "home": ("/", 200, "Arquivo de prova"),
    "item": ("/col/{metadata}/doc/metadata", 200, "A &lt;report&gt;"),
    "files": ("/displaydoccontent.cgi/{ibip}?displaytype=FileList", 200, "reference.bib"),
    "problem": ("/LK47B6W/362SFKH", 404, "404"),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_speak_the_language_of_the_reader(
    archive: ArchiveServer, family: Family, name: str
) -> None:
    given, status, words = PAGES[name]
    path = given.format(metadata=family.en1["metadata"]["rep"], ibip=family.en1["ibip"])
    choice = f"{path}{'&' if '?' in path else '?'}lang="
    texts = {}
    for asked, browser, language in (
        (path, "en", "en"),
        (path, "pt", "pt"),
        (path, PORTUGUESE, "pt-BR"),
        (path, "fr", "en"),
        (path, "", "en"),
        (f"{choice}pt", "en", "pt"),
        (f"{choice}en", "pt", "en"),
        (f"{choice}xx", "pt", "pt"),
        (f"{choice}%00%3Cscript%3E", "pt", "pt"),
    ):
        page = archive.get(asked, Accept=HTML, Accept_Language=browser)
        assert page.status == status
        text = page.body.decode()
        assert f'<html lang="{language}"' in text
        assert page.headers["content-language"] == language
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        vary = page.headers["vary"].removeprefix("Accept, ")  # where metadata have other forms
        assert vary == "Accept-Language, Cookie, Accept-Encoding"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"
        assert words in text
        assert text.count("<script src") == 1
        texts[language] = text
    assert texts["en"] != texts["pt"]


def test_pages_show_metadata_in_the_language_of_the_reader(archive: ArchiveServer) -> None:
    metadata = {
        "titles": ["A report", {"value": "Um relatório", "language": "pt"},
                   {"value": "Un rapport", "language": "fr"}],
        "descriptions": ["About soil", {"value": "Sobre o solo", "language": "pt"}],
        "subjects": ["soil", {"value": "solo", "language": "pt"}],
    }  # fmt: skip
    item = archive.deposit({"a": b"a"}, language="en", metadata=metadata, list_public=False)
    path = f"/col/{item['metadata']['rep']}/doc/metadata"
    english = ("A report", "About soil", "soil")
    portuguese = ("Um relatório", "Sobre o solo", "solo")
    french = ("Un rapport", "About soil", "soil")
    for query, browser, shown in (
        ("", "en-GB", english),
        ("", PORTUGUESE, portuguese),
        ("", "de, pt-PT", portuguese),
        ("", "fr-CA,en;q=0.5", french),
        ("", "de", english),
        ("?lang=pt", "en", portuguese),
        ("?lang=fr", "en", french),
        ("?lang=xx", "en", english),
    ):
        text = archive.get(path + query, Accept=HTML, Accept_Language=browser).body.decode()
        titles = {each[0] for each in (english, portuguese, french)}
        assert [each for each in titles if f">{each}</span></h1>" in text] == [shown[0]]
        assert f">{shown[1]}</p>" in text
        assert f'<meta name="citation_keywords" content="{shown[2]}">' in text
        assert set(re.findall(r'<dd><a href="\?lang=(\w\w)"', text)) == (
            {"en", "pt", "fr"} - {{english: "en", portuguese: "pt", french: "fr"}[shown]}
        )
    page = f"/displaydoccontent.cgi/{item['ibip']}"  # says the title too
    assert "Um relatório" in archive.get(page, Accept=HTML, Accept_Language="pt").body.decode()


def test_links_to_the_other_language_work(archive: ArchiveServer, family: Family) -> None:
    path = f"/col/{family.en1['metadata']['rep']}/doc/metadata"
    page = archive.get(path, Accept_Language="en", Accept=HTML).body.decode()
    links = [link for link in re.findall(r'href="([^"]+)"', page) if "lang=pt" in link]
    assert links
    for link in links:
        other = archive.get(urljoin(f"{archive.address}{path}", link).removeprefix(archive.address))
        assert other.headers["content-language"] == "pt"


def test_every_link_of_a_page_leads_somewhere(archive: ArchiveServer, family: Family) -> None:
    start = f"{archive.address}/col/{family.en1['metadata']['rep']}/doc/metadata"
    lists = f"{archive.address}/displaydoccontent.cgi/{family.en1['ibip']}?displaytype=FileList"
    seen = 0
    for page in (f"{archive.address}/", start, lists):
        text = archive.get(page.removeprefix(archive.address), Accept=HTML).body.decode()
        for link in set(re.findall(r'(?:href|src)="([^"#]+)"', text)):
            url = urljoin(page, link.replace("&amp;", "&"))
            if url.startswith(archive.address):
                assert archive.get(url.removeprefix(archive.address)).status in {200, 302, 303}, url
                seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/static/ibi.css", "text/css; charset=utf-8"),
        ("/static/ibi.js", "text/javascript; charset=utf-8"),
        ("/static/icon.svg", "image/svg+xml"),
        ("/favicon.ico", "image/vnd.microsoft.icon"),
    ],
)
def test_files_of_pages_are_kept_by_browsers(
    archive: ArchiveServer, path: str, media_type: str
) -> None:
    answer = archive.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, media_type)
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = archive.get(path, **{"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_head_is_get_without_the_body(archive: ArchiveServer, family: Family) -> None:
    en1 = family.en1
    for path in (
        "/",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/static/ibi.css",
        f"/{en1['ibip']}",
        f"/{en1['ibip']}!:(oai_dc)",
        f"/col/{en1['rep']}/doc/report.html",
        f"/col/{en1['rep']}/doc/",
        f"/col/{en1['metadata']['rep']}/doc/metadata",
        f"/col/{en1['metadata']['rep']}/doc/metadata?choice=oai_dc",
        f"/displaydoccontent.cgi/{en1['ibip']}",
        f"/{archive.service}?servicesubject=inclusionConfirmationRequest",
        "/LK47B6W/362SFKH",
        "/api/v1/archive",
        f"/api/v1/items/{en1['rep']}",
        "/api/v1/items",
    ):
        token = None if path.startswith("/api/") else ""
        get, head = (archive.ask(method, path, token=token) for method in ("GET", "HEAD"))
        assert head.status == get.status < 500, path
        assert head.body == b""
        if path != "/metrics":  # which count this too
            same = ("content-type", "content-length", "location", "etag")
            assert [head.headers.get(name) for name in same] == [
                get.headers.get(name) for name in same
            ], path


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_readers_change_nothing(archive: ArchiveServer, family: Family, method: str) -> None:
    for path in ("/", f"/{family.en1['ibip']}", f"/col/{family.en1['rep']}/doc/report.html"):
        answer = archive.ask(method, path, b"x", token="")
        assert answer.status == 405
        assert set(answer.headers["allow"].replace(" ", "").split(",")) == {"GET", "HEAD"}
        assert answer.headers["content-type"] == PROBLEM


def test_files_say_what_they_are_cited_as_and_run_nothing(
    archive: ArchiveServer, family: Family
) -> None:
    answer = archive.get(f"/col/{family.en1['rep']}/doc/report.html")
    assert answer.headers["content-security-policy"].startswith("sandbox")
    cited = f'<{archive.address}/{family.en1["ibip"]}>; rel="cite-as"'
    assert cited in answer.headers["link"]
    described = family.en1["metadata"]["ibip"]
    assert f'<{archive.address}/{described}>; rel="describedby"' in answer.headers["link"]
    assert read(archive, f"/{described}", Accept=HTML).status == 200


def test_further_names_lead_to_the_item(archive: ArchiveServer) -> None:
    names = ["dpi.inpe.br/banon/1998/08.02.08.56", "INPE-14187-TDI/1091"]
    item = archive.deposit({"a.txt": b"a"}, further_names=names[:1])
    assert read(archive, f"/{names[0]}").body == b"a"
    assert archive.get(f"/col/{names[0]}/doc/a.txt").body == b"a"
    assert archive.item(names[0])["rep"] == item["rep"]
    taken = archive.api(
        "POST", "deposits", {"metadata": {"titles": ["x"]}, "further_names": names[:1]}
    )
    assert taken.status == 409


def test_nobody_is_told_to_go_to_a_host_of_the_clients_choice(
    archive: ArchiveServer, family: Family
) -> None:
    for path in (
        f"/{family.en1['ibip']}",
        "/",
        f"/col/{family.en1['metadata']['rep']}/doc/metadata",
    ):
        answer = archive.ask(
            "GET",
            path,
            token="",
            headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Accept": HTML},
        )
        assert "evil.example" not in str(answer.headers)
        assert b"evil.example" not in answer.body


def test_many_files_are_listed_page_by_page(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit(target="f0000.txt")
    for number in range(25):
        assert archive.send(id_, f"f{number:04}.txt", b"x").status == 201
    item = archive.complete(id_)
    page = read(archive, f"/{item['ibip']}:", Accept=HTML).body.decode()
    assert "f0019.txt" in page
    assert "f0020.txt" not in page
    listed = read(
        archive, f"/{item['ibip']}?ibiurl.verblist=GetFileList", Accept=HTML
    ).body.decode()
    assert "f0024.txt" in listed
    after = archive.get(
        f"/displaydoccontent.cgi/{item['ibip']}?after={quote('f0022.txt')}", Accept=HTML
    ).body.decode()
    assert "f0023.txt" in after
    assert "f0021.txt" not in after
