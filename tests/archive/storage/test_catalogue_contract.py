"""Whatever keeps a catalogue: every adapter of the port behaves the same."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

import apsw
import pytest

from ibi.archive.ports.catalogue import (
    Catalogue,
    FileTotal,
    HistoryChoice,
    ManifestItem,
    Reservation,
    StoredChange,
)
from ibi.archive.ports.deposits import Deposit
from ibi.archive.ports.statistics import Access, DayAccesses, DayUsage, ItemAccesses
from ibi.archive.resolver_links.announcer import CatalogueLinks
from ibi.archive.rules.announcement import Link
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.errors import StateError, StorageError
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.sqlite import Sqlite
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.model.change import Change, ItemChange
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord, Text
from ibi.model.token import Token
from tests.support.processes.fresh import run_at_once
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import file, forms
from tests.support.waiting import wait_until

LEGACY = parse("6qtX3pFwXQZGivnK2Y/SskcB")
OTHER = parse("LK47B6W/362SFKH")


def item(number: int, **facts: object) -> Item:
    return Item(forms=forms(number), **facts)  # type: ignore[arg-type]


def change(id_: str, *items: ItemChange, deposit: str = "", at: int = 7) -> Change:
    label = items[0].item.forms.label.canonical
    return Change(id=id_, at=at, who="me", act="deposit", label=label, items=items, deposit=deposit)


def nothing(_: Change) -> None:
    """Decide without a word."""


def put(catalogue: Catalogue, each: Item, files: tuple[File, ...] = ()) -> int:
    """Keep a new item."""
    adopted = "d" if files else ""
    new = ItemChange(item=each, files=files, adopted=adopted)
    catalogue.items.apply(change(secrets.token_hex(4), new), nothing)
    held = catalogue.items.find(each.forms.label.canonical)
    assert held is not None
    return held.id


def everything(catalogue: Catalogue) -> tuple[object, ...]:
    """Return all that can be seen of a catalogue."""
    items = catalogue.items.page(0, 1000)
    return (
        items,
        [catalogue.items.files(held.id) for held in items],
        catalogue.history.entries(0, 1000),
        catalogue.deposits.open_before(2**62),
        catalogue.reservations.page("", 1000),
    )


# --- items and their names ------------------------------------------------------------------------


def test_files_are_counted_for_lists_and_for_the_whole(catalogue: Catalogue) -> None:
    one = put(catalogue, item(1), (file("a", b"12"), file("b", b"345")))
    none = put(catalogue, item(2))
    many = tuple(file(f"{number:04}", b"1") for number in range(1001))
    long = put(catalogue, item(3), many)
    totals = catalogue.items.file_totals([long, none, one])
    assert totals[one] == FileTotal(2, 5)
    assert none not in totals
    assert (totals[long].count, totals[long].is_cut) == (1000, True)
    assert catalogue.items.file_totals([]) == {}
    assert catalogue.items.file_totals([long], 1001)[long] == FileTotal(1001, 1001)
    assert catalogue.items.count_files() == (1003, 1006)


def test_an_item_is_found_by_each_of_its_names(catalogue: Catalogue) -> None:
    record = MetadataRecord(titles=(Text("Título \U0001f600 'x'; --", "pt"),))
    kept = item(1, further_names=(LEGACY, OTHER), record=record, kind="metadata")
    put(catalogue, kept)
    for label in kept.names:
        held = catalogue.items.find(label.canonical)
        assert held is not None
        assert (held.item, held.version) == (kept, 1)
    assert catalogue.items.find(forms(2).label.canonical) is None
    assert catalogue.items.find("") is None


def test_items_come_page_by_page_in_the_order_in_which_they_came(catalogue: Catalogue) -> None:
    numbers = [5, 3, 9, 1, 7]
    for number in numbers:
        put(catalogue, item(number, kind="metadata" if number == 9 else "data"))
    pages, after = [], 0
    while page := catalogue.items.page(after, 2):
        pages.append([held.item.forms for held in page])
        after = page[-1].id
    assert pages == [[forms(5), forms(3)], [forms(9), forms(1)], [forms(7)]]
    assert [held.item.forms for held in catalogue.items.page(0, 9, "metadata")] == [forms(9)]
    assert catalogue.items.page(0, 9, "service") == []
    assert catalogue.items.page(2**62, 9) == []
    assert catalogue.items.count() == 4
    newest = catalogue.items.page(0, 2, newest_first=True)
    assert [held.item.forms for held in newest] == [forms(7), forms(1)]
    older = catalogue.items.page(newest[-1].id, 9, "data", newest_first=True)
    assert [held.item.forms for held in older] == [forms(3), forms(5)]
    assert catalogue.items.page(1, 9, newest_first=True) == []


def test_items_are_found_by_many_names_at_once(catalogue: Catalogue) -> None:
    for number in (1, 2, 3):
        put(catalogue, item(number))
    names = [label.canonical for number in (3, 1, 9) for label in forms(number)]
    found = catalogue.items.find_all(names)
    assert found.keys() == {label.canonical for number in (1, 3) for label in forms(number)}
    assert all(catalogue.items.find(name) == held for name, held in found.items())
    assert catalogue.items.find_all([]) == {}


def test_deleted_items_are_not_counted(catalogue: Catalogue) -> None:
    put(catalogue, item(1))
    assert catalogue.items.count() == 1
    gone = ItemChange(item=item(1, state=State.DELETED), version=1, cleared=True)
    catalogue.items.apply(change("c", gone), nothing)
    assert catalogue.items.count() == 0


PATHS = [
    "a",
    "B",
    "b",
    "Z/z",
    "a/b",
    "a-b",
    "a b",
    "á",
    "ä",
    "é",
    "ÿ",
    "Ω",
    "中",
    "\U0001f600",
    "ﬀ",
]


def test_files_come_in_the_order_of_their_paths_on_every_database(catalogue: Catalogue) -> None:
    number = put(catalogue, item(1), tuple(map(file, PATHS)))
    put(catalogue, item(2), (file("another's"),))
    assert [each.path for each in catalogue.items.files(number)] == sorted(PATHS)
    pages, after = [], ""
    while page := catalogue.items.files(number, after, 4):
        assert len(page) <= 4
        pages += [each.path for each in page]
        after = page[-1].path
    assert pages == sorted(PATHS)
    assert [each.path for each in catalogue.items.files(number, "a\0zzz", 2)] == ["a b", "a-b"]
    assert [each.path for each in catalogue.items.files(number, "a\ud800", 2)] == ["a b", "a-b"]


def test_one_file_is_found_by_its_path(catalogue: Catalogue) -> None:
    kept = File("Relatório.pdf", 2**62, "a" * 64, "b" * 128, 2**62, "application/pdf")
    number = put(catalogue, item(1), (kept,))
    assert catalogue.items.file(number, "Relatório.pdf") == kept
    for path in ("relatório.pdf", "Relato\u0301rio.pdf", "", "a\0", "Relatório.pdf\0", "\ud800"):
        assert catalogue.items.file(number, path) is None
    assert catalogue.items.file(number + 1, "Relatório.pdf") is None


def test_files_come_and_go_with_a_change(catalogue: Catalogue) -> None:
    before = tuple(map(file, ("a", "b", "c")))
    number = put(catalogue, item(1), before)
    new = (file("a", b"new"), file("c"), file("d"))
    revised = ItemChange(item=item(1), files=new, version=1, put=("a", "d"), removed=("b",))
    catalogue.items.apply(change("c2", revised), nothing)
    assert catalogue.items.files(number) == list(new)
    catalogue.items.apply(change("c3", ItemChange(item=item(1), files=new, version=2)), nothing)
    assert catalogue.items.files(number) == list(new)
    catalogue.items.apply(change("c4", ItemChange(item=item(1), version=3, cleared=True)), nothing)
    assert catalogue.items.files(number) == []


@pytest.mark.parametrize(
    "second",
    [
        item(1),
        item(2, further_names=(forms(1).short,)),
        item(2, further_names=(LEGACY,)),
        Item(forms=Forms(forms(2).rep, forms(1).ibip)),
        Item(forms=Forms(None, forms(1).ibip)),
    ],
    ids=["label", "further", "further twice", "short", "short alone"],
)
def test_no_name_is_given_twice(catalogue: Catalogue, second: Item) -> None:
    put(catalogue, item(1, further_names=(LEGACY,)))
    before = everything(catalogue)
    decided = []
    with pytest.raises(StateError, match="no label is given twice"):
        catalogue.items.apply(change("c", ItemChange(item=second)), lambda _: decided.append(1))
    assert everything(catalogue) == before
    assert decided == []
    assert catalogue.items.find(forms(2).label.canonical) is None


def test_two_items_of_one_change_do_not_share_a_name(catalogue: Catalogue) -> None:
    pair = (ItemChange(item=item(1)), ItemChange(item=item(2, further_names=(forms(1).short,))))
    with pytest.raises(StateError):
        catalogue.items.apply(change("c", *pair), nothing)
    assert catalogue.items.page(0, 9) == []


def test_a_name_stays_when_its_item_is_deleted_or_no_longer_says_so(catalogue: Catalogue) -> None:
    put(catalogue, item(1, further_names=(LEGACY,)))
    gone = ItemChange(item=item(1, state=State.DELETED), version=1, cleared=True)
    catalogue.items.apply(change("c", gone), nothing)
    held = catalogue.items.find(LEGACY.canonical)
    assert held is not None
    assert held.item.forms == forms(1)
    with pytest.raises(StateError):
        put(catalogue, item(2, further_names=(LEGACY,)))


# --- changes --------------------------------------------------------------------------------------


def test_a_change_is_for_the_version_that_was_seen(catalogue: Catalogue) -> None:
    put(catalogue, item(1))
    second = ItemChange(item=item(1, target="second"), version=1)
    catalogue.items.apply(change("c2", second), nothing)
    before = everything(catalogue)
    for version in (1, 3, 7):
        stale = ItemChange(item=item(1, target="third"), version=version)
        with pytest.raises(StateError, match="was changed meanwhile"):
            catalogue.items.apply(change(f"stale {version}", stale), nothing)
    missing = ItemChange(item=item(2), version=1)
    with pytest.raises(StateError):
        catalogue.items.apply(change("missing", missing), nothing)
    assert everything(catalogue) == before
    [held] = catalogue.items.page(0, 9)
    assert (held.version, held.item.target) == (2, "second")


class RefusedError(Exception):
    """What deciding raises."""


@pytest.mark.parametrize("error", [RefusedError, KeyboardInterrupt, StorageError("x", "y")])
def test_if_deciding_raises_nothing_is_written(
    catalogue: Catalogue, error: BaseException | type[BaseException]
) -> None:
    put(catalogue, item(1), (file("a"),))
    catalogue.deposits.open(Deposit("d1", 1, "me", "{}"))
    before = everything(catalogue)

    def refuse(_: Change) -> None:
        raise error

    wanted = change(
        "c",
        ItemChange(item=item(1, target="b"), files=(file("b"),), version=1, put=("b",)),
        ItemChange(item=item(2, further_names=(LEGACY,)), files=(file("c"),), adopted="d1"),
        deposit="d1",
    )
    with pytest.raises(error if isinstance(error, type) else type(error)):
        catalogue.items.apply(wanted, refuse)
    assert everything(catalogue) == before
    assert catalogue.items.find(LEGACY.canonical) is None
    catalogue.items.apply(wanted, nothing)  # it can be tried again, under the same id
    found = catalogue.deposits.get("d1")
    assert found is not None
    assert found.completed == forms(1).label.canonical


def test_deciding_is_the_last_step_and_comes_once(catalogue: Catalogue) -> None:
    decided: list[int] = []
    wanted = change("c", ItemChange(item=item(1)))
    for _ in range(3):
        catalogue.items.apply(wanted, lambda _: decided.append(1))
    assert decided == [1]
    assert len(catalogue.history.entries(0, 9)) == 1
    [held] = catalogue.items.page(0, 9)
    assert held.version == 1


def test_one_deposit_is_completed_once(catalogue: Catalogue) -> None:
    catalogue.deposits.open(Deposit("d1", 1, "me", "{}"))
    catalogue.items.apply(change("c1", ItemChange(item=item(1)), deposit="d1"), nothing)
    before = everything(catalogue)
    for deposit in ("d1", "nobody"):
        with pytest.raises(StateError, match="completed or given up"):
            catalogue.items.apply(change("c2", ItemChange(item=item(2)), deposit=deposit), nothing)
    assert everything(catalogue) == before


def test_history_grows_and_is_read_page_by_page(catalogue: Catalogue) -> None:
    for number in (1, 2, 3):
        put(catalogue, item(number))
    detail = replace(
        change("c", ItemChange(item=item(2), version=1), at=2**62), act="relate", detail='{"ç": 1}'
    )
    catalogue.items.apply(detail, nothing)
    entries = catalogue.history.entries(0, 9)
    assert [entry.number for entry in entries] == sorted(entry.number for entry in entries)
    assert catalogue.history.entries(entries[1].number, 1) == [entries[2]]
    label = forms(2).label.canonical
    assert catalogue.history.entries(0, 9, HistoryChoice(label=label)) == [entries[1], entries[3]]
    last = entries[3]
    assert (last.change, last.at, last.who, last.act, last.detail) == (
        "c",
        2**62,
        "me",
        "relate",
        '{"ç": 1}',
    )


def stored(id_: str = "c1", deposit: str = "") -> StoredChange:
    label = forms(1).label.canonical
    return StoredChange(id_, 7, "me", "deposit", label, "", deposit, (label,))


def test_restoring_writes_what_is_given_whatever_stands_there(catalogue: Catalogue) -> None:
    catalogue.deposits.open(Deposit("d1", 1, "me", "{}"))
    catalogue.reservations.add([Reservation(forms(2), 1, "me")])
    pair = [
        ManifestItem(item(1, further_names=(LEGACY,)), (file("b"), file("a"))),
        ManifestItem(item(2, kind="metadata"), ()),
    ]
    for _ in range(3):
        catalogue.items.restore(stored(deposit="d1"), pair)
        found = catalogue.items.page(0, 9)
        assert [held.item for held in found] == [each.item for each in pair]
        assert catalogue.items.files(found[0].id) == [file("a"), file("b")]
        assert len(catalogue.history.entries(0, 9)) == 1
        deposit = catalogue.deposits.get("d1")
        assert deposit is not None
        assert deposit.completed == forms(1).label.canonical
        assert catalogue.reservations.page("", 9) == []
    catalogue.items.restore(stored("c2"), [ManifestItem(item(1, target="x"), ())])
    [held, _] = catalogue.items.page(0, 9)
    assert held.item.target == "x"
    assert catalogue.items.files(held.id) == []
    assert catalogue.items.find(LEGACY.canonical) == held
    before = everything(catalogue)
    with pytest.raises(StateError):
        catalogue.items.restore(stored("c3"), [ManifestItem(item(3, further_names=(LEGACY,)), ())])
    assert everything(catalogue) == before


def test_what_is_restored_has_the_number_and_version_that_it_had(catalogue: Catalogue) -> None:
    for _ in range(2):
        catalogue.items.restore(
            stored(), [ManifestItem(item(1), (), 7, 3), ManifestItem(item(2), (), 4, 1)]
        )
        found = [(held.id, held.version, held.item) for held in catalogue.items.page(0, 9)]
        assert found == [(4, 1, item(2)), (7, 3, item(1))]
    catalogue.items.restore(stored("c2"), [ManifestItem(item(3), (), 7, 5)])
    assert put(catalogue, item(4)) > 8
    [*_, third, fourth] = catalogue.items.page(0, 9)
    assert (third.id, third.version, third.item) == (8, 5, item(3))
    assert fourth.item == item(4)


def test_whoever_decides_is_told_the_numbers(catalogue: Catalogue) -> None:
    number = put(catalogue, item(1))
    decided: list[Change] = []
    again = ItemChange(item=item(1, target="x"), version=1)
    catalogue.items.apply(change("c", again, ItemChange(item=item(2))), decided.append)
    held = catalogue.items.find(forms(2).label.canonical)
    assert held is not None
    assert [each.number for each in decided[0].items] == [number, held.id]
    assert replace(decided[0].items[0], number=0) == again


def test_a_change_that_was_restored_is_not_applied_again(catalogue: Catalogue) -> None:
    catalogue.items.restore(stored("c1"), [ManifestItem(item(1), ())])
    decided: list[int] = []
    catalogue.items.apply(change("c1", ItemChange(item=item(1))), lambda _: decided.append(1))
    assert decided == []
    assert len(catalogue.items.page(0, 9)) == len(catalogue.history.entries(0, 9)) == 1


# --- deposits and reserved labels -----------------------------------------------------------------


def test_deposits_are_kept_until_they_are_completed_or_dropped(catalogue: Catalogue) -> None:
    first, second = Deposit("d1", 5, "me", '{"ç": "\\u0000"}'), Deposit("d2", 3, "you", "{}")
    catalogue.deposits.open(first)
    catalogue.deposits.open(second)
    assert catalogue.deposits.get("d1") == first
    assert catalogue.deposits.open_before(6) == [second, first]
    assert catalogue.deposits.open_before(5) == [second]
    for unknown in ("d3", "", "d1\0", "\ud800"):
        assert catalogue.deposits.get(unknown) is None
    catalogue.items.apply(change("c", ItemChange(item=item(1)), deposit="d1"), nothing)
    assert catalogue.deposits.open_before(6) == [second]
    assert not catalogue.deposits.drop("d1")
    assert catalogue.deposits.drop("d2")
    assert not catalogue.deposits.drop("d2")
    assert catalogue.deposits.get("d2") is None
    assert catalogue.deposits.get("d1") == replace(first, completed=forms(1).label.canonical)


def test_reserved_labels_wait_for_an_item(catalogue: Catalogue) -> None:
    kept = [Reservation(forms(number), number, "me", "nota ç") for number in (3, 1, 2)]
    catalogue.reservations.add(kept)
    ordered = sorted(kept, key=lambda each: each.forms.label.canonical)
    assert catalogue.reservations.page("", 9) == ordered
    first = ordered[0].forms.label.canonical
    assert catalogue.reservations.page(first, 1) == ordered[1:2]
    assert catalogue.reservations.page(first + "\0", 1) == ordered[1:2]
    for label in forms(3):
        assert catalogue.reservations.find(label.canonical) == kept[0]
        assert catalogue.items.find(label.canonical) is None
    put(catalogue, item(3))
    for label in forms(3):
        assert catalogue.reservations.find(label.canonical) is None
        assert catalogue.items.find(label.canonical) is not None
    assert catalogue.reservations.page("", 9) == [each for each in ordered if each is not kept[0]]
    assert catalogue.reservations.find("nobody") is None


@pytest.mark.parametrize("taken", [forms(1), Forms(forms(3).rep, forms(1).ibip), forms(2)])
def test_what_is_taken_cannot_be_reserved(catalogue: Catalogue, taken: Forms) -> None:
    put(catalogue, item(1))
    catalogue.reservations.add([Reservation(forms(2), 1, "me")])
    before = everything(catalogue)
    with pytest.raises(StateError, match="no label is given twice"):
        catalogue.reservations.add([Reservation(forms(9), 1, "me"), Reservation(taken, 1, "me")])
    assert everything(catalogue) == before
    assert catalogue.reservations.find(forms(9).label.canonical) is None


@pytest.mark.parametrize("label", list(forms(1)), ids=["label", "short"])
def test_a_reserved_label_becomes_no_further_name_of_another(
    catalogue: Catalogue, label: object
) -> None:
    catalogue.reservations.add([Reservation(forms(1), 1, "me")])
    before = everything(catalogue)
    with pytest.raises(StateError, match="reserved"):
        put(catalogue, item(2, further_names=(label,)))
    assert everything(catalogue) == before
    put(catalogue, item(1))


# --- accesses -------------------------------------------------------------------------------------


def access(number: int, nonce: int, day: str = "2026-11-15", until: int = 100) -> Access:
    return Access(number, day, 1, nonce, until)


def test_an_access_counts_once(catalogue: Catalogue) -> None:
    one, two = put(catalogue, item(1)), put(catalogue, item(2))
    assert catalogue.statistics.count_accesses([]) == []
    batch = [access(one, 9), access(two, 5), access(one, 9), access(one, 4)]
    assert catalogue.statistics.count_accesses(batch) == [True, True, False, True]
    assert catalogue.statistics.count_accesses(batch) == [False] * 4
    later = [access(one, 7, "2026-11-16"), access(two, 5, "2026-11-16")]
    assert catalogue.statistics.count_accesses(later) == [True, False]
    assert catalogue.statistics.accesses("2026-11-15", "2026-11-16") == [
        DayAccesses("2026-11-15", 3),
        DayAccesses("2026-11-16", 1),
    ]
    assert catalogue.statistics.accesses("2026-11-16", "2026-11-16", two) == []
    assert catalogue.statistics.accesses("2026-11-01", "2026-11-15", one) == [
        DayAccesses("2026-11-15", 2)
    ]
    assert catalogue.statistics.accesses("", "9", 2**40) == []


def test_views_and_downloads_are_counted_beside_accesses(catalogue: Catalogue) -> None:
    one, two = put(catalogue, item(1)), put(catalogue, item(2))
    day, next_day = "2026-11-15", "2026-11-16"
    catalogue.statistics.count_usage({})
    catalogue.statistics.count_usage({(one, day): (2, 1), (two, day): (1, 0), (2**40, day): (9, 9)})
    catalogue.statistics.count_usage({(one, day): (1, 4), (one, next_day): (0, 1)})
    assert catalogue.statistics.accesses(day, next_day) == []
    assert catalogue.statistics.most_read(day, next_day, 10) == []
    catalogue.statistics.count_accesses([access(one, 9)])
    assert catalogue.statistics.usage(day, next_day, one) == [
        DayUsage(day, 3, 5),
        DayUsage(next_day, 0, 1),
    ]
    assert catalogue.statistics.usage(day, day) == [DayUsage(day, 4, 5)]
    assert catalogue.statistics.accesses(day, next_day) == [DayAccesses(day, 1)]
    assert catalogue.statistics.usage("2026-11-17", "9", one) == []


def test_the_most_read_items_come_first_page_by_page(catalogue: Catalogue) -> None:
    numbers = [put(catalogue, item(number)) for number in range(1, 6)]
    for nonce, (number, count) in enumerate(zip(numbers, (3, 7, 3, 9, 3), strict=True)):
        for day in ("2026-11-15", "2026-12-01"):
            used = replace(access(number, nonce, day), issued=int(day[5:7]), count=count)
            assert catalogue.statistics.count_accesses([used]) == [True]
    labels = [forms(number).label.canonical for number in range(1, 6)]
    expected = [
        ItemAccesses(numbers[place], labels[place], count)
        for place, count in ((3, 18), (1, 14), (0, 6), (2, 6), (4, 6))
    ]
    assert catalogue.statistics.most_read("", "9", 9) == expected
    pages: list[ItemAccesses] = []
    while page := catalogue.statistics.most_read(
        "", "9", 2, (pages[-1].count, pages[-1].item) if pages else None
    ):
        pages += page
    assert pages == expected
    [most] = catalogue.statistics.most_read("2026-12-01", "2026-12-31", 1)
    assert most == ItemAccesses(numbers[3], labels[3], 9)
    assert catalogue.statistics.most_read("2027-01-01", "9", 9) == []


def test_a_key_may_be_good_for_many_accesses(catalogue: Catalogue) -> None:
    one, two = put(catalogue, item(1)), put(catalogue, item(2))
    many = replace(access(one, 1), count=1000)
    batch = [many, access(one, 2), replace(many, count=7), replace(access(two, 3), count=5)]
    assert catalogue.statistics.count_accesses(batch) == [True, True, False, True]
    assert catalogue.statistics.count_accesses([replace(many, count=1), access(two, 4)]) == [
        False,
        True,
    ]
    assert [each.count for each in catalogue.statistics.accesses("", "9", one)] == [1001]
    assert [each.count for each in catalogue.statistics.accesses("", "9", two)] == [6]


def test_a_key_may_be_good_for_accesses_of_many_items(catalogue: Catalogue) -> None:
    items = [item(number) for number in range(1, 601)]
    numbers = [put(catalogue, each) for each in items]
    labels = [each.forms.label.canonical for each in items]
    others = tuple((label, 2) for label in labels[1:])
    short = items[1].forms.short.canonical
    many = replace(
        access(numbers[0], 1), others=(*others, (short, 3), ("x.example.org/a/2001/01.01.01.01", 5))
    )
    assert catalogue.statistics.count_accesses([many, many]) == [True, False]
    assert catalogue.statistics.count_accesses([replace(many, others=())]) == [False]
    found = [
        sum(day.count for day in catalogue.statistics.accesses("", "9", each))
        for each in numbers[:3]
    ]
    assert found == [1, 5, 2]
    assert sum(day.count for day in catalogue.statistics.accesses("", "9")) == 1 + 2 * 599 + 3


def test_keys_are_forgotten_when_nobody_would_take_them(catalogue: Catalogue) -> None:
    number = put(catalogue, item(1))
    batch = [access(number, 1, until=99), access(number, 2, until=100)]
    catalogue.statistics.count_accesses(batch)
    catalogue.statistics.forget_keys(100)
    assert catalogue.statistics.count_accesses(batch) == [True, False]


def test_accesses_count_once_whoever_counts_and_in_whatever_order(place: CatalogueDatabase) -> None:
    """Two who take the same rows in two orders must not wait for each other."""
    catalogues = [place() for _ in range(3)]
    number = put(catalogues[0], item(1))
    batch = [access(number, nonce, f"2026-11-{nonce % 3 + 10}") for nonce in range(30)]
    counted: list[int] = []

    def work(catalogue: Catalogue, turn: int) -> None:
        mine = batch[turn:] + batch[:turn]
        mine = mine[::-1] if turn % 2 else mine
        counted.append(sum(catalogue.statistics.count_accesses(mine)))

    threads = [
        threading.Thread(target=work, args=(catalogues[turn % 3], turn)) for turn in range(9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counted) == [0] * 8 + [30]
    assert sum(each.count for each in catalogues[1].statistics.accesses("", "9")) == 30


# --- tokens, settings, links ----------------------------------------------------------------------


def test_tokens_are_kept_by_name_in_one_order(catalogue: Catalogue) -> None:
    tokens = [
        Token(name, f"digest {name}", "read", 1) for name in ("b", "A", "a", "B", "a-b", "aa")
    ]
    assert all(catalogue.tokens.add_token(token) for token in tokens)
    assert not catalogue.tokens.add_token(replace(tokens[0], digest="other"))
    assert catalogue.tokens.tokens() == sorted(tokens, key=lambda token: token.name)
    assert catalogue.tokens.remove_token("b")
    assert not catalogue.tokens.remove_token("b")
    assert "b" not in [token.name for token in catalogue.tokens.tokens()]


def test_a_setting_is_kept_once(place: CatalogueDatabase) -> None:
    one, other = place(), place()
    assert one.settings.get("name") == ""
    assert one.settings.keep("name", "first") == "first"
    assert other.settings.keep("name", "second") == "first"
    assert other.settings.get("name") == "first"
    other.settings.drop("name")
    other.settings.drop("name")
    assert one.settings.get("name") == ""
    assert one.settings.keep("name", "third") == "third"


def test_links_are_kept_by_resolver_in_one_order(catalogue: Catalogue) -> None:
    for resolver in ("http://b", "http://A", "http://a"):
        catalogue.links.keep(resolver, "{}")
    catalogue.links.keep("http://b", '{"new": 1}')
    assert list(catalogue.links.all().items()) == [
        ("http://A", "{}"),
        ("http://a", "{}"),
        ("http://b", '{"new": 1}'),
    ]
    catalogue.links.drop("http://b")
    catalogue.links.drop("http://nobody")
    assert list(catalogue.links.all()) == ["http://A", "http://a"]


def test_links_are_kept_as_they_are(catalogue: Catalogue) -> None:
    links = CatalogueLinks(catalogue.links)
    kept = Link("http://urlib.net", RegistrationKey("1234567890-1234567890"), reason="não")
    links.save(kept)
    assert links.all() == [kept]
    links.save(replace(kept, state="included"))
    assert links.all() == [replace(kept, state="included")]
    links.remove(kept.resolver)
    assert links.all() == []


# --- several at once ------------------------------------------------------------------------------


def test_everything_is_there_after_closing_and_opening_again(place: CatalogueDatabase) -> None:
    catalogue = place()
    put(catalogue, item(1, further_names=(LEGACY,)), (file("a"),))
    catalogue.deposits.open(Deposit("d1", 1, "me", "{}"))
    catalogue.reservations.add([Reservation(forms(5), 1, "me")])
    before = everything(catalogue)
    catalogue.close()
    assert everything(place()) == before


class ReportingSqlite(Sqlite):
    """SQLite that sets an event when it has to wait for another connection that writes."""

    def __init__(self, path: str) -> None:
        """Open the file."""
        self.waits = threading.Event()
        super().__init__(path)

    def _open(self) -> apsw.Connection:
        connection = super()._open()
        connection.set_busy_handler(self._wait)
        return connection

    def _wait(self, _: int) -> bool:
        self.waits.set()
        time.sleep(0.001)
        return True


@contextmanager
def second_writer(place: CatalogueDatabase) -> Iterator[tuple[Catalogue, Callable[[], bool]]]:
    """Open the catalogue again; yield also a function that tells whether a connection waits."""
    if place.postgresql:
        with closing(place.database()) as watching:
            blocked = "SELECT 1 FROM pg_locks WHERE NOT granted"
            yield place(), lambda: bool(watching.read(blocked))
    else:
        database = ReportingSqlite(place.place)
        with closing(sql_catalogue(database, quick=True)) as catalogue:
            yield catalogue, database.waits.is_set


def test_of_two_who_change_the_same_version_one_is_refused(place: CatalogueDatabase) -> None:
    """The second waits for the decision of the first, whose change is not overwritten."""
    one = place()
    put(one, item(1))
    refused: list[str] = []
    with second_writer(place) as (other, is_waiting):

        def second() -> None:
            try:
                late = ItemChange(item=item(1, target="second"), version=1)
                other.items.apply(change("second", late), nothing)
            except StateError as fault:
                refused.append(str(fault))

        thread = threading.Thread(target=second)

        def decide(_: Change) -> None:
            thread.start()
            wait_until(is_waiting)
            assert refused == []

        first = ItemChange(item=item(1, target="first"), version=1)
        one.items.apply(change("first", first), decide)
        thread.join()
        assert len(refused) == 1
        [held] = other.items.page(0, 9)
    assert (held.item.target, held.version) == ("first", 2)
    assert [entry.change for entry in one.history.entries(0, 9)][1:] == ["first"]


def test_nobody_sees_what_is_being_decided(place: CatalogueDatabase) -> None:
    one, other = place(), place()
    seen: list[object] = []
    label = forms(1).label.canonical
    one.items.apply(
        change("c", ItemChange(item=item(1))), lambda _: seen.append(other.items.find(label))
    )
    assert seen == [None]
    assert other.items.find(label) is not None


def test_of_many_who_want_a_name_one_gets_it(place: CatalogueDatabase) -> None:
    catalogues = [place() for _ in range(3)]
    results: list[str] = []

    def work(catalogue: Catalogue, number: int) -> None:
        try:
            put(catalogue, item(number, further_names=(OTHER,)))
            results.append("given")
        except StateError:
            results.append("refused")

    threads = [
        threading.Thread(target=work, args=(catalogues[number % 3], number)) for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["given"] + ["refused"] * 5
    assert len(catalogues[0].items.page(0, 9)) == 1


def count_apart(place: str, postgresql: bool, number: int) -> None:  # noqa: FBT001
    """Count accesses in a process of its own."""
    database: Database = Postgres(place) if postgresql else Sqlite(place)
    catalogue = sql_catalogue(database, quick=True)
    for nonce in range(20):
        catalogue.statistics.count_accesses([access(number, nonce)])
    catalogue.close()


def test_processes_count_each_access_once(place: CatalogueDatabase) -> None:
    catalogue = place()
    number = put(catalogue, item(1))
    arguments = (place.place, place.postgresql, number)
    run_at_once((count_apart, arguments), (count_apart, arguments))
    assert [each.count for each in catalogue.statistics.accesses("", "9")] == [20]


def test_a_document_that_somebody_else_wrote_is_a_fault_of_the_storage(
    place: CatalogueDatabase,
) -> None:
    catalogue = place()
    put(catalogue, item(1))
    database = place.database()
    for text in ("", "{}", '{"version": 1, "forms": "rep x"}', "[1]"):
        statement = f"UPDATE archive_item SET document = '{text}'"  # noqa: S608
        database.transaction(partial(_execute, statement))
        with pytest.raises(StorageError, match="cannot be read"):
            catalogue.items.find(forms(1).label.canonical)
    database.close()


def _execute(statement: str, execute: Execute) -> None:
    execute(statement)


def test_whoever_reads_waits_for_no_writer(place: CatalogueDatabase) -> None:
    catalogue = place()
    number = put(catalogue, item(1))
    found = []

    def decide(_: Change) -> None:
        # In a thread of its own, for one that writes and reads would not wait for itself.
        reading = threading.Thread(target=lambda: found.append(catalogue.items.page(0, 10)))
        reading.start()
        reading.join(60)
        assert not reading.is_alive()

    catalogue.items.apply(change("c2", ItemChange(item=item(2))), decide)
    [[held]] = found
    assert held.id == number
    assert len(catalogue.items.page(0, 10)) == 2
