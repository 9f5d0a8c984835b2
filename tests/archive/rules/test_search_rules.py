"""What a reader's words ask for, and what is shown of a text that has them."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.ports.search import FACETS, ORDERS, Clause, Match
from ibi.archive.rules.search.document import MOST_WORDS, document_of
from ibi.archive.rules.search.query import (
    LAST_PAGE,
    LONGEST_TEXT,
    MOST_TERMS,
    SearchQuery,
    years_of,
)
from ibi.archive.rules.search.snippet import Highlighter
from ibi.archive.rules.search.terms import mark_of, stems_of, words_of
from ibi.model.item import Item
from ibi.model.metadata_record import MetadataRecord, Text
from tests.support.scenes.small_archive import forms

PAIRS = st.dictionaries(st.sampled_from(["q", "sort", "page", *FACETS, "other"]), st.text())


def marked(text: str, wanted: str) -> str:
    parts = Highlighter(SearchQuery(text=wanted).clauses).snippet(text)
    return "".join(f"[{part.text}]" if part.is_hit else part.text for part in parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ação", "ações"),
        ("imagem", "imagens"),
        ("jornal", "jornais"),
        ("relatório", "relatorios"),
        ("queimada", "queimadas"),
        ("study", "studies"),
        ("map", "mapped"),
    ],
)
def test_singular_and_plural_have_a_stem_in_common(one: str, other: str) -> None:
    [first], [second] = words_of(one), words_of(other)
    assert {*stems_of(first)} & {*stems_of(second)}


def test_a_word_of_another_language_has_no_stem() -> None:
    assert stems_of("ciudades", "es") == ()
    assert stems_of("cities", "en") == ("=citi",)


def test_a_mark_ignores_case_accents_and_punctuation() -> None:
    assert mark_of("creator", "Fonseca, Inês") == mark_of("creator", "FONSECA INES")
    assert mark_of("creator", "Fonseca, Inês") != mark_of("type", "Fonseca, Inês")


@given(PAIRS)
def test_a_search_has_one_url(pairs: dict[str, str]) -> None:
    query = SearchQuery.parse(pairs)
    assert len(query.text) <= LONGEST_TEXT
    assert 1 <= query.page <= LAST_PAGE
    assert query.order in ORDERS
    assert len(query.text_clauses) <= MOST_TERMS
    every = chain.from_iterable(clause.alternatives for clause in query.clauses)
    assert all(match.terms for match in every)


def test_the_url_of_a_search_is_read_back() -> None:
    given = {"q": 'a "b c" -d', "year": "2008-2013", "creator": "Fonseca, Inês", "sort": "title"}
    query = SearchQuery.parse({**given, "page": "3", "utm_source": "x"})
    assert query.pairs == (
        "q=a+%22b+c%22+-d&year=2008-2013&creator=Fonseca%2C+In%C3%AAs&sort=title&page=3"
    )
    assert SearchQuery.parse({}).pairs == ""
    assert query.narrowed("year", "2010").pairs.endswith(
        "year=2010&creator=Fonseca%2C+In%C3%AAs&sort=title"
    )
    assert "year" not in query.widened("year").pairs


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "9" * 400, "٣x"])
def test_no_page_is_an_error(page: str) -> None:
    assert SearchQuery.parse({"page": page}).page == 1


def test_common_words_count_only_alone_or_in_a_phrase() -> None:
    assert len(SearchQuery(text="the river").text_clauses) == 1
    assert len(SearchQuery(text="the").text_clauses) == 1
    assert SearchQuery(text='"of the"').text_clauses == (Clause((Match(("of", "the")),)),)


def test_years_are_one_or_from_one_to_another() -> None:
    assert years_of("2013") == ("2013",)
    assert years_of("2008-2010") == ("2008", "2009", "2010")
    assert years_of("800") == ("0800",)
    assert years_of("2010-2008") == years_of("x") == ("",)
    assert len(years_of("1-9999")) == 300


@pytest.mark.parametrize(
    ("text", "wanted", "shown"),
    [
        ("Relatórios de campo", "relatorio", "[Relatórios] de campo"),
        ("Relato\u0301rios de campo", "relatório", "[Relato\u0301rios] de campo"),
        ("CBERS-4A, WFI", "cber*", "[CBERS]-4A, WFI"),
        ("Mata <b>Atlântica</b>", '"mata atlantica"', "[Mata] <b>[Atlântica]</b>"),
        ("Nothing of it", "else -nothing", "Nothing of it"),
        ("a  b\nc", "b", "a [b] c"),
        ("", "b", ""),
    ],
)
def test_the_words_of_a_search_are_marked(text: str, wanted: str, shown: str) -> None:
    assert marked(text, wanted) == shown


def test_a_snippet_is_the_part_with_the_first_word() -> None:
    text = "before " * 100 + "forest " + "after " * 100
    shown = marked(text, "forest")
    assert shown.startswith("… before")
    assert "[forest]" in shown
    assert shown.endswith("after …")
    assert len(shown) < 250


@given(st.text(), st.text(max_size=30))
def test_a_snippet_loses_and_adds_nothing(text: str, wanted: str) -> None:
    highlighter = Highlighter(SearchQuery(text=wanted).clauses)
    assert "".join(part.text for part in highlighter.parts(text)) == text
    line = " ".join(text.split())
    shown = "".join(part.text for part in highlighter.snippet(text))
    assert shown.removeprefix("… ").removesuffix(" …") in line


def test_an_item_of_very_many_words_is_indexed_in_part() -> None:
    record = MetadataRecord(titles=(Text("word " * 9000),), descriptions=(Text("other " * 9000),))
    document = document_of(Item(forms=forms(1)), record)
    assert sum(map(len, (*document.title, *document.body))) == MOST_WORDS
