"""The texts of files in every catalogue: who waits, what is found, and when it is found no more."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest

from ibi.archive.ports.catalogue import Catalogue, ManifestItem
from ibi.archive.ports.full_text import Extracted, FileText, Waiting
from ibi.archive.ports.search import Hit
from ibi.archive.rules.search import full_text as rules
from ibi.archive.rules.search.query import MOST_HITS, SearchQuery
from ibi.model.change import Change, ItemChange
from ibi.model.item import File, Item, State, Tombstone
from ibi.model.metadata_record import MetadataRecord, Text
from tests.support.scenes.small_archive import forms


def file(path: str, sha256: str = "") -> File:
    return File(path, 1, sha256 or path, "", 0)


def pair(number: int, title: str) -> tuple[Item, Item]:
    data, metadata = forms(2 * number), forms(2 * number + 1)
    record = MetadataRecord(titles=(Text(title),))
    return (
        Item(forms=data, metadata=metadata),
        Item(forms=metadata, kind="metadata", describes=data, record=record),
    )


def apply(catalogue: Catalogue, *items: ItemChange) -> None:
    label = items[0].item.forms.label.canonical
    change = Change(
        id=secrets.token_hex(8), at=7, who="me", act="deposit", label=label, items=items
    )
    catalogue.items.apply(change, lambda _: None)


def put(catalogue: Catalogue, number: int, title: str, *files: File) -> tuple[Item, Item]:
    items = pair(number, title)
    new = ItemChange(item=items[0], files=files, adopted="1")
    apply(catalogue, new, ItemChange(item=items[1]))
    return items


def waiting(catalogue: Catalogue) -> Waiting:
    found = catalogue.full_text.next()
    assert found is not None
    return found


def extract(catalogue: Catalogue, **texts: str) -> Waiting:
    """Do what the background does for the newest item that waits."""
    item = waiting(catalogue)
    for sha256, text in texts.items():
        outcome = Extracted("text", text) if text else Extracted("none")
        assert catalogue.full_text.keep(item, sha256, outcome)
    catalogue.full_text.index(item)
    return item


def hits(catalogue: Catalogue, text: str, **pairs: str) -> list[Hit]:
    query = SearchQuery.parse({"q": text, **pairs})
    return catalogue.search.find(query.clauses, query.order, MOST_HITS)


def found(catalogue: Catalogue, text: str, **pairs: str) -> list[str]:
    return [hit.heading for hit in hits(catalogue, text, **pairs)]


@pytest.fixture
def shelf(catalogue: Catalogue) -> Catalogue:
    """A catalogue with two items, the texts of whose files are indexed."""
    put(catalogue, 1, "Report", file("a"), file("b"))
    extract(catalogue, a="Burnings of the savanna", b="Rainfall in the highlands")
    put(catalogue, 2, "Savanna", file("c"))
    extract(catalogue, c="Rainfalls were measured")
    return catalogue


def test_words_of_files_find_items_after_those_of_descriptions(shelf: Catalogue) -> None:
    assert found(shelf, "burning") == ["report"]
    assert found(shelf, "savannas") == ["savanna", "report"]
    assert [hit.in_files for hit in hits(shelf, "savanna")] == [False, True]
    put(shelf, 3, "Rainfall")
    assert found(shelf, "rainfall") == ["rainfall", "savanna", "report"]
    assert found(shelf, "rainfall", sort="oldest") == ["report", "savanna", "rainfall"]
    assert found(shelf, "savanna", sort="newest") == ["savanna", "report"]
    assert found(shelf, "savanna", sort="title") == ["report", "savanna"]


def test_one_word_may_be_in_the_description_and_another_in_a_file(shelf: Catalogue) -> None:
    assert found(shelf, "report highland") == ["report"]
    assert found(shelf, "report measured") == []


def test_a_phrase_lies_within_one_file(shelf: Catalogue) -> None:
    assert found(shelf, '"burnings of the savanna"') == ["report"]
    assert found(shelf, '"savanna rainfall"') == []
    assert found(shelf, "highl*") == ["report"]


def test_later_words_are_found_but_not_as_phrases(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "PHRASE_WORDS", 3)
    put(catalogue, 1, "Report", file("a"))
    extract(catalogue, a="one two three alpha beta alpha")
    assert found(catalogue, '"two three"') == ["report"]
    assert found(catalogue, "alpha beta") == ["report"]
    assert found(catalogue, '"alpha beta"') == []


def test_texts_are_returned_with_the_paths_of_files(shelf: Catalogue) -> None:
    [hit] = hits(shelf, "burnings")
    assert shelf.full_text.texts([hit.item]) == {
        hit.item: [
            FileText("a", "Burnings of the savanna"),
            FileText("b", "Rainfall in the highlands"),
        ]
    }
    assert shelf.full_text.texts([]) == {}


def test_what_was_tried_is_known_also_if_it_has_no_text(catalogue: Catalogue) -> None:
    put(catalogue, 1, "Report", file("a"), file("b"), file("c", "a"))
    item = extract(catalogue, a="text", b="")
    assert catalogue.full_text.tried(item.item) == {"a": 4, "b": 0}
    assert catalogue.full_text.next() is None
    assert catalogue.full_text.texts([item.item]) == {item.item: [FileText("a", "text")]}


# --- changes --------------------------------------------------------------------------------------


def test_a_new_description_has_the_item_wait_and_keeps_the_texts(catalogue: Catalogue) -> None:
    _, metadata = put(catalogue, 1, "Before", file("a"))
    item = extract(catalogue, a="savanna")
    record = MetadataRecord(titles=(Text("After"),))
    apply(catalogue, ItemChange(item=replace(metadata, record=record), version=1))
    assert found(catalogue, "before") == []
    assert catalogue.full_text.tried(item.item) == {"a": 7}
    assert waiting(catalogue).item == item.item
    extract(catalogue)
    assert found(catalogue, "after savanna") == ["after"]
    assert found(catalogue, "before savanna") == []


def test_the_text_of_a_replaced_file_is_removed_at_once(catalogue: Catalogue) -> None:
    data, _ = put(catalogue, 1, "Report", file("a"), file("b"))
    item = extract(catalogue, a="savanna", b="forest")
    files = (file("a", "new"), file("b"))
    apply(catalogue, ItemChange(item=data, files=files, version=1, put=("a",)))
    assert found(catalogue, "savanna") == []
    assert catalogue.full_text.tried(item.item) == {"b": 6}
    extract(catalogue, new="steppe")
    assert (found(catalogue, "savanna"), found(catalogue, "forest steppe")) == ([], ["report"])


@pytest.mark.parametrize("private", [{"readers": ("192.0.2.0/24",)}, {"list_public": False}])
def test_files_that_become_private_are_found_no_more(
    catalogue: Catalogue, private: dict[str, object]
) -> None:
    data, _ = put(catalogue, 1, "Report", file("a"))
    item = extract(catalogue, a="savanna")
    changed = replace(data, **private)  # type: ignore[arg-type]
    apply(catalogue, ItemChange(item=changed, files=(file("a"),), version=1))
    assert (found(catalogue, "savanna"), found(catalogue, "report")) == ([], ["report"])
    assert (catalogue.full_text.tried(item.item), catalogue.full_text.next()) == ({}, None)
    catalogue.full_text.empty()
    catalogue.full_text.fill()
    extract(catalogue, a="savanna")
    assert found(catalogue, "savanna") == []


def test_work_for_an_item_that_was_changed_meanwhile_is_not_used(catalogue: Catalogue) -> None:
    data, _ = put(catalogue, 1, "Report", file("a"))
    old = waiting(catalogue)
    private = replace(data, readers=("192.0.2.0/24",))
    apply(catalogue, ItemChange(item=private, files=(file("a"),), version=1))
    assert not catalogue.full_text.keep(old, "a", Extracted("text", "savanna"))
    files = (file("b"),)
    apply(catalogue, ItemChange(item=data, files=files, version=2, put=("b",), removed=("a",)))
    assert not catalogue.full_text.keep(old, "a", Extracted("text", "savanna"))
    catalogue.full_text.index(old)
    assert waiting(catalogue).item == old.item
    assert catalogue.full_text.tried(old.item) == {}


def test_deleted_items_and_dropped_copies_have_no_texts(catalogue: Catalogue) -> None:
    data, _ = put(catalogue, 1, "Report", file("a"))
    deleted = extract(catalogue, a="savanna")
    buried = replace(data, state=State.DELETED, tombstone=Tombstone(9, "me", "error"))
    apply(catalogue, ItemChange(item=buried, version=1, cleared=True))
    items = put(catalogue, 2, "Report", file("b"))
    dropped = extract(catalogue, b="savanna")
    apply(catalogue, *(ItemChange(item=each, version=1, dropped=True) for each in items))
    assert found(catalogue, "savanna") == []
    assert catalogue.full_text.texts([deleted.item, dropped.item]) == {}
    assert catalogue.full_text.count_waiting() == 0


# --- all items ------------------------------------------------------------------------------------


def test_the_newest_item_is_first(catalogue: Catalogue) -> None:
    for number in range(1, 4):
        put(catalogue, number, f"Item {number}")
    assert catalogue.full_text.count_waiting() == 3
    first = extract(catalogue).item
    assert waiting(catalogue).item < first


def test_a_rebuilt_catalogue_waits_anew(shelf: Catalogue) -> None:
    data, metadata = pair(3, "After")
    rebuild = shelf.rebuild()
    rebuild.put([ManifestItem(data, (file("a"),)), ManifestItem(metadata, ())])
    rebuild.finish()
    while shelf.search.fill():
        pass
    assert (found(shelf, "burnings"), shelf.full_text.next()) == ([], None)
    assert shelf.full_text.fill()
    assert not shelf.full_text.fill()
    extract(shelf, a="steppe")
    assert found(shelf, "steppe") == ["after"]


def test_an_archive_that_does_not_search_files_removes_their_texts(shelf: Catalogue) -> None:
    shelf.full_text.empty()
    assert (found(shelf, "burnings"), found(shelf, "report")) == ([], ["report"])
    assert shelf.full_text.count_waiting() == 0
    assert shelf.full_text.fill()
    assert shelf.full_text.count_waiting() == 2


def test_no_text_is_too_much_for_a_database(catalogue: Catalogue) -> None:
    put(catalogue, 1, "Report", file("a"))
    words = (
        f"{'语言' if number % 2 else chr(0x10400)}{'é' * 60}{number}" for number in range(20_000)
    )
    extract(catalogue, a=" ".join(["savanna", *words]))
    assert found(catalogue, "savanna") == ["report"]
