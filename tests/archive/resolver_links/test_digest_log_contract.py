"""The log of names in every catalogue: what it says of changes, and when it begins anew."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from ibi.archive.ports.catalogue import Catalogue, ManifestItem, StoredChange
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.errors import StateError
from ibi.foundation.sql.database import Database, Execute
from ibi.identifier.label import parse
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item
from ibi.wire.digest import DigestPage, fingerprint
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import forms

LEGACY = parse("6qtX3pFwXQZGivnK2Y/SskcB")


def names(*items: Item) -> set[int]:
    return {fingerprint(label.canonical) for item in items for label in item.names}


def item(number: int) -> Item:
    return Item(forms=forms(number))


def change(catalogue: Catalogue, *items: ItemChange) -> None:
    label = items[0].item.forms.label.canonical
    id_ = secrets.token_hex(8)
    catalogue.items.apply(
        Change(id=id_, at=7, who="me", act="deposit", label=label, items=items), lambda _: None
    )


def put(catalogue: Catalogue, *items: Item) -> None:
    for each in items:
        change(catalogue, ItemChange(item=each))


def drop(catalogue: Catalogue, each: Item) -> None:
    change(catalogue, ItemChange(item=each, version=1, dropped=True))


def fill(catalogue: Catalogue) -> None:
    while catalogue.digest.fill():
        pass


def read(catalogue: Catalogue, before: DigestPage | None = None) -> DigestPage:
    digest = DigestLog(catalogue.digest)
    epoch, after = (before.epoch, before.last) if before else ("", 0)
    return digest.page(*digest.place(epoch, after))


def said(page: DigestPage) -> tuple[set[int], set[int]]:
    return set(page.held), set(page.dropped)


def test_a_new_catalogue_has_an_empty_digest_once_it_was_looked_at(catalogue: Catalogue) -> None:
    assert not catalogue.digest.state().whole
    fill(catalogue)
    assert catalogue.digest.state().whole
    page = read(catalogue)
    assert (page.after, page.last, page.more, page.held) == (0, 0, False, ())
    assert read(catalogue, page) == page


def test_every_change_is_told_and_of_many_the_last_word(catalogue: Catalogue) -> None:
    fill(catalogue)
    one, two = Item(forms=forms(1), further_names=(LEGACY,)), item(2)
    put(catalogue, one)
    first = read(catalogue)
    assert said(first) == (names(one), set())
    put(catalogue, two)
    second = read(catalogue, first)
    assert second.after == first.last
    assert said(second) == (names(two), set())
    change(catalogue, ItemChange(item=one, version=1), ItemChange(item=two, version=1))
    third = read(catalogue, second)
    assert said(third) == (names(one, two), set())
    drop_again = ItemChange(item=two, version=2, dropped=True)
    change(catalogue, drop_again)
    assert said(read(catalogue, third)) == (set(), names(two))
    assert said(read(catalogue)) == (names(one), names(two))
    assert said(read(catalogue, read(catalogue))) == (set(), set())


def test_what_was_undone_is_not_told(catalogue: Catalogue) -> None:
    fill(catalogue)
    before = read(catalogue)

    def refuse(_: Change) -> None:
        raise StateError("not now")

    one = ItemChange(item=item(1))
    wanted = Change(id="c", at=7, who="me", act="deposit", label="l", items=(one,))
    with pytest.raises(StateError):
        catalogue.items.apply(wanted, refuse)
    assert read(catalogue) == before


def test_names_of_earlier_versions_leave_with_the_item(catalogue: Catalogue) -> None:
    fill(catalogue)
    named = Item(forms=forms(1), further_names=(LEGACY,))
    put(catalogue, named)
    change(catalogue, ItemChange(item=item(1), version=1))
    page = read(catalogue)
    assert said(page) == (names(named), set())
    change(catalogue, ItemChange(item=item(1), version=2, dropped=True))
    assert said(read(catalogue, page)) == (set(), names(named))


def test_an_item_of_very_many_names_is_told_by_all_of_them(catalogue: Catalogue) -> None:
    """What is known of one lasts until the log names it: none may be left out."""
    fill(catalogue)
    further = [parse(f"example.org/a{number}/2026/11.15.12.00") for number in range(1100)]
    named = Item(forms=forms(1), further_names=tuple(further))
    put(catalogue, named)
    page = read(catalogue)
    assert said(page) == (names(named), set())
    drop(catalogue, named)
    assert said(read(catalogue, page)) == (set(), names(named))


def test_a_change_that_is_made_again_after_a_crash_is_told(catalogue: Catalogue) -> None:
    fill(catalogue)
    put(catalogue, item(1))
    page = read(catalogue)
    stored = StoredChange("s", 8, "me", "deposit", "l", "", "", ())
    dropped = item(1).forms.label.canonical
    catalogue.items.restore(stored, [ManifestItem(item(2), ())], dropped=[dropped])
    assert said(read(catalogue, page)) == (names(item(2)), names(item(1)))


def test_what_was_there_before_the_log_is_written_down_in_parts(place: CatalogueDatabase) -> None:
    catalogue = place()
    items = [item(number) for number in range(450)]
    put(catalogue, *items[:430])
    # As in a catalogue that an earlier version made, or that came out of a backup.
    database = place.database()
    database.transaction(lambda execute: execute("DELETE FROM archive_digest"))
    assert catalogue.digest.fill()
    assert not catalogue.digest.state().whole
    drop(catalogue, items[5])
    drop(catalogue, items[425])
    put(catalogue, *items[430:])
    again = place()
    fill(again)
    gone = (items[5], items[425])
    left = [each for each in items if each not in gone]
    assert said(read(again)) == (names(*left), names(*gone))
    assert not again.digest.fill()
    database.close()


def pages(catalogue: Catalogue) -> Iterable[DigestPage]:
    page = read(catalogue)
    yield page
    while page.more:
        page = read(catalogue, page)
        yield page


class Noted:
    """A database that notes how much is read where everybody else waits."""

    def __init__(self, database: Database) -> None:
        """Have nothing noted."""
        self._database = database
        self.most = 0

    def __getattr__(self, name: str) -> object:
        """Be that database otherwise."""
        return getattr(self._database, name)

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Read, and note how many rows."""
        rows = self._database.read(sql, *values)
        self.most = max(self.most, len(rows))
        return rows


