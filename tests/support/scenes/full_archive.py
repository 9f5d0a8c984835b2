"""An archive that has everything that an archive can have, and its catalogue row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ibi.archive.ports.maintenance import TransferRecord
from ibi.archive.ports.statistics import Access
from ibi.archive.rules.amendment import Amendment
from ibi.foundation.sql.database import Database
from ibi.identifier.label import parse
from ibi.metadata.json_record import record_from
from ibi.model.change import Act, ItemChange
from ibi.model.item import Item, State, Transfer
from ibi.model.label_pair import Forms
from tests.support.scenes.small_archive import SmallArchive, forms

LEGACY: Final = parse("6qtX3pFwXQZGivnK2Y/SskcB")
ELSEWHERE: Final = "another.example.org"
OUTER: Final = Forms.of("LK47B6W/362SFKH")
INNER: Final = Forms.of("LK47B6W/362SFKH/2009/09.09.22.01")
"""A label that goes on where the other ends."""

_ROWS: Final = {
    "items": "SELECT label, kind, state, version, document FROM archive_item ORDER BY id",
    "names": "SELECT n.name, i.label FROM archive_name n LEFT JOIN archive_item i ON i.id = n.item",
    "files": "SELECT i.label, f.path, f.size, f.sha256, f.sha512, f.modified, f.media_type "
    "FROM archive_file f LEFT JOIN archive_item i ON i.id = f.item",
    "reservations": "SELECT label, short, forms, reserved, who, note FROM archive_reservation",
}
_KEPT: Final = {
    "accesses": "SELECT i.label, a.day, a.count, a.views, a.downloads FROM archive_access a "
    "LEFT JOIN archive_item i ON i.id = a.item",
    **{
        name: f"SELECT * FROM archive_{name}"  # noqa: S608  # our own names
        for name in ("deposit", "token", "setting", "link", "task", "exchange", "copy", "damage")
    },
}


def rows(database: Database, selects: dict[str, str] = _ROWS) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a catalogue has from the tree: numbers left out, items in their order."""
    found = {name: database.read(select) for name, select in selects.items()}
    return {
        name: each if name == "items" else sorted(each, key=repr) for name, each in found.items()
    }


def kept_rows(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return what only a catalogue knows, but for its history."""
    return rows(database, _KEPT)


def fill(small: SmallArchive) -> None:
    """Put everything into an archive."""
    small.archive.create_service(record_from({"titles": ["An archive"]}), "me")
    one = small.label({"b/x": b"2", "a": b"1"}, target="a", language="en", list_public=False)
    small.label({"c": b"3"}, translation_of=one, language="pt", further_names=[str(LEGACY)])
    [early, _, late] = small.archive.reserve(3, "me", "later")
    small.label({"z": b"5"}, edition_of=one, transferable=False)
    small.label(service="https://example.org/run", platform_software=one)
    small.label(label=str(late.forms.label))  # later labels come before earlier ones
    small.label(label=str(early.forms.label))
    for with_metadata in (False, True):
        gone = small.label({"y": b"4", "d/y": b"44"}, target="y")
        small.archive.delete(gone, "me", "wrong", one, with_metadata=with_metadata)
    small.deposit({"a": b"new", "n": b"n"}, item=one, remove=["b/x"])
    small.archive.amend(one, Amendment(metadata={"title": "Ç"}, readers=["10.0.0.0/8"]), "me")
    small.archive.amend(one, Amendment(texts={"pt": {"titles": ["Ção"], "subjects": ["s"]}}), "me")
    described = small.archive.get(one).item.metadata
    assert described is not None
    abroad: dict[str, str | None] = {"fr": str(forms(9, ELSEWHERE).label)}
    small.archive.amend(described.label, Amendment(translations=abroad), "me")
    bring(small, Item(forms=forms(7, ELSEWHERE), state=State.COPY, origin="http://a.example.org"))
    bring(small, Item(forms=OUTER, state=State.COPY, origin="http://b.example.org"))
    bring(small, Item(forms=INNER, custody=("one", "two"), created=5))
    bring(small, Item(forms=forms(8, ELSEWHERE), state=State.COPY))
    change(small, "drop", forms(8, ELSEWHERE), dropped=True)
    offer = Transfer(id="t", peer="http://c.example.org", phase="offered", since=5)
    change(small, "offer", Forms.of(one), transfer=offer)
    held = small.archive.get(one)
    label = held.item.forms.label.canonical
    exchange = TransferRecord(
        id="t", label=label, role="giving", peer=offer.peer, secret="", since=5
    )
    small.catalogue.transfers.keep(replace(exchange, fault="It does not answer."))
    small.catalogue.statistics.count_accesses([Access(held.id, "2026-11-15", 1, 2, 3, 4)])
    small.catalogue.statistics.count_usage({(held.id, "2026-11-15"): (5, 6)})


def bring(small: SmallArchive, item: Item) -> None:
    """Bring an item with a file, as a pull does."""
    id_ = small.open({"f/copied": str(item.forms).encode()})
    files = tuple(each.file for each in small.store.staging.staged(id_) if each.file is not None)
    new = ItemChange(item=replace(item, target="f/copied"), files=files, adopted=id_)
    label = item.forms.label
    small.archive.make(small.archive.change("copy", "me", label, [new], 9, deposit=id_))


def change(
    small: SmallArchive, act: Act, which: Forms, *, dropped: bool = False, **facts: object
) -> None:
    held = small.archive.get(which.label)
    change = ItemChange(
        item=replace(held.item, **facts),  # type: ignore[arg-type]  # fields of an item
        files=small.archive.files(held),
        version=held.version,
        dropped=dropped,
    )
    small.archive.make(small.archive.change(act, "me", which.label, [change], 10))
