"""Harvests while the archive changes, on every database: none lost, none doubled."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest
from lxml import etree

from ibi.archive.archive import Archive
from ibi.archive.harvest.change_feed import ChangeFeed
from ibi.archive.harvest.harvest import Harvest, HarvestSettings
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.rules.harvest.document import Fault, Part, Record
from ibi.archive.rules.harvest.publication import value_of
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.errors import ArchiveRequestError
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item, State, Tombstone
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord, Text
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import SECOND, START, SmallArchive, TickingClock, forms

SETTINGS = HarvestSettings(
    name="Archive",
    address="http://archive.example.org/oai",
    namespace="archive.example.org",
    administrator="",
    publisher="Press",
    page=3,
)


def no_labels(_: int) -> list[Forms]:
    """Mint nothing."""
    return []


class Harvested:
    """An archive with a harvester."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        """Begin without items."""
        self.catalogue = catalogue
        self.clock = TickingClock()
        archive = Archive(catalogue, FolderStore(folder), no_labels, self.clock)
        self.harvest = Harvest(archive, SETTINGS, b"x" * 32, lambda: "http://resolver")
        self.feed = ChangeFeed(archive, "Press", lambda each: f"http://r/{each.short.spelling}")
        while catalogue.harvest.fill(self.clock.wall()):
            pass
        self.versions: dict[int, int] = {}
        self.last: dict[int, str] = {}
        """The state of each item, or its title."""

    def write(self, number: int, title: str, type_: str = "Text") -> None:
        """Add an item, or change its title."""
        item = Item(forms=forms(2 * number), metadata=forms(2 * number + 1))
        record = MetadataRecord(titles=(Text(title),), types=(type_,))
        described = Item(
            forms=forms(2 * number + 1), kind="metadata", describes=item.forms, record=record
        )
        version = self.versions.get(number, 0)
        new = () if version else (ItemChange(item=item),)
        self._apply(*new, ItemChange(item=described, version=version))
        self.versions[number] = version + 1
        self.last[number] = title

    def delete(self, number: int) -> None:
        """Delete an item; its metadata stay."""
        item = Item(
            forms=forms(2 * number),
            metadata=forms(2 * number + 1),
            state=State.DELETED,
            tombstone=Tombstone(7, "me", "because"),
        )
        self._apply(ItemChange(item=item, version=1, cleared=True))
        self.last[number] = "deleted"

    def _apply(self, *items: ItemChange) -> None:
        label = items[0].item.forms.label.canonical
        now = self.clock.wall()
        change = Change(
            id=secrets.token_hex(8), at=now, who="me", act="describe", label=label, items=items
        )
        self.catalogue.items.apply(change, lambda _: None)

    def ask(self, **arguments: str) -> Part | Fault:
        """Return the part of a list, or the fault."""
        pairs = [(name.rstrip("_"), value) for name, value in arguments.items()]
        body = self.harvest.answer(pairs).body
        assert isinstance(body, Part | Fault)
        return body

    def pages(self, between: Callable[[], None], **arguments: str) -> Iterator[Part]:
        """Yield the parts of a list of records, and do something between two of them."""
        part = self.ask(verb="ListRecords", metadataPrefix="oai_dc", **arguments)
        while True:
            assert isinstance(part, Part), part
            yield part
            if not part.token:
                return
            between()
            part = self.ask(verb="ListRecords", resumptionToken=part.token)


def local(number: int) -> str:
    """Return the OAI identifier of an item."""
    return f"oai:archive.example.org:{forms(2 * number).short.spelling}"


@pytest.fixture
def harvested(catalogue: Catalogue, tmp_path: Path) -> Harvested:
    folder = tmp_path / "files"
    folder.mkdir()
    return Harvested(catalogue, folder)


def records_of(parts: Iterator[Part]) -> Iterator[Record]:
    """Yield the records of a harvest."""
    for part in parts:
        for entry in part.entries:
            assert isinstance(entry, Record)
            yield entry


class Writer:
    """Adds, changes and deletes items, by a script that chance wrote once."""

    def __init__(self, harvested: Harvested) -> None:
        """Begin with some items."""
        self.harvested = harvested
        self.chance = random.Random(19)  # noqa: S311  # a script, not a secret
        self.touched: set[int] = set()
        for number in range(14):
            harvested.write(number, f"old {number}", "Thesis" if number % 2 else "Text")
        harvested.delete(3)

    def between(self) -> None:
        """Change two items, until many were changed."""
        for _ in range(2):
            number = self.chance.choice([*range(14), len(self.harvested.last)])
            state = self.harvested.last.get(number)
            if state == "deleted" or len(self.touched) > 9:
                continue
            self.touched.add(number)
            if state is not None and self.chance.random() < 0.4:
                self.harvested.delete(number)
            else:
                self.harvested.write(number, f"now {len(self.touched)}")


def test_a_harvest_while_the_archive_changes_loses_and_doubles_nothing(
    harvested: Harvested,
) -> None:
    writer = Writer(harvested)
    seen: dict[str, list[str]] = {}
    for record in records_of(harvested.pages(writer.between)):
        said = "deleted" if record.metadata is None else _text_of(record.metadata)
        assert record.header.deleted == (record.metadata is None)
        seen.setdefault(record.header.identifier, []).append(said)
    assert len(writer.touched) > 5
    assert len(harvested.last) > 14
    assert seen.keys() == {local(number) for number in harvested.last}
    for number, state in harvested.last.items():
        assert state in seen[local(number)][-1]
        assert len(seen[local(number)]) == 1 or number in writer.touched
    # The feed says the same, each item once.
    lines, page = [], harvested.feed.page("", 4)
    while b'"more":true' in page.body:
        lines += page.body.splitlines()[:-1]
        page = harvested.feed.page(page.next, 4)
    lines += page.body.splitlines()[:-1]
    assert len(lines) == len(harvested.last)
    gone = [*harvested.last.values()].count("deleted")
    assert sum(b'"Deleted"' in line for line in lines) == gone


def test_dates_sets_and_the_end_of_a_list_that_moved_away(harvested: Harvested) -> None:
    for number in range(5):
        harvested.write(number, f"T{number}", "Tese/ção" if number == 2 else "Text")
    row = harvested.catalogue.harvest.find(forms(4).label.canonical)
    assert row is not None
    day = "2023-11-26"  # on which all of them came
    assert [spec for spec in row.sets if value_of(spec) == "Tese/ção"] == [*row.sets]
    [found] = harvested.pages(lambda: None, set=row.sets[0], from_=day, until=day)
    assert [each.header.identifier for each in records_of(iter([found]))] == [local(2)]
    fault = harvested.ask(verb="ListRecords", metadataPrefix="oai_dc", until="2023-11-25")
    assert fault == Fault("noRecordsMatch", "No record matches the request.")
    # All records that were left change between two pages: the list ends with one of them.
    until = f"{day}T23:59:59Z"
    first = harvested.ask(verb="ListRecords", metadataPrefix="oai_dc", until=until)
    assert isinstance(first, Part)
    harvested.clock.sleep(86_400 * SECOND)
    for number in (3, 4):
        harvested.write(number, "later")
    last = harvested.ask(verb="ListRecords", resumptionToken=first.token)
    assert isinstance(last, Part)
    assert (len(last.entries), last.token, last.before) == (1, "", 3)
    # A token is of one list, and nobody else makes one.
    for verb, token in (
        ("ListIdentifiers", first.token),
        ("ListRecords", first.token[:-2] + "AA"),
        ("ListRecords", f"{first.token}="),
        ("ListRecords", "x" * 3999),
        ("ListRecords", "\N{SNOWMAN}"),
    ):
        refused = harvested.ask(verb=verb, resumptionToken=token)
        assert isinstance(refused, Fault)
        assert refused.code == "badResumptionToken"
    for cursor in ("0-0", "x", f"{harvested.catalogue.harvest.state().epoch}-999999"):
        with pytest.raises(ArchiveRequestError):
            harvested.feed.page(cursor, 1)


def test_copies_are_not_published_and_former_originals_are_deleted(harvested: Harvested) -> None:
    copy = Item(forms=forms(2), state=State.COPY)
    harvested._apply(ItemChange(item=copy))  # noqa: SLF001  # of this test
    assert harvested.catalogue.harvest.changes(0, 9) == []
    harvested._apply(ItemChange(item=Item(forms=forms(2)), version=1))  # noqa: SLF001
    harvested._apply(ItemChange(item=copy, version=2))  # noqa: SLF001
    [row] = harvested.catalogue.harvest.changes(0, 9)
    assert row.deleted
    harvested._apply(ItemChange(item=copy, version=3, dropped=True))  # noqa: SLF001
    assert harvested.catalogue.harvest.changes(0, 9) == [row]


def test_no_change_appears_behind_one_that_was_read(
    place: CatalogueDatabase, tmp_path: Path
) -> None:
    """A second writer commits only after the first, whose transaction began before."""
    first, second = Harvested(place(), tmp_path), Harvested(place(), tmp_path)
    began, may_end = Event(), Event()

    def slow(_: Change) -> None:
        began.set()
        assert may_end.wait(60)

    def change(number: int) -> Change:
        item = ItemChange(item=Item(forms=forms(number)))
        label = item.item.forms.label.canonical
        return Change(
            id=secrets.token_hex(8), at=7, who="me", act="deposit", label=label, items=(item,)
        )

    read: list[list[str]] = []

    def look(_: Change) -> None:
        read.append([row.label for row in place.opened[0].harvest.changes(0, 9)])

    one = Thread(target=lambda: first.catalogue.items.apply(change(1), slow))
    one.start()
    assert began.wait(60)
    two = Thread(target=lambda: second.catalogue.items.apply(change(2), look))
    two.start()
    assert first.catalogue.harvest.changes(0, 9) == []
    may_end.set()
    one.join()
    two.join()
    labels = [forms(number).label.canonical for number in (1, 2)]
    assert read == [labels[:1]]
    assert [row.label for row in first.catalogue.harvest.changes(0, 9)] == labels


def test_a_change_has_no_earlier_date_than_an_answer_that_lacks_it(tmp_path: Path) -> None:
    with closing(SmallArchive(tmp_path)) as small:
        harvest = Harvest(small.archive, SETTINGS, b"x" * 32, lambda: "http://resolver")
        log = small.catalogue.harvest
        while log.fill(small.clock.wall()):
            pass
        before: list[int] = []
        decide = small.store.decide

        def ask_meanwhile(change: Change) -> None:
            before.append(harvest.answer([("verb", "ListRecords")]).now)
            decide(change)

        small.store.decide = ask_meanwhile  # type: ignore[method-assign]
        small.deposit({"a": b"1"}, metadata={"titles": ["A"]})
        [row] = log.changes(0, 9)
        assert row.stamp >= before[0] > START


def test_a_rebuilt_log_says_what_is_new_and_what_is_lost(place: CatalogueDatabase) -> None:
    catalogue = place()
    for number in (1, 2):
        item = ItemChange(item=Item(forms=forms(number)))
        label = item.item.forms.label.canonical
        change = Change(
            id=secrets.token_hex(8), at=7, who="me", act="deposit", label=label, items=(item,)
        )
        catalogue.items.apply(change, lambda _: None)
    while catalogue.harvest.fill(9 * SECOND):
        pass
    kept, _ = catalogue.harvest.changes(0, 9)
    database = place.database()
    with closing(database):

        def lose(execute: Callable[..., object]) -> None:
            execute("DELETE FROM archive_item WHERE label = $1", forms(2).label.canonical)
            execute("DELETE FROM archive_name WHERE name = $1", forms(2).label.canonical)
            execute("UPDATE archive_harvest_state SET filled = 0")

        database.transaction(lose)
    assert not catalogue.harvest.state().whole
    while catalogue.harvest.fill(20 * SECOND):
        pass
    first, lost = catalogue.harvest.changes(0, 9)
    assert first == kept
    assert (lost.label, lost.deleted, lost.stamp) == (forms(2).label.canonical, True, 20)


def _text_of(element: etree._Element) -> str:
    return etree.tostring(element, encoding="unicode")