def test_a_long_log_comes_in_pages(place: CatalogueDatabase) -> None:
    noted = Noted(place.database())
    catalogue = sql_catalogue(noted, quick=True)  # type: ignore[arg-type]  # it is one
    place.opened.append(catalogue)
    fill(catalogue)
    put(catalogue, item(0))
    names_of_many = [n.to_bytes(6) + (n + 2**40).to_bytes(6) for n in range(1, 40_001)]

    def fill_log(execute: Execute) -> None:
        [(last,)] = execute("UPDATE archive_epoch SET last = last + 40000 RETURNING last")
        for start in range(0, 40_000, 500):
            rows = ", ".join(
                f"({last - 40_000 + 1 + number}, "
                + (f"'\\x{each.hex()}'::bytea" if place.postgresql else f"x'{each.hex()}'")
                + ", TRUE)"
                for number, each in enumerate(names_of_many[start : start + 500], start)
            )
            execute(f"INSERT INTO archive_digest (number, names, held) VALUES {rows}")  # noqa: S608  # ours

    database = place.database()
    database.transaction(fill_log)
    database.close()
    first, second = pages(catalogue)
    assert (len(first.held), len(second.held)) == (65_536, 80_002 - 65_536)
    assert (first.more, second.more) == (True, False)
    expected = {*range(1, 40_001), *range(2**40 + 1, 2**40 + 40_001), *names(item(0))}
    assert {*first.held, *second.held} == expected
    # Nobody who reads an item meanwhile waits for a page.
    assert noted.most < 1000


def test_who_read_a_log_that_was_set_back_begins_anew(place: CatalogueDatabase) -> None:
    catalogue = place()
    fill(catalogue)
    put(catalogue, item(1))
    kept = read(catalogue)
    put(catalogue, item(2))
    lost = read(catalogue, kept)
    # The state of a snapshot of the machine comes back; then the log goes on, as far and further.
    database = place.database()

    def set_back(execute: Execute) -> None:
        execute("DELETE FROM archive_digest WHERE number > $1", kept.last)
        execute("UPDATE archive_epoch SET last = $1", kept.last)
        execute("DELETE FROM archive_item WHERE label = $1", item(2).forms.label.canonical)

    database.transaction(set_back)
    assert read(catalogue, kept).after == kept.last
    anew = read(catalogue, lost)
    assert (anew.epoch, anew.after) == (lost.epoch, 0)
    assert said(anew) == (names(item(1)), set())
    for number in range(3, 9):
        put(catalogue, item(number))
        found = read(catalogue, lost)
        assert (found.after, set(found.held)) == (
            0,
            names(item(1), *map(item, range(3, number + 1))),
        )
        assert read(catalogue, kept).after == kept.last
    database.close()


def test_a_catalogue_that_was_written_anew_has_another_epoch(catalogue: Catalogue) -> None:
    fill(catalogue)
    put(catalogue, item(1), item(2))
    before = read(catalogue)
    renewal = catalogue.rebuild()
    renewal.put(
        [
            ManifestItem(item(2), (), number=2, version=1),
            ManifestItem(item(3), (), number=3, version=1),
        ]
    )
    renewal.finish()
    assert not catalogue.digest.state().whole
    fill(catalogue)
    after = read(catalogue, before)
    assert after.epoch != before.epoch
    assert after.after == 0
    assert said(after) == (names(item(2), item(3)), set())


def test_an_epoch_or_a_cursor_of_another_is_no_place_here(catalogue: Catalogue) -> None:
    fill(catalogue)
    put(catalogue, item(1), item(2))
    page = read(catalogue)
    digest = DigestLog(catalogue.digest)
    for epoch, after in (("", page.last), ("0" * 32, page.last), (page.epoch, page.last + 1)):
        assert digest.place(epoch, after)[1] == 0
    assert digest.place(page.epoch, page.last - 1)[1] == 0
    assert digest.place(page.epoch, 2**63 - 1)[1] == 0


def test_of_many_who_write_at_once_none_comes_before_what_was_read(
    place: CatalogueDatabase,
) -> None:
    fill(place())
    items = [item(number) for number in range(40)]

    def write(mine: list[Item]) -> None:
        put(place(), *mine)

    threads = [threading.Thread(target=write, args=(items[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    reader = place()
    heard: set[int] = set()
    page = read(reader)
    heard.update(page.held)
    while any(thread.is_alive() for thread in threads):
        page = read(reader, page)
        heard.update(page.held)
    for thread in threads:
        thread.join()
    heard.update(read(reader, page).held)
    assert heard == names(*items)
