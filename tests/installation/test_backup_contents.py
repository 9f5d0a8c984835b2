"""What is in a backup: items in their order, and what differs between two moments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.ports.catalogue import ManifestItem
from ibi.archive.rules.manifest import document
from ibi.errors import StorageError
from ibi.installation.backup.contents import differences, disagreements, is_same, items_of
from ibi.model.item import Item
from tests.support.scenes.small_archive import file, forms

moments = st.dictionaries(st.integers(1, 12), st.integers(1, 3))
"""Versions of items by their numbers."""


def kept(number: int, version: int) -> ManifestItem:
    return ManifestItem(Item(forms=forms(number)), (), number, version)


def moment(versions: dict[int, int]) -> list[ManifestItem]:
    return [kept(number, versions[number]) for number in sorted(versions)]


@given(moments, moments, st.sets(st.integers(1, 12)))
def test_differences_are_those_of_the_two_moments(
    before: dict[int, int], after: dict[int, int], also: set[int]
) -> None:
    found = list(differences(moment(before), moment(after), also))
    numbers = [(one or other).number for one, other in found]  # type: ignore[union-attr]  # one is
    expected = {
        number
        for number in before.keys() | after.keys()
        if before.get(number) != after.get(number) or number in also
    }
    assert numbers == sorted(expected)
    for number, (one, other) in zip(numbers, found, strict=True):
        assert (one and one.version) == before.get(number)
        assert (other and other.version) == after.get(number)


def test_an_item_under_the_number_of_another_is_not_the_same() -> None:
    assert not is_same(kept(1, 1), ManifestItem(Item(forms=forms(2)), (), 1, 1))
    assert is_same(kept(1, 1), ManifestItem(Item(forms=forms(1), target="x"), (), 1, 1))


def tables(**changed: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a sound catalogue, but for what is changed."""
    items = [Item(forms=forms(number), target="a") for number in (1, 2)]
    whole: dict[str, list[dict[str, Any]]] = {
        "item": [
            {
                "id": number,
                "label": item.forms.label.canonical,
                "kind": "data",
                "state": "Original",
                "version": 1,
                "document": document(item),
            }
            for number, item in zip((3, 7), items, strict=True)
        ],
        "name": [{"name": label.canonical, "item": None} for label in forms(3)]
        + [
            {"name": label.canonical, "item": number}
            for number, item in zip((3, 7), items, strict=True)
            for label in item.names
        ],
        "file": [
            {"item": number, **{name: getattr(file("a"), name) for name in FILE}}
            for number in (3, 7)
        ],
        "access": [{"item": 7, "day": "2026-11-15", "count": 1}],
        "reservation": [
            {"label": forms(3).label.canonical, "short": forms(3).short.canonical, "forms": ""}
        ],
    }
    return {f"archive_{name}": rows for name, rows in (whole | changed).items()}


FILE = ("path", "size", "sha256", "sha512", "modified", "media_type")


def test_items_come_with_their_files() -> None:
    found = list(items_of(tables().__getitem__))
    assert [(each.number, each.version, each.files) for each in found] == [
        (3, 1, (file("a"),)),
        (7, 1, (file("a"),)),
    ]
    damaged = [{**tables()["archive_item"][0], "document": "{"}]
    with pytest.raises(StorageError):
        list(items_of(tables(item=damaged).__getitem__))


def test_sound_tables_agree() -> None:
    assert list(disagreements(tables().__getitem__)) == []


@pytest.mark.parametrize(
    ("table", "keep", "fault"),
    [
        ("item", slice(0, 1), "a row of the item 7, which does not exist"),
        ("item", slice(1, 2), "a row of the item 3, which does not exist"),
        ("item", slice(0, 0), "which does not exist"),
        ("name", slice(0, 5), "its names differ"),
        ("name", slice(1, None), "it is reserved, and not among the names"),
        ("file", slice(0, 1), "its target file is not among its files"),
    ],
)
def test_rows_that_are_missing_are_missed(table: str, keep: slice, fault: str) -> None:
    rows = tables()[f"archive_{table}"][keep]
    found = list(disagreements(tables(**{table: rows}).__getitem__))
    assert any(fault in each for each in found), found


def test_columns_and_documents_are_compared() -> None:
    rows = tables()["archive_item"]
    for name, value in (("label", "x"), ("kind", "service"), ("state", "Copy")):
        found = list(disagreements(tables(item=[{**rows[0], name: value}, rows[1]]).__getitem__))
        assert any("differ" in each for each in found)
    damaged = [{**rows[0], "document": "{"}, rows[1]]
    assert len(list(disagreements(tables(item=damaged).__getitem__))) == 1
