"""The search of an archive as its readers and programs use it, on each database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import feedparser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

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


def test_outsiders_list_the_items_with_words_page_by_page(shelf: Shelf) -> None:
    made = [
        shelf.archive.deposit({"p.txt": b"p"}, metadata={"titles": [f"Periodical {word}"]})
        for word in ("one", "two", "three")
    ]
    labels = [each["rep"] for each in made]
    for order, expected in (("oldest", labels), ("newest", labels[::-1])):
        seen, after = [], "0"
        while after:
            pairs = {"q": "periodicals", "limit": "2", "after": after, "order": order}
            answer = shelf.archive.get(f"/api/v1/items?{urlencode(pairs)}").json()
            seen += [item["rep"] for item in answer["items"]]
            after = answer["after"]
        assert seen == expected
    assert shelf.archive.get("/api/v1/items?q=periodical&kind=metadata").status == 400
    assert shelf.archive.get("/api/v1/items?q=periodical&state=Copy").status == 400


def page(shelf: Shelf, path: str, **headers: str) -> str:
    """Return the text of a page."""
    answer = shelf.archive.get(path, **headers)
    assert answer.status == 200, answer.body
    return answer.body.decode()


def test_readers_search_and_narrow_by_links(shelf: Shelf) -> None:
    text = page(shelf, "/search?q=fonseca")
    assert "2 items" in text
    assert 'href="/search?q=fonseca&amp;year=2008"' in text
    assert 'content="noindex, follow"' in text
    narrowed = page(shelf, "/search?q=fonseca&year=2008&sort=title")
    assert "1 item</h2>" in narrowed
    assert "Studies of deforestation" in narrowed
    assert "Mata Atl" not in narrowed
    assert 'class="tag" href="/search?q=fonseca&amp;sort=title"' in narrowed
    assert '<option value="title" selected>' in narrowed


def test_results_show_the_words_and_lead_to_the_item(shelf: Shelf) -> None:
    text = page(shelf, "/search?q=relatorio+CBERS&lang=pt")
    assert "<mark>Relatórios</mark> da Mata Atlântica" in text
    assert "satélite <mark>CBERS</mark>-<mark>4A</mark>" not in text  # only what was asked for
    assert "satélite <mark>CBERS</mark>-4A &amp; estações" in text
    [link] = re.findall(r'<h3><a href="([^"]*)"', text)
    assert link == f"/{shelf.report['ibip']}:?lang=pt"
    landed = shelf.archive.get(link)
    assert landed.status == 302
    assert landed.headers["location"].endswith("?lang=pt")


def test_a_pasted_label_leads_to_the_item(shelf: Shelf) -> None:
    for text in (shelf.study["rep"], shelf.study["ibip"], f" ibi:{shelf.study['ibip']} "):
        found = shelf.archive.get(f"/search?{urlencode({'q': text})}")
        assert (found.status, found.headers["location"]) == (302, f"/{shelf.study['ibip']}:")
    citation = f"EXAMPLE, A. Studies. 2008. IBI: <{shelf.study['ibip']}>. Accessed: 1 May 2026."
    found = shelf.archive.get(f"/search?{urlencode({'q': citation})}")
    assert (found.status, found.headers["location"]) == (302, f"/{shelf.study['ibip']}:")
    unknown = page(shelf, "/search?q=IBI:+<8JMKD3MGP7W/3EPGUE5>,+2013")
    assert "This archive has no item with this label" in unknown
    assert "it leads to the item" not in unknown
    assert "Search with fewer words" not in unknown


def test_a_label_of_this_second_is_found_in_a_reference(shelf: Shelf) -> None:
    for _ in range(3):
        item = shelf.archive.deposit({"n.txt": b"1"}, metadata={"titles": ["Nothing else"]})
        cited = urlencode({"q": f"EXAMPLE, A. Nothing else. IBI: <{item['ibip']}>. Seen today."})
        found = shelf.archive.get(f"/search?{cited}")
        assert (found.status, found.headers["location"]) == (302, f"/{item['ibip']}:")


def test_a_search_without_hits_offers_others(shelf: Shelf) -> None:
    text = page(shelf, "/search?q=fonseca+zebra&type=Report")
    assert "No item has all of these words and filters" in text
    assert 'href="/search?q=fonseca&amp;type=Report"' in text
    text = page(shelf, "/search?q=deforestation&type=Report", **{"accept-language": "pt-BR"})
    assert "Nenhum item" in text
    assert 'class="tag" href="/search?q=deforestation"' in text
    text = page(shelf, "/search?q=deforestation&type=Report&language=pt&year=2013")
    assert 'aria-label="Filters in use"' in text
    assert 'Search without the filters: <a href="/search?q=deforestation"' in text
    assert "No item has this word" in page(shelf, "/search?q=zebra")


def test_a_search_for_the_beginning_of_a_word_offers_it(shelf: Shelf) -> None:
    text = page(shelf, "/search?q=deforestat")
    assert 'Search for words that begin so: <a href="/search?q=deforestat%2A"' in text
    assert "begin so" not in page(shelf, "/search?q=deforestat*")
    assert "begin so" not in page(shelf, "/search?q=zebra")


def test_another_search_keeps_the_filters_and_the_order(shelf: Shelf) -> None:
    form = page(shelf, "/search?language=pt&sort=title").partition('role="search"')[2]
    form = form.partition("</form>")[0]
    assert '<input type="hidden" name="language" value="pt">' in form
    assert '<input type="hidden" name="sort" value="title">' in form


def test_a_result_that_has_a_newer_edition_says_so(shelf: Shelf) -> None:
    first = shelf.archive.deposit({"o.txt": b"o"}, metadata={"titles": ["Ocean winds"]})
    assert "A newer edition exists" not in page(shelf, "/search?q=ocean+winds")
    shelf.archive.deposit(
        {"o.txt": b"o2"}, metadata={"titles": ["Ocean winds"]}, edition_of=first["rep"]
    )
    assert page(shelf, "/search?q=ocean+winds").count("A newer edition exists") == 1


def test_a_search_with_signs_says_how_they_work_and_not_what_is_untrue(shelf: Shelf) -> None:
    for text in ('"deforestation studies"', "studies -deforestation", "xyz*"):
        shown = page(shelf, f"/search?{urlencode({'q': text})}")
        assert "No item matches this search" in shown
        assert "<code>rain*</code>" in shown
    in_portuguese = page(shelf, "/search?q=zebra&lang=pt")
    assert "<code>-palavra</code>" in in_portuguese
    assert "Nenhum item" in in_portuguese


def test_titles_that_are_the_words_of_a_reader_come_first(shelf: Shelf) -> None:
    titles = ("What is a delta?", "What is a delta? Second edition", "Delta: what it is")
    for title in titles:
        shelf.archive.deposit({"d.txt": b"d"}, metadata={"titles": [title]})
    assert shelf.titles("what is a delta") == list(titles)


def test_the_front_page_shows_recent_items_and_numbers(shelf: Shelf) -> None:
    shelf.archive.deposit({"n.txt": b"n"}, metadata={"titles": ["News of today"]})
    text = page(shelf, "/")
    assert 'action="/search"' in text
    assert "News of today" in text
    assert re.search(r"<dt>items</dt><dd>\d+</dd>", text)
    assert 'rel="alternate" type="application/atom+xml"' in text
    assert '<input type="search"' in page(shelf, f"/col/{shelf.study['metadata']['rep']}/doc/")


def test_readers_browse_by_facets(shelf: Shelf) -> None:
    text = page(shelf, "/browse")
    assert 'href="/search?year=2008"' in text
    names = page(shelf, "/browse?by=creator")
    assert names.index("Burnings Programme") < names.index("Fonseca, Inês")
    assert 'href="/search?creator=Fonseca%2C+In%C3%AAs"' in names
    after = page(shelf, "/browse?by=creator&after=C")
    assert "Burnings" not in after
    assert "Fonseca, Inês" in after
    years = page(shelf, "/browse?by=year&lang=pt")
    assert years.index(">2013<") < years.index(">2008<")
    assert 'href="/search?year=2013&amp;lang=pt"' in years


def test_a_feed_reader_follows_a_search(shelf: Shelf) -> None:
    answer = shelf.archive.get("/feed.atom?q=fonseca&page=3&sort=title")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = feedparser.parse(answer.body)
    assert not feed.bozo, feed.bozo_exception
    assert feed.version == "atom10"
    assert feed.feed.id.endswith("/feed.atom?q=fonseca")
    assert [link.rel for link in feed.feed.links] == ["self", "alternate"]
    assert [entry.title for entry in feed.entries] == [
        "Studies of deforestation",
        "Relatórios da Mata Atlântica",
    ]
    study, report = feed.entries
    assert report.id == f"ibi:{shelf.report['rep']}"
    assert report.link == f"{shelf.report['persistent_url']}:"
    assert report.summary == "Imagens do satélite CBERS-4A & estações de campo."
    assert [author.name for author in study.authors] == ["Fonseca, Inês", "Burnings Programme"]
    assert [tag.term for tag in study.tags] == ["Data set"]
    assert feed.feed.updated_parsed >= report.updated_parsed
    assert len(feedparser.parse(shelf.archive.get("/feed.atom").body).entries) >= 4


def test_a_feed_is_not_sent_twice(shelf: Shelf) -> None:
    first = shelf.archive.get("/feed.atom?q=fonseca")
    for condition in (
        {"if-none-match": first.headers["etag"]},
        {"if-modified-since": first.headers["last-modified"]},
    ):
        assert shelf.archive.get("/feed.atom?q=fonseca", **condition).status == 304
    assert shelf.archive.get("/feed.atom?q=fonseca", **{"if-none-match": '"x"'}).status == 200


def test_what_is_foreign_stays_text_on_pages_and_in_feeds(shelf: Shelf) -> None:
    for path in ("/", "/search?q=report", "/browse?by=creator", "/browse?by=type"):
        assert "<script>alert" not in page(shelf, path)
        assert "<img src=x" not in page(shelf, path)
    feed = feedparser.parse(shelf.archive.get("/feed.atom?q=forest").body)
    [hostile] = [entry for entry in feed.entries if "report" in entry.title]
    assert hostile.title_detail.type == "text/plain"
    assert hostile.title == "<script>alert(1)</script> report"


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
    assert _ask(shelf, "/search", pairs).status in {200, 302}
    assert _ask(shelf, "/browse", {"by": "creator", "after": pairs.get("q", "")}).status == 200
    feed = _ask(shelf, "/feed.atom", pairs)
    assert feed.status == 200
    etree.fromstring(feed.body, etree.XMLParser(resolve_entities=False))
