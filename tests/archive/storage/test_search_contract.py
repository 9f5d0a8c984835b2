"""The search index in every catalogue: which items are found, in which order, and when."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibi.archive.ports.catalogue import Catalogue, ManifestItem, StoredChange
from ibi.archive.ports.search import Facet
from ibi.archive.rules.search.query import MOST_HITS, SearchQuery
from ibi.archive.storage.catalogue.search import SECONDS
from ibi.errors import SearchTimeoutError
from ibi.foundation.sql.database import Database, Execute
from ibi.identifier.language import Language
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item, State, Tombstone
from ibi.model.metadata_record import Agent, MetadataRecord, Text
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import forms


def record(title: str, language: str = "", **further: Any) -> MetadataRecord:  # noqa: ANN401
    return MetadataRecord(titles=(Text(title, language),), **further)


def pair(number: int, described: MetadataRecord, language: str = "") -> tuple[Item, Item]:
    """Return an item and the item that describes it."""
    data, metadata = forms(2 * number), forms(2 * number + 1)
    spoken = Language.parse(language) if language else None
    return (
        Item(forms=data, metadata=metadata, language=spoken),
        Item(forms=metadata, kind="metadata", describes=data, record=described, language=spoken),
    )


def apply(catalogue: Catalogue, *items: ItemChange) -> None:
    label = items[0].item.forms.label.canonical
    change = Change(
        id=secrets.token_hex(8), at=7, who="me", act="deposit", label=label, items=items
    )
    catalogue.items.apply(change, lambda _: None)


def put(
    catalogue: Catalogue, number: int, described: MetadataRecord, language: str = ""
) -> tuple[Item, Item]:
    items = pair(number, described, language)
    apply(catalogue, *(ItemChange(item=item) for item in items))
    return items


def found(catalogue: Catalogue, text: str = "", **pairs: str) -> list[str]:
    """Return the titles of what is found, as they are sorted."""
    query = SearchQuery.parse({"q": text, **pairs})
    hits = catalogue.search.find(query.clauses, query.order, MOST_HITS)
    return [hit.heading for hit in hits]


def counts(catalogue: Catalogue, facet: Facet) -> dict[str, int]:
    listed = catalogue.search.values(facet, "", 100, last_first=False)
    return {each.value: each.count for each in listed}


def fill(catalogue: Catalogue) -> None:
    while catalogue.search.fill():
        pass


# --- words ----------------------------------------------------------------------------------------


@pytest.fixture
def shelf(catalogue: Catalogue) -> Catalogue:
    """A catalogue with a few items, the first one deposited first."""
    put(
        catalogue,
        1,
        record(
            "Relatórios da Mata Atlântica",
            "pt-BR",
            creators=(Agent(family="Fonseca", given="Inês"),),
            descriptions=(Text("Imagens do satélite CBERS-4A e estações de campo.", "pt"),),
            subjects=(Text("desmatamento", "pt"),),
            dates=("2013-05-02",),
            types=("Report",),
        ),
        "pt-BR",
    )
    put(
        catalogue,
        2,
        record(
            "Studies of deforestation",
            "en",
            creators=(Agent(family="Fonseca", given="Inês"), Agent(name="Burnings Programme")),
            descriptions=(Text("Maps of the Atlantic forest, drawn from images.", "en"),),
            dates=("2008",),
            types=("Data set",),
        ),
        "en",
    )
    put(
        catalogue,
        3,
        record(
            "Atlas",
            descriptions=(Text("Deforestation, and the forest after it."),),
            dates=("2008",),
        ),
    )
    return catalogue


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("relatório", ["relatorios da mata atlantica"]),
        ("RELATORIO", ["relatorios da mata atlantica"]),
        ("imagem campo", ["relatorios da mata atlantica"]),
        ("estação", ["relatorios da mata atlantica"]),
        ("studying", ["studies of deforestation"]),
        ("map", ["studies of deforestation"]),
        ("forests", ["atlas", "studies of deforestation"]),
        ("fonseca ines", ["studies of deforestation", "relatorios da mata atlantica"]),
        ("fonseca atlas", []),
        ('"atlantic forest"', ["studies of deforestation"]),
        ('"forest atlantic"', []),
        ('"forest drawn', ["studies of deforestation"]),
        ("cber*", ["relatorios da mata atlantica"]),
        ("CBERS-4A", ["relatorios da mata atlantica"]),
        ("cbers-4*", ["relatorios da mata atlantica"]),
        ("atl*", ["atlas", "relatorios da mata atlantica", "studies of deforestation"]),
        ("deforestation -atlas", ["studies of deforestation"]),
        ("-deforestation", ["relatorios da mata atlantica"]),
        ("the of mata", ["relatorios da mata atlantica"]),
        ('"inês fonseca"', []),
        ("atlantica fonseca -burnings", ["relatorios da mata atlantica"]),
        ("2013", ["relatorios da mata atlantica"]),
    ],
)
def test_words_find_items(shelf: Catalogue, text: str, titles: list[str]) -> None:
    assert found(shelf, text) == titles


def test_a_phrase_lies_within_one_text(catalogue: Catalogue) -> None:
    described = MetadataRecord(titles=(Text("Upper river"), Text("Lower bank")))
    put(catalogue, 1, described)
    assert found(catalogue, '"upper river"') == ["upper river"]
    assert found(catalogue, '"river lower"') == []


def test_a_label_is_a_word_too(shelf: Catalogue) -> None:
    rep = forms(2).label.spelling
    assert found(shelf, rep) == ["relatorios da mata atlantica"]
    assert found(shelf, f'"{rep}"') == ["relatorios da mata atlantica"]
    assert len(found(shelf, "/".join(rep.split("/")[:2]))) == 3
    assert found(shelf, f"mata -{rep}") == []


def test_the_parts_of_a_label_are_no_words(shelf: Catalogue) -> None:
    for part in forms(2).label.spelling.replace("/", ".").split("."):
        assert found(shelf, part) == []


def test_items_with_the_words_in_their_titles_come_first(shelf: Catalogue) -> None:
    assert found(shelf, "deforestation") == ["studies of deforestation", "atlas"]
    assert found(shelf, "deforestation", sort="newest") == ["atlas", "studies of deforestation"]
    assert found(shelf, "deforestation", sort="oldest") == ["studies of deforestation", "atlas"]
    titles = ["atlas", "relatorios da mata atlantica", "studies of deforestation"]
    assert found(shelf, sort="title") == titles
    assert found(shelf) == ["atlas", "studies of deforestation", "relatorios da mata atlantica"]


def test_text_of_any_script_is_found(catalogue: Catalogue) -> None:
    for number, title in enumerate(["日本の森林", "Лесной пожар", "الغابة المطيرة", "Straße"], 1):
        put(catalogue, number, record(title))
    assert len(found(catalogue, "森林")) == 1
    assert len(found(catalogue, "林森")) == 0
    assert len(found(catalogue, "ПОЖАР")) == 1
    assert len(found(catalogue, "الغابة")) == 1
    assert len(found(catalogue, "strasse")) == 1


# --- facets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "titles"),
    [
        ({"year": "2008"}, ["atlas", "studies of deforestation"]),
        ({"year": "2009-2020"}, ["relatorios da mata atlantica"]),
        ({"year": "2020-2009"}, []),
        ({"year": "recent"}, []),
        ({"type": "data SET"}, ["studies of deforestation"]),
        ({"language": "pt"}, ["relatorios da mata atlantica"]),
        (
            {"creator": "Fonseca, Inês"},
            ["studies of deforestation", "relatorios da mata atlantica"],
        ),
        ({"creator": "Fonseca, Inês", "year": "2008"}, ["studies of deforestation"]),
        ({"creator": "Fonseca"}, []),
    ],
)
def test_facets_narrow_a_search(shelf: Catalogue, pairs: dict[str, str], titles: list[str]) -> None:
    assert found(shelf, **pairs) == titles


def test_a_hit_has_its_facets(shelf: Catalogue) -> None:
    [hit] = shelf.search.find(SearchQuery(text="studies").clauses, "relevance", 10)
    assert hit.facets == {
        "type": ("Data set",),
        "year": ("2008",),
        "language": ("en",),
        "creator": ("Fonseca, Inês", "Burnings Programme"),
        "collection": (),
    }


def test_values_are_counted_and_listed_in_order(shelf: Catalogue) -> None:
    assert counts(shelf, "creator") == {"Burnings Programme": 1, "Fonseca, Inês": 2}
    search = shelf.search
    [second] = search.values("creator", "Burnings Programme", 9, last_first=False)
    assert (second.value, second.count) == ("Fonseca, Inês", 2)
    years = search.values("year", "", 9, last_first=True)
    assert [(each.value, each.count) for each in years] == [("2013", 1), ("2008", 2)]
    [older] = search.values("year", "2013", 9, last_first=True)
    assert older.value == "2008"
    assert search.count_values("creator") == 2


# --- changes --------------------------------------------------------------------------------------


def test_a_new_description_replaces_the_old_one(catalogue: Catalogue) -> None:
    creators = (Agent(name="Before"), Agent(name="Always"))
    _, metadata = put(catalogue, 1, record("First words", creators=creators))
    described = record("Second words", creators=(Agent(name="Always"), Agent(name="After")))
    apply(catalogue, ItemChange(item=replace(metadata, record=described), version=1))
    assert found(catalogue, "first") == []
    assert found(catalogue, "second") == ["second words"]
    assert counts(catalogue, "creator") == {"After": 1, "Always": 1}


def test_deleted_items_leave_the_index(catalogue: Catalogue) -> None:
    data, _ = put(catalogue, 1, record("Gone", types=("Map",)))
    buried = replace(data, state=State.DELETED, tombstone=Tombstone(9, "me", "error"))
    apply(catalogue, ItemChange(item=buried, version=1, cleared=True))
    assert (found(catalogue, "gone"), found(catalogue)) == ([], [])
    assert counts(catalogue, "type") == {}


def test_dropped_copies_leave_the_index(catalogue: Catalogue) -> None:
    items = put(catalogue, 1, record("Gone", types=("Map",)))
    apply(catalogue, *(ItemChange(item=each, version=1, dropped=True) for each in items))
    assert (found(catalogue, "gone"), counts(catalogue, "type")) == ([], {})


def test_a_change_that_fails_is_not_indexed(catalogue: Catalogue) -> None:
    def refuse(_: Change) -> None:
        raise KeyError

    items = tuple(ItemChange(item=each) for each in pair(1, record("Never")))
    label = items[0].item.forms.label.canonical
    with pytest.raises(KeyError):
        catalogue.items.apply(
            Change(id="1", at=7, who="me", act="deposit", label=label, items=items), refuse
        )
    assert found(catalogue, "never") == []


def test_a_restored_change_is_indexed(catalogue: Catalogue) -> None:
    data, metadata = pair(1, record("Restored"))
    label = data.forms.label.canonical
    stored = StoredChange("1", 7, "me", "deposit", label, "", "", (label,))
    items = [ManifestItem(data, ()), ManifestItem(metadata, ())]
    catalogue.items.restore(stored, items)
    assert found(catalogue, "restored") == ["restored"]
    catalogue.items.restore(replace(stored, id="2"), [], [label])
    assert found(catalogue, "restored") == []


def test_an_item_with_more_terms_than_a_row_can_have_is_found_by_the_others(
    place: CatalogueDatabase,
) -> None:
    catalogue = place()
    letters = [chr(0x10330 + each) for each in range(20)]  # Gothic: four octets each
    longest = (
        "".join(letters[number // 20**at % 20] for at in range(4)) for number in range(4_500)
    )
    text = " ".join(word * 16 for word in longest)
    put(catalogue, 1, record("Many words", descriptions=(Text(text),), types=("Map",)))
    assert found(catalogue, "many words", type="Map") == ["many words"]
    assert counts(catalogue, "type") == {"Map": 1}


# --- an index that is filled ----------------------------------------------------------------------


def test_items_from_before_the_index_are_filled_in(place: CatalogueDatabase) -> None:
    catalogue = place()
    for number in range(1, 61):
        put(catalogue, number, record(f"Item {number}", types=("Map",)))
    _forget(place.database())
    assert (found(catalogue, "item"), catalogue.search.is_whole()) == ([], False)
    assert catalogue.search.fill()
    assert 0 < len(found(catalogue, "item")) < 60
    put(catalogue, 61, record("Item 61", types=("Map",)))
    fill(catalogue)
    assert catalogue.search.is_whole()
    assert len(found(catalogue, "item")) == 61
    assert counts(catalogue, "type") == {"Map": 61}


def test_an_index_of_other_terms_is_filled_anew(place: CatalogueDatabase) -> None:
    catalogue = place()
    put(catalogue, 1, record("Old", types=("Map",)))
    fill(catalogue)
    with_old_rules = "UPDATE archive_search_state SET rules = 0"
    database = place.database()
    database.transaction(lambda execute: execute(with_old_rules))
    database.close()
    assert not catalogue.search.is_whole()
    fill(catalogue)
    assert catalogue.search.is_whole()
    assert (found(catalogue, "old"), counts(catalogue, "type")) == (["old"], {"Map": 1})


def test_a_rebuilt_catalogue_is_indexed_anew(catalogue: Catalogue) -> None:
    put(catalogue, 1, record("Before"))
    fill(catalogue)
    rebuild = catalogue.rebuild()
    rebuild.put([ManifestItem(each, ()) for each in pair(2, record("After"))])
    rebuild.finish()
    assert found(catalogue) == []
    fill(catalogue)
    assert found(catalogue) == ["after"]


def _forget(database: Database) -> None:
    """Make a catalogue as it was before there was an index."""

    def work(execute: Execute) -> None:
        for table in ("archive_search", "archive_facet", "archive_search_text"):
            execute(f"DELETE FROM {table}")  # noqa: S608  # our own names
        execute("UPDATE archive_search_state SET filled = 0")

    database.transaction(work)
    database.close()


# --- many items -----------------------------------------------------------------------------------


@pytest.fixture
def sections(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """A catalogue of twelve items, of which PostgreSQL puts two at a time into a section."""
    monkeypatch.setattr("ibi.archive.storage.catalogue.search_text.Tsvector.SECTION_BITS", 2)
    for number in range(1, 13):
        title = "River" if number in {2, 5} else "Item"
        text = "The long bank of a wide river." if number % 3 else "A river with a long wide bank."
        put(catalogue, number, record(f"{title} {number}", descriptions=(Text(text),)))
    return catalogue


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("bank", [*range(12, 0, -1)]),
        ("river", [5, 2, 12, 11, 10, 9, 8, 7, 6, 4, 3, 1]),
        ('"wide river"', [11, 10, 8, 7, 5, 4, 2, 1]),
        ('"river wide"', []),
        ('"long wide bank"', [12, 9, 6, 3]),
        ('"long wide river"', []),
        ('"wide ri"*', [11, 10, 8, 7, 5, 4, 2, 1]),
        ("ri*", [5, 2, 12, 11, 10, 9, 8, 7, 6, 4, 3, 1]),
        ('-"wide river"', [12, 9, 6, 3]),
        ('river -"wide river" -9', [12, 6, 3]),
        ("2", [2]),
        ("bank xyz", []),
    ],
)
def test_items_of_all_sections_are_found(
    sections: Catalogue, text: str, numbers: list[int]
) -> None:
    assert [int(title.split()[1]) for title in found(sections, text)] == numbers
    oldest = [int(title.split()[1]) for title in found(sections, text, sort="oldest")]
    assert oldest == sorted(numbers)


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
def test_pages_follow_each_other_across_sections(
    sections: Catalogue, order: Literal["newest", "oldest"], size: int
) -> None:
    clauses = SearchQuery(text="bank").clauses
    numbers: list[int] = []
    after = 0
    while page := sections.search.find(clauses, order, size, after):
        numbers += (int(hit.heading.split()[1]) for hit in page)
        after = page[-1].item
    assert numbers == (sorted(numbers) if order == "oldest" else sorted(numbers, reverse=True))
    assert sorted(numbers) == [*range(1, 13)]


def test_an_item_that_is_changed_stays_in_its_section(sections: Catalogue) -> None:
    held = sections.items.find(forms(3).label.canonical)
    assert held is not None
    described = record("Item 1", descriptions=(Text("A narrow valley."),))
    apply(sections, ItemChange(item=replace(held.item, record=described), version=1))
    assert found(sections, "bank", sort="oldest")[0] == "river 2"
    assert found(sections, '"narrow valley"') == ["item 1"]


# --- limits ---------------------------------------------------------------------------------------


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.dictionaries(st.sampled_from(["year", "type"]), st.text()))
def test_no_text_is_an_error(shelf: Catalogue, text: str, pairs: dict[str, str]) -> None:
    assert len(found(shelf, text, **pairs)) <= 3


@pytest.mark.parametrize(
    "text",
    [
        *(
            '"',
            "''",
            "*",
            "-",
            '-"',
            "NEAR(",
            "a AND",
            "NOT",
            "title:",
            "{title}:x",
            "^x",
            "(",
            "x:*",
        ),
        *(
            "a & !b",
            "a <-> b",
            "\\",
            "%",
            "$1",
            "=relatori",
            "~",
            "|",
            "\0",
            "x" * 5000,
            "a " * 5000,
        ),
        *("\N{COMBINING ACUTE ACCENT}", "﷽", "\U0001f600", "\ud800"),
    ],
)
def test_the_syntax_of_no_database_is_an_error(shelf: Catalogue, text: str) -> None:
    assert len(found(shelf, text)) <= 3


def test_more_hits_than_wanted_are_left_out(shelf: Catalogue) -> None:
    clauses = SearchQuery(text="deforestation").clauses
    assert [hit.heading for hit in shelf.search.find(clauses, "newest", 1)] == ["atlas"]
    assert [hit.heading for hit in shelf.search.find(clauses, "relevance", 1)] == [
        "studies of deforestation"
    ]


def test_a_search_that_takes_too_long_is_ended(
    place: CatalogueDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = place.database()
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )
    with pytest.raises(TimeoutError):
        database.read_within(0.05, endless)
    assert database.read_within(SECONDS, "SELECT 1") == [(1,)]
    database.close()
    catalogue = place()
    monkeypatch.setattr("ibi.archive.storage.catalogue.search.SECONDS", 0.05)
    monkeypatch.setattr(
        "ibi.archive.storage.catalogue.search_text.Fts5.select",
        lambda *_: endless + " WHERE $1 <> $2 AND $2 <> $3",
    )
    monkeypatch.setattr(
        "ibi.archive.storage.catalogue.search_text.Tsvector.select",
        lambda *_: endless + " WHERE $1::text <> $2::bigint::text AND $2 <> $3::bigint",
    )
    with pytest.raises(SearchTimeoutError):
        found(catalogue, "anything")
