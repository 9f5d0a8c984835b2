"""Copies: made, kept current, reported on, let go of; and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from ibi.archive.copies.copies import Copies
from ibi.archive.copies.fetch import SourcePool
from ibi.archive.copies.tasks import CopyTasks
from ibi.archive.ports.maintenance import CopyRecord
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.copies import as_copy, check_copyable, check_droppable, check_offered
from ibi.archive.rules.manifest import manifest
from ibi.archive.tasks import InterruptedTaskError, TaskProgress
from ibi.errors import (
    ChecksumError,
    DeletedError,
    StateError,
    UnknownError,
)
from ibi.identifier.label import Label, parse
from ibi.model.change import Change
from ibi.model.item import Item, State, Tombstone, Transfer
from ibi.model.task import Task
from tests.support.scenes.peer_archive import ADDRESS, ArchivePair, LocalPeer
from tests.support.scenes.small_archive import SmallArchive, forms, unchanged

FILES = {"a.txt": b"0123456789", "b.txt": b"abcdefgh"}
OWN = "http://here.example.org"
MOVED = "http://third.example.org"


class Copier:
    """An archive that copies from another."""

    def __init__(self, pair: ArchivePair) -> None:
        """Have a resolver that knows where the Original is."""
        self.pair = pair
        self.sources: dict[str, LocalPeer] = {ADDRESS: pair.source}
        self.address = ADDRESS
        self.fault: Exception | None = None
        self.copies = Copies(pair.here.archive, self._find, OWN)
        self.work = CopyTasks(self.copies, self.sources.__getitem__, lambda _: self)

    def _find(self, _: Label) -> str:
        if self.fault is not None:
            raise self.fault
        return self.address

    def holdings(self, after: str) -> tuple[list[str], str]:
        """List what is there, two at a time."""
        held = self.pair.there.catalogue.items.page(int(after or 0), 2, "data")
        labels = [each.item.forms.label.spelling for each in held]
        return labels, str(held[-1].id) if len(held) == 2 else ""

    def close(self) -> None:
        """Have nothing to let go of."""

    def copy(self, address: str = "", label: str = "") -> bool:
        """Copy the item."""
        sources = SourcePool(self.sources.__getitem__)
        return self.copies.copy(sources, parse(label or self.pair.label), "me", address)

    def refresh(self) -> bool:
        """Bring its Copy up to date."""
        return self.copies.refresh(
            SourcePool(self.sources.__getitem__), parse(self.pair.label), "schedule"
        )

    def record(self) -> CopyRecord:
        """Return how the Copy stands."""
        [standing] = self.copies.standing("", 10)
        assert standing.item is not None
        return standing.record

    def item(self, label: str = "") -> Item:
        """Return the item as it is here."""
        return self.pair.here.archive.get(label or self.pair.label).item

    def progress(
        self, request: dict[str, object], check: Callable[[str], None] = lambda _: None
    ) -> TaskProgress:
        """Return a task that is under way."""
        text = msgspec.json.encode(request).decode()
        clock = self.pair.here.clock
        task = Task(id="1", kind="copy", who="me", begun=clock.wall(), request=text)
        return TaskProgress(task, lambda _: None, clock, check)


@pytest.fixture
def copier(tmp_path: Path) -> Iterator[Copier]:
    pair = ArchivePair(tmp_path, FILES)
    yield Copier(pair)
    pair.close()


def test_copy_is_a_copy_with_its_origin(copier: Copier) -> None:
    assert copier.copy()
    look = copier.pair.here.archive.get_described(copier.pair.label)
    assert look.metadata is not None
    for item in (look.item, look.metadata.item):
        assert (item.state, item.origin) == (State.COPY, ADDRESS)
    assert copier.pair.files() == FILES
    [entry] = copier.pair.here.catalogue.history.entries(0, 10)
    assert (entry.act, entry.who, entry.label) == ("copy", "me", look.item.forms.label.canonical)
    assert (copier.record().missing, copier.record().fault) == (0, "")


def test_copy_cannot_be_edited(copier: Copier) -> None:
    copier.copy()
    here, label = copier.pair.here, copier.pair.label
    acts: list[Callable[[], object]] = [
        lambda: here.archive.amend(label, Amendment(metadata={"title": "Other"}), "me"),
        lambda: here.archive.amend(label, Amendment(language="pt"), "me"),
        lambda: here.archive.delete(label, "me", "no more"),
        lambda: here.deposit({"c": b"c"}, item=label),
    ]
    for act in acts:
        with unchanged(here), pytest.raises(StateError, match="Copy"):
            act()


def test_metadata_label_means_the_item(copier: Copier) -> None:
    metadata = copier.pair.there.archive.get_described(copier.pair.label).item.metadata
    assert metadata is not None
    copier.copy(label=metadata.label.spelling)
    assert not copier.copy(label=metadata.label.spelling)
    assert copier.pair.files() == FILES


def test_file_that_goes_meanwhile_is_said_to_be_of_the_other_archive(copier: Copier) -> None:
    def before() -> None:
        copier.pair.source.before = lambda: None
        copier.pair.there.deposit(item=copier.pair.label, remove=["b.txt"])

    calls = itertools.count(1)
    copier.pair.source.before = lambda: before() if next(calls) == 4 else None
    with pytest.raises(StateError, match=f"'b.txt' of .* went from {ADDRESS}"):
        copier.copy()
    assert copier.copy()


def test_refresh_of_what_somebody_copies_just_then_is_no_fault(copier: Copier) -> None:
    copier.copy()
    copier.pair.there.deposit({"c.txt": b"0123456789"}, item=copier.pair.label)

    def report(done: int, _: int) -> None:
        if done:
            assert not copier.refresh()

    sources = SourcePool(copier.sources.__getitem__)
    assert copier.copies.copy(sources, parse(copier.pair.label), "me", report=report)
    assert copier.record().fault == ""


def test_damaged_file_leaves_the_old_version(copier: Copier) -> None:
    copier.copy()
    copier.pair.there.deposit({"a.txt": b"9876543210"}, item=copier.pair.label)
    copier.pair.source.garble = lambda piece: piece.replace(b"9", b"8")
    with pytest.raises(ChecksumError):
        copier.copy()
    assert copier.pair.files() == FILES
    assert copier.refresh() is False
    assert "checksum" in copier.record().fault
    assert copier.record().missing == 0
    assert copier.pair.files() == FILES


def test_copy_of_a_copy_only_by_name(copier: Copier, tmp_path: Path) -> None:
    copier.copy()
    (tmp_path / "third").mkdir()
    third = SmallArchive(tmp_path / "third", minted=2000)
    source = LocalPeer(copier.pair.here.archive, OWN)
    copies = Copies(third.archive, lambda _: OWN, MOVED)
    sources = SourcePool(lambda _: source)
    label = parse(copier.pair.label)
    with unchanged(third), pytest.raises(StateError, match="only as a Copy"):
        copies.copy(sources, label, "me")
    assert copies.copy(sources, label, "me", OWN)
    assert third.archive.get(label).item.origin == OWN
    # As long as no resolver knows where the Original is, it goes on to come from there.
    assert not copies.copy(sources, label, "me")
    third.close()


class Victim:
    """A Copy of an item of a third archive, which another one would like to have."""

    def __init__(self, copier: Copier, folder: Path) -> None:
        """Copy it."""
        folder.mkdir()
        self._third = SmallArchive(folder, minted=2000)
        self.label = self._third.label({"y.txt": b"precious"})
        look = self._third.archive.get_described(self.label)
        assert look.metadata is not None
        self.forms, self.metadata = look.item.forms, look.metadata.item.forms
        self._third.close()
        third = SmallArchive(folder, minted=3000)
        self.close = third.close
        copier.sources[MOVED] = LocalPeer(third.archive, MOVED)
        assert copier.copy(MOVED, self.label)


@pytest.fixture
def victim(copier: Copier, tmp_path: Path) -> Iterator[Victim]:
    made = Victim(copier, tmp_path / "third")
    yield made
    made.close()


@pytest.mark.parametrize("which", ["the item", "its metadata"])
def test_metadata_do_not_come_in_the_place_of_another_copy(
    copier: Copier, victim: Victim, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    taken = victim.forms if which == "the item" else victim.metadata
    there = copier.pair.there.archive.get_described(copier.pair.label)
    assert there.metadata is not None
    texts = {
        taken.label: manifest(replace(there.metadata.item, forms=taken), ()),
        there.item.forms.label: manifest(
            replace(there.item, metadata=taken), copier.pair.there.archive.files(there.held)
        ),
    }
    monkeypatch.setattr(copier.pair.source, "manifest", lambda label: texts[parse(label)])
    items = copier.pair.here.catalogue.items.page(0, 10)
    with pytest.raises(StateError, match="here"):
        copier.copy()
    assert copier.pair.here.catalogue.items.page(0, 10) == items
    assert copier.pair.here.store.open(victim.label, "y.txt").size == len(b"precious")


def test_one_item_does_not_come_in_the_place_of_another(copier: Copier, victim: Victim) -> None:
    asked = parse(copier.pair.label)
    copier.pair.source.twist = lambda item, _: (
        replace(item, describes=victim.forms)
        if item.describes
        else replace(item, forms=victim.forms, further_names=(asked,), target=""),
        (),
    )
    before = copier.item(victim.label)
    with unchanged(copier.pair.here), pytest.raises(StateError, match="by its own label"):
        copier.copy()
    assert copier.item(victim.label) == before


def test_archive_that_lists_an_item_does_not_get_the_copy_of_another(
    copier: Copier, victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "holdings", lambda _: ([victim.label], ""))
    progress = copier.progress({"all": True, "from": ADDRESS})
    copier.work.copy(progress)
    assert progress.result["current"] == 1
    assert copier.item(victim.label).origin == MOVED


def test_nothing_is_taken_from_a_pull_that_is_being_stored(
    copier: Copier, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = copier.pair.here.archive
    make = archive.make

    def meddle(change: Change) -> None:
        copier.pair.there.deposit({"a.txt": b"another"}, item=copier.pair.label)
        with pytest.raises(StateError, match="being completed"):
            copier.pair.pull()
        make(change)

    monkeypatch.setattr(archive, "make", meddle)
    assert copier.copy()
    assert copier.pair.files() == FILES


def test_refresh_brings_what_changed(copier: Copier) -> None:
    copier.copy()
    assert not copier.refresh()
    copier.pair.there.archive.amend(
        copier.pair.label, Amendment(metadata={"title": "Another"}), "me"
    )
    copier.pair.there.deposit({"c.txt": b"new"}, item=copier.pair.label)
    assert copier.refresh()
    assert copier.pair.files() == FILES | {"c.txt": b"new"}
    record = copier.pair.here.archive.get_described(copier.pair.label).record
    assert record is not None
    assert record.title.value == "Another"


def test_vanished_original_is_reported_and_found_again(copier: Copier) -> None:
    copier.copy()
    copier.pair.source.breaks_at(*range(1, 100))
    copier.fault = StateError("No resolver knows.")
    assert not copier.refresh()
    first = copier.record()
    assert first.missing
    assert "does not answer" in first.fault
    assert not copier.refresh()
    assert copier.record().missing == first.missing
    assert copier.record().checked > first.checked
    copier.copies.recount()
    assert copier.copies.counted == (1, 1)
    assert copier.copies.standing("", 10, faulty=True)
    assert copier.pair.files() == FILES
    copier.pair.source.before = lambda: None
    assert not copier.refresh()
    assert (copier.record().missing, copier.record().fault) == (0, "")
    assert copier.copies.standing("", 10, faulty=True) == []


def test_original_that_moved_is_followed(copier: Copier) -> None:
    copier.copy()
    copier.sources[MOVED] = LocalPeer(copier.pair.there.archive, MOVED)
    copier.pair.source.twist = lambda item, files: (replace(item, state=State.COPY), files)
    copier.address = MOVED
    assert copier.refresh()
    assert copier.item().origin == MOVED


def test_refresh_leaves_alone_what_is_no_copy_any_more(copier: Copier) -> None:
    own = copier.pair.here.label({"x": b"x"})
    copier.pair.here.catalogue.copies.keep(CopyRecord(label=parse(own).canonical, checked=0))
    sources = SourcePool(copier.sources.__getitem__)
    assert not copier.copies.refresh(sources, parse(own), "schedule")
    assert copier.copies.standing("", 10) == []


def test_copies_that_nobody_put_on_record_are_found(copier: Copier) -> None:
    copier.copy()
    label = parse(copier.pair.label).canonical
    copier.pair.here.catalogue.copies.drop(label)
    copier.pair.here.catalogue.copies.keep(CopyRecord(label="no/more", checked=5))
    assert copier.copies.take_stock() == 1
    assert copier.copies.due(1, 10) == [label]


def test_drop_lets_go_of_all_of_it(copier: Copier) -> None:
    before = copier.pair.here.dump()[1]
    copier.copy()
    copier.copies.drop(parse(copier.pair.label), "me")
    assert copier.pair.here.dump()[1] == before
    assert copier.pair.here.catalogue.items.page(0, 10) == []
    assert copier.copies.standing("", 10) == []
    assert [entry.act for entry in copier.pair.here.catalogue.history.entries(0, 10)] == [
        "copy",
        "drop",
    ]
    with pytest.raises(UnknownError):
        copier.copies.drop(parse(copier.pair.label), "me")
    assert copier.copy()  # and it may come again
    assert copier.pair.files() == FILES


def test_originals_and_deleted_items_are_not_dropped(copier: Copier) -> None:
    here = copier.pair.here
    own = here.label({"x": b"x"})
    with unchanged(here), pytest.raises(StateError, match="Original"):
        copier.copies.drop(parse(own), "me")
    here.archive.delete(own, "me", "gone")
    with unchanged(here), pytest.raises(DeletedError):
        copier.copies.drop(parse(own), "me")


# --- the rules ------------------------------------------------------------------------------------

ITEM = Item(forms=forms(1), target="a")
HANDED = Transfer(id="t", peer=ADDRESS, phase="handed", since=1)
TOMBSTONE = Tombstone(1, "me", "gone")


def test_as_copy_changes_whose_it_is_and_nothing_else() -> None:
    item = replace(ITEM, readers=("10.0.0.0/8",), list_public=False, custody=("theirs",))
    before = replace(ITEM, state=State.COPY, custody=("ours",))
    assert as_copy(item, ADDRESS, before) == replace(
        item, state=State.COPY, origin=ADDRESS, custody=("ours",)
    )
    assert as_copy(replace(item, transfer=HANDED), ADDRESS, None).transfer is None
    assert as_copy(item, ADDRESS, None).custody == ()


def test_what_is_refused_by_state() -> None:
    states = {
        State.ORIGINAL: (False, True, False),
        State.COPY: (True, False, True),
        State.DELETED: (False, False, False),
    }
    for state, (copyable, offered, droppable) in states.items():
        item = replace(ITEM, state=state)
        assert _passes(partial(check_copyable, item)) is copyable
        assert _passes(partial(check_offered, item, ADDRESS)) is offered
        assert _passes(partial(check_droppable, item, ITEM.forms.label)) is droppable
    check_copyable(None)


def test_nothing_touches_a_copy_that_is_being_transferred() -> None:
    item = replace(ITEM, state=State.COPY, transfer=HANDED)
    assert not _passes(lambda: check_copyable(item))
    assert not _passes(lambda: check_droppable(item, ITEM.forms.label))
    service = replace(ITEM, state=State.COPY, kind="service")
    assert not _passes(lambda: check_copyable(service))


def _passes(check: Callable[[], None]) -> bool:
    try:
        check()
    except StateError:
        return False
    return True


# --- the long work --------------------------------------------------------------------------------

ALL: dict[str, object] = {"all": True, "from": ADDRESS}


def test_all_items_of_an_archive(copier: Copier) -> None:
    labels = [copier.pair.label, *(copier.pair.there.label({"x": b"x"}) for _ in range(4))]
    progress = copier.progress(ALL)
    copier.work.copy(progress)
    assert progress.result == {"copied": 5, "current": 0, "failed": 0, "faults": []}
    assert all(copier.item(label).state is State.COPY for label in labels)
    assert copier.copies.counted == (5, 0)


def test_list_without_an_end_is_not_read_for_ever(
    copier: Copier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "holdings", lambda _: ([], "again"))
    with pytest.raises(StateError, match="no end"):
        copier.work.copy(copier.progress(ALL))


def test_what_cannot_be_copied_does_not_keep_the_rest(copier: Copier) -> None:
    other = copier.pair.there.label({"x": b"x"})
    unknown = str(forms(99).label)
    progress = copier.progress({"items": [copier.pair.label, unknown, other]})
    with pytest.raises(StateError, match="1 of 3"):
        copier.work.copy(progress)
    assert copier.item(other).state is State.COPY
    assert copier.item().state is State.COPY
    [fault] = progress.result["faults"]
    assert fault["item"] == unknown


def test_one_item_tells_its_bytes(copier: Copier) -> None:
    progress = copier.progress({"items": [copier.pair.label]})
    copier.work.copy(progress)
    assert (progress.task.done, progress.task.total) == (18, 18)
    assert progress.result["copied"] == 1


def test_work_that_is_interrupted_goes_on(copier: Copier) -> None:
    labels = [copier.pair.label, *(copier.pair.there.label({"x": b"x"}) for _ in range(2))]
    for stop in itertools.count(1, 3):
        calls = itertools.count(1)

        def check(_: str, calls: Iterator[int] = calls, stop: int = stop) -> None:
            if next(calls) == stop:
                raise InterruptedTaskError

        progress = copier.progress(ALL, check)
        try:
            copier.work.copy(progress)
        except InterruptedTaskError:
            again = copier.progress(ALL)
            again.task = replace(again.task, place=progress.task.place, result=progress.task.result)
            copier.work.copy(again)
            assert again.task.done == len(labels)
            for label in labels:
                copier.copies.drop(parse(label), "me")
        else:
            break
        assert stop < 200
    assert all(copier.item(label).state is State.COPY for label in labels)


def test_refresh_looks_at_every_copy_once(copier: Copier) -> None:
    labels = [copier.pair.label, copier.pair.there.label({"x": b"x"})]
    for label in labels:
        copier.copy(label=label)
    copier.pair.there.deposit({"y": b"y"}, item=labels[1])
    progress = copier.progress({})
    copier.work.refresh(progress)
    assert progress.result == {"copied": 1, "current": 1, "failed": 0, "faults": []}
    assert progress.task.total == 2
    assert copier.copies.due(progress.task.begun, 10) == []
