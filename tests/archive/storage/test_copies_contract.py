"""How copies stand, in a catalogue: the same on every database."""

from __future__ import annotations

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.maintenance import CopyRecord
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item, Kind, State
from tests.support.scenes.small_archive import forms

RECORDS = (
    CopyRecord(label="a/1", checked=3),
    CopyRecord(label="a/2", checked=2, missing=9, fault="It does not answer."),
    CopyRecord(label="b/1", checked=1, fault="Its checksum is wrong."),
)


def put(catalogue: Catalogue, number: int, state: State, kind: Kind = "data") -> str:
    item = Item(forms=forms(number), state=state, kind=kind)
    label = item.forms.label.canonical
    new = Change(
        id=str(number), at=1, who="me", act="copy", label=label, items=(ItemChange(item=item),)
    )
    catalogue.items.apply(new, lambda _: None)
    return label


def test_records_are_listed_by_label_page_by_page(catalogue: Catalogue) -> None:
    for record in reversed(RECORDS):
        catalogue.copies.keep(record)
    assert catalogue.copies.page("", 10) == list(RECORDS)
    assert catalogue.copies.page("", 2) == list(RECORDS[:2])
    assert catalogue.copies.page("a/2", 2) == [RECORDS[2]]
    assert catalogue.copies.page("", 10, faulty=True) == list(RECORDS[1:])
    assert catalogue.copies.page("a/2", 10, faulty=True) == [RECORDS[2]]
    assert catalogue.copies.page("\N{REPLACEMENT CHARACTER}\0", 10) == []


def test_copies_and_missing_originals_are_counted(catalogue: Catalogue) -> None:
    assert catalogue.copies.count() == (0, 0)
    for record in RECORDS:
        catalogue.copies.keep(record)
    assert catalogue.copies.count() == (3, 1)


def test_records_are_matched_with_the_copies_that_there_are(catalogue: Catalogue) -> None:
    known = put(catalogue, 1, State.COPY)
    new = put(catalogue, 2, State.COPY)
    original = put(catalogue, 3, State.ORIGINAL)
    put(catalogue, 4, State.COPY, "metadata")
    kept = CopyRecord(label=known, checked=5, missing=4, fault="It does not answer.")
    for record in (kept, CopyRecord(label=original, checked=1), *RECORDS):
        catalogue.copies.keep(record)
    for _ in range(2):
        catalogue.copies.match_items()
        assert catalogue.copies.page("", 10) == [kept, CopyRecord(label=new, checked=0)]
