"""The pages of an archive: two languages, valid, and nothing foreign in them but text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

from ibi.archive.ports.catalogue import FileTotal
from ibi.archive.ports.maintenance import HolderRecord
from ibi.archive.ports.search import FACETS, FacetCount
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.rules.search.snippet import Part
from ibi.archive.search.search import Alternative, SearchResults
from ibi.archive.web.citations import GENRE_TEXTS, Citations
from ibi.archive.web.discovery.entries import Entry
from ibi.archive.web.discovery.overview import Overview
from ibi.archive.web.discovery.views import (
    BrowseView,
    CollectionsView,
    CollectionTile,
    CollectionView,
    HomeView,
    SearchView,
)
from ibi.archive.web.pages import FOOTER, NAVIGATION, Pages
from ibi.archive.web.views import (
    Edition,
    EditionListView,
    Editions,
    FileListView,
    ItemView,
    LimitedView,
    PastAct,
    RefusedListView,
    TombstoneView,
    Translation,
    TranslationListView,
)
from ibi.foundation.pages.identity import CONTACT_NAME, IMPRINT_NAME, SiteIdentity
from ibi.foundation.pages.static_files import (
    FILES,
    SCRIPT,
    SCRIPT_CHECKSUM,
    SECURITY_POLICY,
    STYLE_SHEET,
    versioned,
)
from ibi.foundation.pages.templates import Page, ProblemView
from ibi.foundation.translation.language import preference_of
from ibi.identifier.cleanup import CleanUp
from ibi.identifier.description import LabelWarning
from ibi.identifier.label import parse
from ibi.identifier.language import Language
from ibi.metadata.cited_work import cited_work
from ibi.model.item import File, Item, State, Tombstone
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text
from ibi.resolver.web import pages as resolver_pages
from ibi.resolver.web.explanation import SENTENCES
from ibi.resolver.web.views import OUTCOME_TEXTS, REASONS
from tests.support.doubles.minting_machine import FakeClock
from tests.support.values.sentences import sentence_templates

FORMS = Forms.parse("rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8")
OTHER = Forms.parse("ibip LK47B6W/362SFKH")
BASE = "https://archive.example"
PAGES = Pages(SiteIdentity(name="Acervo de Teste"), BASE)
ENGLISH, PORTUGUESE = preference_of("en"), preference_of("pt-BR")
NOVEMBER = 1_700_000_000 * 10**9
CITATIONS = Citations("Acervo de Teste", FakeClock(NOVEMBER))
ORCID = "0000-0002-1825-0097"
SHEET = FILES[STYLE_SHEET].content.decode()


def file(path: str, media_type: str = "") -> File:
    return File(path, 1_234_567, "ab" * 32, "cd" * 64, NOVEMBER, media_type)


def slashless(word: str) -> str:
    """Return a word that can be the name of a file: a slash would make a folder of it."""
    return word.replace("/", "\N{FRACTION SLASH}")


def maximal(word: str = "palavra", tag: str = "pt-BR") -> ItemView:
    """Return an item that has all there is, the same word in every place of free text."""
    text, agent = Text(word, tag), Agent(family=word, given=word, orcid=ORCID)
    record = MetadataRecord(
        titles=(text, text),
        creators=(agent, Agent(word)),
        subjects=(text,),
        descriptions=(text, text),
        publishers=(Agent(word),),
        contributors=(agent,),
        dates=("2009-02-16", "2009-02", "2009", "2009/2010-03-01T10:00-03:00", "0000", word),
        types=("Dataset", word),
        formats=(word,),
        identifiers=(word,),
        sources=(word,),
        languages=("pt-BR", "tlh", word),
        relations=(word,),
        coverages=(text,),
        rights=(text,),
        licence="CC-BY-4.0",
    )
    item = Item(
        forms=FORMS,
        further_names=(parse("6qtX3pFwXQZGivnK2Y/SskcB"),),
        state=State.COPY,
        language=Language("pt", "BR"),
        target=f"folder/{slashless(word)}.pdf",
        created=NOVEMBER,
        updated=NOVEMBER,
        metadata=OTHER,
        origin="http://other.example.org",
        previous_edition=OTHER,
        next_edition=OTHER,
        translations=((Language("en"), OTHER), (Language("fr", "CA"), OTHER)),
    )
    name = slashless(word)
    cited = CITATIONS.of(cited_work(record, FORMS, BASE), "en")
    found = (file(f"folder/{name}.pdf"), file(name, f"application/{word}"))
    return ItemView(
        item=item,
        record=record,
        files=found,
        file_count=3_000,
        list_address="/list",
        target=found[0],
        editions=Editions(
            later=(Edition(forms=OTHER, title=word, published="2012-11-05"),),
            this=Edition(forms=FORMS, title=word, published="2026"),
            earlier=(Edition(forms=OTHER),),
            has_later=True,
            has_earlier=True,
        ),
        collections=((OTHER, word),),
        is_collection=True,
        acts=(PastAct("describe", NOVEMBER), PastAct("deposit", NOVEMBER)),
        checked=NOVEMBER,
        missing=NOVEMBER,
        holders=(
            HolderRecord(label="", address="http://a.example.org", name=word, seen=NOVEMBER),
            HolderRecord(label="", address=word, name=word, seen=0),
        ),
        now=NOVEMBER + 7200 * 10**9,
        citations=cited,
    )


@cache
def pages_of(archive: str) -> Pages:
    return Pages(SiteIdentity(name=archive), BASE)


def discovery(pages: Pages, word: str) -> dict[str, Callable[[], Page]]:
    """Return the pages by which items are found, with a word where foreign text comes in."""
    record = maximal(word).record
    assert record is not None
    entry = Entry(
        item=maximal(word).item,
        title=(Part(word, is_hit=False), Part(word, is_hit=True)),
        type=word,
        year="2013",
        language="pt",
        people=record.creators,
        other_people=2,
        snippet=(Part(word, is_hit=True), Part(word, is_hit=False)),
        snippet_language="pt-BR",
        licence=record.licence,
        files=FileTotal(2, 2000),
    )
    bare = Entry(item=Item(forms=OTHER, readers=("192.0.2.0/24",)), title=())
    values = (FacetCount(word, 2), FacetCount("other", 1))
    query = SearchQuery(text=word, filters=(("type", word), ("creator", word)), page=2)
    results = SearchResults(
        query=query,
        items=(),
        count=80,
        is_cut=True,
        facets=dict.fromkeys(FACETS, values),
        is_whole=False,
    )
    none = replace(results, query=query.at(1), count=0, facets={}, is_cut=False)
    others = (
        Alternative(query.widened("type"), 2, is_cut=False, widened="type"),
        Alternative(query.with_text(word), 1, is_cut=True),
    )
    overview = Overview(
        items=2, files=3, size=4, values=dict.fromkeys(FACETS, 200), first_year="1999"
    )
    here = f"/search?q={word}&lang=pt"
    tile = CollectionTile(forms=FORMS, title=Text(word, "pt"), count=2, description=Text(word))
    bare_tile = CollectionTile(forms=OTHER, title=Text(word), count=0)
    names = {word: word}
    return {
        "full home": lambda: pages.home(
            HomeView(service=OTHER, recent=(entry, bare), overview=overview, collections=(tile,)),
            ENGLISH,
            "/?lang=en",
        ),
        "search": lambda: pages.search(
            SearchView(results=results, entries=(entry, bare), names=names), PORTUGUESE, here
        ),
        "nothing found": lambda: pages.search(
            SearchView(results=none, entries=(), alternatives=others, elsewhere=BASE), ENGLISH, here
        ),
        "collections": lambda: pages.collections(
            CollectionsView(tiles=(tile, bare_tile), count=2, page=2, last_page=9), ENGLISH, here
        ),
        "no collections": lambda: pages.collections(CollectionsView(tiles=(), count=0), PORTUGUESE),
        "collection": lambda: pages.collection(
            CollectionView(
                collection=tile,
                results=results,
                entries=(entry, bare),
                people=record.creators,
                parents=(bare_tile,),
            ),
            PORTUGUESE,
            here,
        ),
        "empty collection": lambda: pages.collection(
            CollectionView(collection=bare_tile, results=none, entries=()), ENGLISH
        ),
        "browse": lambda: pages.browse(
            BrowseView(values={"type": values}, overview=overview), ENGLISH, here
        ),
        "browse by creator": lambda: pages.browse(
            BrowseView(facet="creator", values={"creator": values}, after=word, next_after=word),
            PORTUGUESE,
            here,
        ),
    }


def several(word: str = "palavra") -> dict[str, Callable[[], Page]]:
    """Return all pages, in all shapes, with a word where foreign text comes in."""
    stone = Tombstone(NOVEMBER, word, word, OTHER)
    bare = Item(forms=OTHER)
    full = maximal(word)
    about = Item(forms=OTHER, kind="metadata", describes=FORMS, record=full.record)
    service = replace(bare, runs_at=word, created=NOVEMBER)
    many = tuple(file(f"{folder}/{word} {number}") for folder in "ab" for number in range(2))
    here = f"/col/x/{word}?ibiurl.verblist=GetFileList&after={word}&lang={word}"
    pages = pages_of(word)
    views: dict[str, Callable[[], Page]] = {
        "item": lambda: pages.item(full, PORTUGUESE, here),
        "metadata": lambda: pages.item(ItemView(item=about, described=stone), ENGLISH, here),
        "bare item": lambda: pages.item(ItemView(item=bare), ENGLISH),
        "titled item": lambda: pages.item(
            ItemView(item=bare, record=MetadataRecord(titles=(Text(word),))), PORTUGUESE
        ),
        "service": lambda: pages.item(ItemView(item=service), ENGLISH),
        "secret list": lambda: pages.item(
            ItemView(item=replace(bare, list_public=False), list_address="/list"), PORTUGUESE
        ),
        "files": lambda: pages.files(
            FileListView(forms=FORMS, files=many, title=word, more=True), ENGLISH, here
        ),
        "no files": lambda: pages.files(FileListView(forms=OTHER, files=()), PORTUGUESE),
        "editions": lambda: pages.editions(
            EditionListView(
                forms=FORMS,
                title=word,
                editions=full.editions,
                later_page=OTHER,
                earlier_page=OTHER,
            ),
            PORTUGUESE,
            here,
        ),
        **{
            name: lambda is_metadata=is_metadata: pages.translations(  # type: ignore[misc]  # as below
                TranslationListView(
                    forms=FORMS,
                    title=word,
                    is_metadata=is_metadata,
                    translations=(
                        Translation(language=Language("en"), forms=OTHER, title=word),
                        Translation(language=Language("pt"), forms=FORMS, is_current=True),
                    ),
                    count=1000,
                    last="pt",
                ),
                ENGLISH,
                here,
            )
            for name, is_metadata in (("translations", False), ("metadata in languages", True))
        },
        "limited": lambda: pages.limited(
            LimitedView(forms=FORMS, title=word, metadata=OTHER), ENGLISH, here
        ),
        "files refused": lambda: pages.files_refused(
            RefusedListView(forms=FORMS, title=word), ENGLISH, here
        ),
        "tombstone": lambda: pages.tombstone(
            TombstoneView(
                forms=FORMS, tombstone=stone, record=full.record, replacement=full.record
            ),
            PORTUGUESE,
            here,
        ),
        "bare tombstone": lambda: pages.tombstone(
            TombstoneView(forms=OTHER, tombstone=Tombstone(NOVEMBER, "", "")), ENGLISH
        ),
        "home": lambda: pages.home(HomeView(service=OTHER), PORTUGUESE, "/"),
        **discovery(pages, word),
    }
    for status in (400, 401, 403, 404, 406, 410, 429, 500, 503):
        problem = ProblemView(status=status, title=word, detail=word, retry_after=status % 2)
        views[f"problem {status}"] = lambda view=problem: pages.problem(view, PORTUGUESE, here)  # type: ignore[misc]  # mypy infers no lambda with a default
    return views


VOID = {"meta", "link", "br", "img", "hr", "wbr", "input"}
KNOWN = VOID | {
    *("html", "head", "title", "body", "header", "nav", "main", "footer", "section"),
    *("h1", "h2", "h3"),
    *("p", "a", "span", "ul", "li", "dl", "dt", "dd", "cite", "time", "data", "code", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "script", "button", "form", "b", "ol"),
    *("aside", "details", "summary", "noscript", "label", "fieldset", "legend", "i"),
    *("select", "option", "mark"),
    *("svg", "path", "circle", "rect", "ellipse", "g"),
}
INSIDE = {
    "li": {"ul", "ol"},
    "dt": {"dl", "div"},
    "dd": {"dl", "div"},
    "thead": {"table"},
    "tbody": {"table"},
    "tr": {"thead", "tbody"},
    "th": {"tr"},
    "td": {"tr"},
    "meta": {"head"},
    "link": {"head"},
    "title": {"head"},
    "script": {"head"},
}
"""Which element may stand only in which."""
ONLY = {
    "ul": {"li"},
    "ol": {"li"},
    "dl": {"dt", "dd", "div"},
    "table": {"thead", "tbody"},
    "tr": {"th", "td"},
}
PHRASES = {"p", "h1", "h2", "span", "a", "cite", "time", "code", "data", "dt", "title"}
BLOCKS = {"p", "h1", "h2", "ul", "dl", "div", "table", "section", "header", "main", "footer", "nav"}


class Document(HTMLParser):
    """A page taken apart, and held against the rules of HTML that our elements have."""

    def __init__(self, page: Page) -> None:
        """Read the page; whatever breaks a rule fails the test."""
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        assert page.html.startswith("<!doctype html>")
        self.feed(page.html.encode().decode())
        self.close()
        assert self._open == []
        self._check_outline()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check an element where it begins."""
        assert tag in KNOWN, tag
        attributes = {name: value or "" for name, value in attrs}
        assert len(attributes) == len(attrs), "an attribute twice"
        assert not {name for name in attributes if name.startswith("on") or name == "style"}
        assert tag != "script" or attributes.get("integrity") == SCRIPT_CHECKSUM
        parent = self._open[-1] if self._open else ""
        assert parent in INSIDE.get(tag, {parent}), f"{tag} in {parent}"
        assert tag in ONLY.get(parent, {tag}), f"{tag} in {parent}"
        assert not (tag in BLOCKS and PHRASES & set(self._open)), f"{tag} in {self._open}"
        assert not (tag == "a" and "a" in self._open)
        for name in ("href", "content", "src"):
            assert attributes.get(name, "x"), f"{tag} with an empty {name}"
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that the element that ends is the one that began last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.texts.append(data)

    def all(self, tag: str) -> Iterator[dict[str, str]]:
        """Yield the attributes of each element of a kind."""
        return (attributes for name, attributes in self.elements if name == tag)

    @property
    def text(self) -> str:
        """All text, with single blanks."""
        return " ".join("".join(self.texts).split())

    @property
    def shape(self) -> list[tuple[str, list[str]]]:
        """The page without its words."""
        return [(tag, list(attributes)) for tag, attributes in self.elements]

    def _check_outline(self) -> None:
        names = [tag for tag, _ in self.elements]
        for once in ("html", "head", "title", "body", "main", "h1"):
            assert names.count(once) == 1, once
        headings = [name for name in names if re.fullmatch("h[1-6]", name)]
        assert headings[0] == "h1"
        ids = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        assert len(set(ids)) == len(ids)
        for _, attributes in self.elements:
            if "aria-labelledby" in attributes:
                assert attributes["aria-labelledby"] in ids
            if attributes.get("href", "").startswith("#"):
                assert attributes["href"][1:] in ids
        assert next(self.all("html"))["lang"]


@pytest.mark.parametrize("name", several())
def test_every_page_keeps_to_the_rules_of_html(name: str) -> None:
    page = several()[name]()
    document = Document(page)
    assert next(document.all("html"))["lang"] == page.language


def test_the_rules_find_what_breaks_them() -> None:
    """The twin."""
    good = several()["bare item"]()
    for old, new in (
        ("<h1>", "<h2>"),
        ("</main>", ""),
        ("<h1>", "<h1><script></script>"),
        ('integrity="', 'integrity="x'),
        ('id="names"', 'id="files"'),
        ('<dl class="pairs">', '<dl class="pairs"><p></p>'),
        ('<main id="content"', '<main id="content" onclick="x"'),
    ):
        assert old in good.html
        with pytest.raises(AssertionError):
            Document(Page(good.html.replace(old, new, 1), "en"))


HOSTILE = [
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    "</title></head><body onload=alert(1)>",
    "<!--",
    "]]>",
    "{{ 7 * 7 }}{% raw %}",
    "%(title)s %s &amp; &#60;b&#62;",
    "javascript:alert(1)",
    "\u202e\u2066 <b>",
    "\x00\x1b[2J\udc80<svg/onload=alert(1)>",
]


@pytest.mark.parametrize("name", several())
def test_what_is_foreign_stays_text(name: str) -> None:
    harmless = Document(several("palavra")[name]())
    for hostile in HOSTILE:
        attacked = Document(several(hostile)[name]())
        assert attacked.shape == harmless.shape, hostile
        for tag, attributes in attacked.elements:
            address = attributes.get("href", "https:")
            assert address.startswith(("https:", "http:", "/", "?", "#")), (tag, address)
            assert not address.startswith("//"), address
        if "palavra" in harmless.text:
            shown = " ".join(hostile.split())
            shown = shown.translate(dict.fromkeys((0x00, 0x1B, 0xDC80), "\ufffd"))
            assert shown in attacked.text, hostile


def test_a_language_tag_is_foreign_too() -> None:
    hostile = Document(PAGES.item(maximal("palavra", HOSTILE[0]), ENGLISH))
    assert hostile.shape == Document(PAGES.item(maximal(), ENGLISH)).shape


@pytest.mark.parametrize(
    "foreign",
    ["javascript:alert(1)", "data:text/html,x", "//evil.example", "http://good@evil.example/"],
)
def test_only_what_is_a_web_address_becomes_a_link(foreign: str) -> None:
    view = maximal()
    record = view.record
    assert record is not None
    words = (foreign, "https://good.example/a?b=c&d", "LK47B6W/362SFKH", "ibi:LK47B6W/362SFKH")
    changed = replace(record, relations=words, sources=words, identifiers=words, licence=foreign)
    service = replace(view.item, runs_at=foreign)
    page = PAGES.item(replace(view, record=changed, item=service), ENGLISH)
    addresses = [attributes["href"] for attributes in Document(page).all("a")]
    assert not [address for address in addresses if "evil" in address or foreign in address]
    assert addresses.count("https://good.example/a?b=c&d") == 3
    assert addresses.count(f"{BASE}/LK47B6W/362SFKH") >= 6


def test_pages_need_nothing_that_their_policy_forbids() -> None:
    for make in several().values():
        document = Document(make())
        assert next(document.all("link"))["href"] == versioned(STYLE_SHEET, FILES[STYLE_SHEET])
        sources = [attributes["src"] for _, attributes in document.elements if "src" in attributes]
        assert sources == [versioned(SCRIPT, FILES[SCRIPT])]
    assert (
        f"default-src 'none'; script-src '{SCRIPT_CHECKSUM}'; style-src 'self'; img-src 'self'; "
        "media-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ) == SECURITY_POLICY


# Languages


@pytest.mark.parametrize(
    ("accepted", "chosen", "language"),
    [
        ("", "", "en"),
        ("de", "", "en"),
        ("pt-PT, en;q=0.5", "", "pt"),
        ("pt-BR", "", "pt-BR"),
        ("pt-BR", "en", "en"),
        ("en", "pt", "pt"),
        ("pt", "de", "pt"),
        ("pt", "<script>", "pt"),
    ],
)
def test_the_reader_chooses_the_language(accepted: str, chosen: str, language: str) -> None:
    page = PAGES.home(HomeView(), preference_of(accepted, chosen))
    assert page.language == language
    assert f'<html lang="{language}">' in page.html
    assert ("Itens recentes" in page.html) == language.startswith("pt")
    assert ("Recent items" in page.html) == (language == "en")


def test_pages_link_to_themselves_in_the_other_language() -> None:
    page = PAGES.home(HomeView(), ENGLISH, "/col/a?x=1&lang=en&y=%2F")
    expected = {code: f"{BASE}/col/a?x=1&y=/&lang={code}" for code in ("en", "pt")}
    document = Document(page)
    for tag in ("a", "link"):
        found = {each["hreflang"]: each["href"] for each in document.all(tag) if "hreflang" in each}
        assert found == expected


def catalogue() -> Catalog:
    with files("ibi.foundation.translation").joinpath("locale", "pt.po").open("rb") as source:
        return read_po(source, locale="pt", abort_invalid=True)


def test_every_message_of_the_templates_is_translated_and_no_other() -> None:
    method = [("**.html", "jinja2.ext:babel_extract")]
    options = {"**.html": {"silent": "false"}}
    extracted = {
        message[2]
        for package in ("ibi.foundation.pages", "ibi.archive.web", "ibi.resolver.web")
        for message in extract_from_dir(str(files(package) / "templates"), method, options)
    }
    assert len(extracted) > 80
    translated = {message.id for message in catalogue() if message.id}
    singular = {message[0] for message in extracted if isinstance(message, tuple)}
    assert extracted | (set(sentences()) - singular) == translated


def sentences() -> Iterator[str]:
    """Yield what pages take from elsewhere, and tell in the reader's language."""
    yield from SENTENCES.values()
    yield from sentence_templates()
    yield from REASONS
    yield from GENRE_TEXTS
    for words in OUTCOME_TEXTS.values():
        yield from words
    for named in (*CleanUp, *LabelWarning):
        yield named.sentence
    for entry in (*NAVIGATION, *FOOTER, *resolver_pages.NAVIGATION, *resolver_pages.FOOTER):
        yield entry.name
    yield from (CONTACT_NAME, IMPRINT_NAME)


PLACEHOLDER = re.compile(r"%\([a-z]+\)s")


def test_translations_are_whole_and_name_the_same_values() -> None:
    for message in catalogue():
        ids = [message.id] if isinstance(message.id, str) else list(message.id)
        string = message.string or ""
        strings = [string] if isinstance(string, str) else list(string)
        if ids == [""]:
            continue
        assert not message.fuzzy
        assert len(strings) == len(ids)
        for one, other in zip(ids, strings, strict=True):
            assert other, one
            assert sorted(PLACEHOLDER.findall(one)) == sorted(PLACEHOLDER.findall(other))
            assert (one[-1] in ".:") == (other[-1] in ".:")
            # One word for one thing: a file is an "arquivo", an archive an "acervo". Commands have
            # the same names in every language.
            if "'ibi archive " not in one:
                assert ("acervo" in other.lower()) == bool(re.search("[Aa]rchive", one)), other
            assert ("arquivo" in other.lower()) == bool(re.search(r"\b[Ff]iles?\b", one)), other


# What is shown


def test_dates_sizes_and_numbers_are_those_of_the_language() -> None:
    view = maximal()
    english, portuguese = (
        Document(PAGES.item(view, preference)).text for preference in (ENGLISH, PORTUGUESE)
    )
    for shown in ("February 16, 2009", "1.2 MB", "of 3,000 files", "Portuguese (Brazil)"):
        assert shown in english
    for shown in ("16 de fevereiro de 2009", "1,2 MB", "de 3.000 arquivos", "português (Brasil)"):
        assert shown in portuguese
    assert "fevereiro de 2009 2009 2009 – 1 de março de 2010 13:00:00 UTC 0000" in portuguese
    times = {each["datetime"] for each in Document(PAGES.item(view, ENGLISH)).all("time")}
    assert {"2009", "2009-02", "2009-02-16", "2010-03-01T13:00:00Z"} < times


def test_the_page_of_an_item_says_all() -> None:
    document = Document(PAGES.item(maximal(), ENGLISH))
    for shown in (
        "Data set 2009 A copy palavra palavra palavra palavra",
        "How to cite Citation style ABNT APA Chicago IEEE Vancouver ABNT PALAVRA, P.;",
        f"IBI: 8JMKD3MGP8W/35MMLL8. Available at: {BASE}/8JMKD3MGP8W/35MMLL8. Accessed: 14 Nov.",
        "P. palavra and palavra, Feb. 2009, “palavra,” palavra. [Online].",
        f"{BASE}/8JMKD3MGP8W/35MMLL8 Copy Open PDF, 1.2 MB",
        "Label 8JMKD3MGP8W/35MMLL8 Copy Repository name sid.inpe.br/mtc-m18@80/2009/07.21.14.43",
        "Further names 6qtX3pFwXQZGivnK2Y/SskcB",
        "Copy: the Original is in another archive.",
        "Check character",
        "A newer edition exists. Go to the newest edition",
        "Editions Later editions palavra November 5, 2012 palavra 2026",
        "LK47B6W/362SFKH Earlier editions",
        "This item in Portuguese (Brazil) English French (Canada)",
        "A copy compared with its Original 2 hours ago",
        "Description changed November 14, 2023 Deposited November 14, 2023",
        "Last update November 14, 2023",
        "palavra.pdf the main file",
    ):
        assert shown in document.text
    addresses = {attributes["href"] for attributes in document.all("a")}
    assert {"?choice=oai_dc", "/list", f"https://orcid.org/{ORCID}"} < addresses
    assert "https://creativecommons.org/licenses/by/4.0/" in addresses


def test_the_page_of_an_item_says_it_to_programs() -> None:
    document = Document(PAGES.item(maximal(), ENGLISH))
    links = {each["rel"]: each["href"] for each in document.all("link")}
    assert links["cite-as"] == f"{BASE}/8JMKD3MGP8W/35MMLL8"
    described_by = {
        (each["type"], each["href"])
        for each in document.all("link")
        if each["rel"] == "describedby"
    }
    assert described_by >= {
        ("text/xml", "?choice=oai_dc"),
        ("application/x-bibtex", "?choice=bibtex"),
        ("application/x-research-info-systems", "?choice=ris"),
        ("application/vnd.citationstyles.csl+json", "?choice=csl"),
        ("text/plain", "?choice=erc"),
    }
    named = [(each["name"], each["content"]) for each in document.all("meta") if "name" in each]
    folder = f"{BASE}/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/folder"
    for pair in (
        ("DC.title", "palavra"),
        ("DC.creator", "palavra, palavra"),
        ("DC.rights", "https://creativecommons.org/licenses/by/4.0/"),
        ("citation_author", "palavra, palavra"),
        ("citation_author_orcid", f"https://orcid.org/{ORCID}"),
        ("citation_publication_date", "2009/02/16"),
        ("citation_pdf_url", f"{folder}/palavra.pdf"),
    ):
        assert pair in named
    assert {"name": "DC.title", "lang": "pt-BR", "content": "palavra"} in document.all("meta")


def test_the_description_of_a_deleted_item_says_so_and_is_not_offered_to_cite() -> None:
    page = several()["metadata"]()
    document = Document(page)
    assert "The item that is described here was deleted" in document.text
    assert "It was replaced by: LK47B6W/362SFKH" in document.text
    assert "8JMKD3MGP8W/35MMLL8" in document.text
    assert "IBI: <8JMKD3MGP8W/35MMLL8>" not in document.text
    assert "/doc/" not in page.html


def test_the_description_says_nothing_of_deletion_otherwise() -> None:
    assert "deleted" not in Document(PAGES.item(maximal(), ENGLISH)).text


def test_addresses_of_files_are_percent_encoded_utf_8() -> None:
    listed = FileListView(forms=FORMS, files=(file("pasta 1/Relatório #1?.pdf"), file("a%2fb")))
    addresses = [each["href"] for each in Document(PAGES.files(listed, ENGLISH)).all("a")]
    folder = "/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc"
    assert f"{folder}/pasta%201/Relat%C3%B3rio%20%231%3F.pdf" in addresses
    assert f"{folder}/a%252fb" in addresses


def test_an_archive_may_lie_below_a_path() -> None:
    pages = Pages(SiteIdentity(name="Acervo"), "https://example.org/archive/")
    page = pages.item(maximal(), ENGLISH, "/list")
    for shown in ('"/archive/static/ibi.css?v=', '"/archive/"', '"/archive/col/sid.inpe.br/'):
        assert f"href={shown}" in page.html
    assert 'href="https://example.org/archive/list?lang=pt"' in page.html
    assert 'content="https://example.org/archive/col/sid.inpe.br/' in page.html


def test_a_list_goes_on_after_a_hundred_files() -> None:
    found = tuple(file(f"a/{number:04} &.txt") for number in range(101))
    here = "/8JMKD3MGP8W/35MMLL8?ibiurl.verblist=GetFileList&after=a/x"
    listed = FileListView(forms=FORMS, files=found)
    document = Document(PAGES.files(listed, ENGLISH, here))
    (following,) = [each["href"] for each in document.all("a") if each.get("rel") == "next"]
    query = "ibiurl.verblist=GetFileList&after=a/0099%20%26.txt"
    assert following == f"{BASE}/8JMKD3MGP8W/35MMLL8?{query}"
    assert len(list(document.all("data"))) == 100
    assert 'rel="next"' not in PAGES.files(replace(listed, files=found[1:]), ENGLISH, here).html
    whole = replace(listed, files=found[:2], more=True)
    assert "after=a/0001%20%26.txt" in PAGES.files(whole, ENGLISH, here).html


def test_the_page_of_an_item_shows_the_first_files_and_says_so() -> None:
    twenty = tuple(file(f"{number}.txt") for number in range(20))
    view = ItemView(item=Item(forms=FORMS), list_address="/list")
    for files_, count, said in (
        (twenty, 20, ""),
        (twenty, 0, "These are the first files."),
        (twenty, 1_234, "These are the first 20 of 1,234 files."),
        (twenty[:2], 0, ""),
        ((*twenty, file("z")), 21, "These are the first 20 of 21 files."),
    ):
        shown = Document(PAGES.item(replace(view, files=files_, file_count=count), ENGLISH))
        assert shown.text.count(".txt") == min(len(files_), 20)
        assert ("first" in shown.text) == bool(said)
        assert said in shown.text


def test_files_of_a_folder_stand_together() -> None:
    paths = ("b.txt", "a/1", "a.txt", "a/2", "a/c/3")
    listed = FileListView(forms=FORMS, files=tuple(map(file, paths)))
    assert list(listed.folders) == ["", "a", "a/c"]
    text = Document(PAGES.files(listed, ENGLISH)).text
    places = [text.index(word) for word in ("b.txt", "a.txt", "a/", "a/c/")]
    assert places == sorted(places)


def test_a_tombstone_tells_who_when_why_and_what_instead() -> None:
    stone = Tombstone(NOVEMBER, "The administrator", "Twice deposited", OTHER)
    record = MetadataRecord(
        titles=(Text("A title"),),
        creators=(Agent("Lins, Beatriz"),),
        types=("Dataset",),
        dates=("2004",),
    )
    view = TombstoneView(forms=FORMS, tombstone=stone, record=record)
    document = Document(PAGES.tombstone(view, ENGLISH))
    assert "Deleted Data set 2004 A title Lins, Beatriz This item was deleted." in document.text
    assert "Reason Twice deposited Deleted on November 14, 2023" in document.text
    assert "Deleted by The administrator Identifiers sid.inpe.br" in document.text
    assert "Replaced by LK47B6W/362SFKH" in document.text
    known = replace(view, replacement=replace(record, titles=(Text("A better title"),)))
    text = Document(PAGES.tombstone(known, ENGLISH)).text
    assert "Replaced by A better title Lins, Beatriz · LK47B6W/362SFKH" in text


def test_a_problem_says_what_to_do() -> None:
    busy = ProblemView(status=503, title="Busy", detail="Too many wait.", retry_after=90)
    text = Document(PAGES.problem(busy, PORTUGUESE)).text
    assert "O acervo está ocupado Busy: Too many wait. Tente de novo em 90 segundos." in text
    lost = Document(PAGES.problem(ProblemView(status=404), ENGLISH)).text
    assert "There is nothing here Look at the address again" in lost


def test_right_to_left_and_long_words_have_their_own_room() -> None:
    page = PAGES.item(maximal("مكتبة" + "א" * 10_000, "ar"), ENGLISH)
    assert '<h1><span dir="auto" lang="ar">مكتبة' in page.html
    assert "overflow-wrap: anywhere" in SHEET


# The style sheet


def colours(sheet: str) -> Iterator[dict[str, str]]:
    """Yield the colours by light, and by dark."""
    for block in sheet.split(":root {")[1:]:
        named = (each.strip().partition(": #") for each in block.partition("}")[0].split(";"))
        yield {name.rpartition("--")[2]: colour for name, is_colour, colour in named if is_colour}


def luminance(colour: str) -> float:
    full = colour if len(colour) == 6 else "".join(digit * 2 for digit in colour)
    parts = [int(full[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the ratio of WCAG 2.2, 1.4.3."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_words_stand_out_by_light_and_in_the_dark() -> None:
    light, dark = list(colours(SHEET))[:2]
    for scheme in (light, light | dark):
        strong = scheme.get("strong", scheme["accent"])
        for paper in ("paper", "card", "sunk"):
            for ink in ("ink", "soft", "earth", "good", "warn", "bad"):
                assert contrast(scheme[ink], scheme[paper]) >= 4.5, (ink, paper)
            assert contrast(strong, scheme[paper]) >= 4.5, paper
            assert contrast(scheme["edge"], scheme[paper]) >= 3, paper  # WCAG 2.2, 1.4.11
        on_strong = scheme["on-strong"]
        assert contrast(on_strong, strong) >= 4.5


def test_the_style_sheet_is_small() -> None:
    assert len(SHEET.encode()) < 20_000


def test_the_measure_of_contrast_is_that_of_the_standard() -> None:
    assert contrast("000", "ffffff") == pytest.approx(21)
    assert contrast("777777", "fff") == pytest.approx(4.478, abs=0.001)


def test_the_style_sheet_serves_keyboards_paper_and_the_dark_and_calls_nobody() -> None:
    for wanted in (":focus-visible", "@media print", "prefers-color-scheme: dark"):
        assert wanted in SHEET
    assert not re.search(r"url\(|@import|https?:", SHEET)
    assert SHEET.count("{") == SHEET.count("}")
