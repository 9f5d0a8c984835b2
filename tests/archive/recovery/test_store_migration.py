"""A move of all files: interrupted, overtaken by changes, and of what is damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ibi.archive.ports.catalogue import HistoryEntry
from ibi.archive.recovery.store_migration import MARK, Destination, StoreMigration
from ibi.archive.storage.files.folder_listing import FolderFiles, LocalFile
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.storage.files.switchable_store import SwitchableStore
from ibi.archive.tasks import CancelledError, TaskProgress
from ibi.errors import StateError, StorageError
from ibi.identifier.label import parse
from ibi.model.change import ItemChange
from ibi.model.item import File
from ibi.model.task import Task
from tests.support.scenes.small_archive import SmallArchive, tree

OWNER = "the archive"


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about power cuts."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class MeddledShelf(FolderFiles):
    """A folder; something happens when a file is read or written for the first time."""

    def __init__(self, root: Path) -> None:
        """Meddle with nothing yet."""
        super().__init__(root)
        self.before: dict[str, Callable[[], object]] = {}

    def _meddle(self, key: str) -> None:
        for name in [name for name in self.before if key.endswith(name)]:
            self.before.pop(name)()

    def open(self, key: str) -> LocalFile:
        """Open a file for reading, after what happens then."""
        self._meddle(key)
        return super().open(key)

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write a file, after what happens then."""
        self._meddle(key)
        super().write(key, pieces, file)


class Move:
    """An archive in one folder, to be moved to another."""

    def __init__(self, folder: Path) -> None:
        """Make it, with three items."""
        self.here, self.there = folder / "here", folder / "there"
        self.here.mkdir()
        self.store = SwitchableStore(self.here / "incoming", FolderStore(self.here))
        self.small = SmallArchive(self.here, store=lambda: self.store)
        self.labels = [
            self.small.label({"a": b"1", "x/b": b"2"}, target="a"),
            self.small.label({"swap": b"file", "turn/in": b"folder"}, target="swap"),
            self.small.label({"c": b"3"}),
        ]
        self.source, self.target = MeddledShelf(self.here), MeddledShelf(self.there)
        self.entered = False
        self.reports: list[Task] = []
        self.cancelled = False

    def _check(self, _: str) -> None:
        if self.cancelled:
            raise CancelledError

    def run(self, task: Task | None = None) -> dict[str, Any]:
        """Move it, or go on with a task; return what was told."""
        progress = TaskProgress(
            task or Task(id="1", kind="move-store", who="me", begun=0),
            self.reports.append,
            self.small.clock,
            self._check,
        )
        store = FolderStore(self.there)

        def enter() -> None:
            self.store.exchange(store)
            self.entered = True

        destination = Destination(
            self.target, lambda: (place for place, _ in store.manifests()), enter
        )
        move = StoreMigration(
            self.small.archive, self.store, self.source, destination, OWNER, progress
        )
        move.run()
        return progress.result

    def revise(self, label: str, files: dict[str, bytes], *removed: str) -> None:
        """Change the files of an item."""
        self.small.deposit(files, item=label, remove=list(removed), target=next(iter(files)))

    def check(self) -> None:
        """See that all is there as it is here, and what it was when it was deposited."""
        assert self.entered
        assert kept(self.there) == kept(self.here)
        for held in self.small.catalogue.items.page(0, 100):
            for file in self.small.catalogue.items.files(held.id):
                path = self.there / "col" / held.item.forms.label.spelling / "doc" / file.path
                assert path.stat().st_mtime_ns == file.modified
        assert (self.here / MARK).read_text("utf-8") == OWNER
        assert not (self.there / MARK).exists()
        assert tree(self.there / "incoming") == {"./": b""}
        label = self.small.label({"after": b"all"})
        assert (self.there / "col" / label / "doc" / "after").read_bytes() == b"all"
        assert not (self.here / "col" / label).exists()


def kept(folder: Path) -> dict[str, bytes]:
    return {**tree(folder / "col"), **tree(folder / "reserved")}


@pytest.fixture
def move(tmp_path: Path) -> Iterator[Move]:
    made = Move(tmp_path)
    yield made
    made.small.close()


def test_everything_is_moved(move: Move) -> None:
    move.revise(move.labels[0], {"a": b"one"})
    move.small.archive.reserve(2, "me")
    move.small.archive.delete(move.labels[2], "me", "wrong")
    told = move.run()
    assert (told["items"], told["damaged"]) == (3, [])
    assert told["files"] == 5  # one of them was replaced
    move.check()
    assert [entry.act for entry in move.small.catalogue.history.entries(0, 100)][-2] == "move store"


def test_what_is_changed_meanwhile_is_moved_as_it_is_then(move: Move) -> None:
    first, second, third = move.labels

    def change() -> None:
        move.revise(second, {"swap/in": b"folder", "turn": b"file"}, "swap", "turn/in")
        move.revise(first, {"x/b": b"other"})
        move.small.label({"new": b"new"})
        move.small.archive.delete(third, "me", "wrong")

    move.target.before[f"{third}/doc/c"] = change
    move.run()
    move.check()


def test_what_is_changed_while_it_is_read_is_not_taken_for_damaged(move: Move) -> None:
    first = move.labels[0]
    move.source.before[f"{first}/doc/x/b"] = lambda: move.revise(first, {"x/b": b"later"})
    assert move.run()["damaged"] == []
    move.check()


def test_an_item_that_is_dropped_meanwhile_is_not_there(move: Move) -> None:
    small, third = move.small, move.labels[2]

    def drop() -> None:
        held = small.archive.get(third)
        gone = [ItemChange(item=held.item, version=held.version, dropped=True)]
        small.archive.make(
            small.archive.change("drop", "me", held.item.forms.label, gone, small.clock.wall())
        )

    move.target.before[f"{third}/ibi.json"] = drop
    move.run()
    assert not (move.there / "col" / third / "doc").exists()
    move.check()


def test_a_reservation_that_comes_meanwhile_is_moved(move: Move) -> None:
    reserve = move.small.archive.reserve
    move.target.before["/ibi.json"] = lambda: reserve(1, "me")
    move.run()
    assert len(list((move.there / "reserved").iterdir())) == 1
    move.check()


@pytest.mark.parametrize("key", [MARK, "doc/a", "ibi.json", "doc/c"])
def test_a_move_that_fails_changes_nothing_and_is_gone_on_with(move: Move, key: str) -> None:
    def fail() -> None:
        raise StorageError("of the test", "the disk fails")

    move.target.before[key] = fail
    with pytest.raises(StorageError, match="the disk fails"):
        move.run()
    assert not move.entered
    move.revise(move.labels[0], {"a": b"meanwhile"})  # and nobody notes it
    dropped = move.labels[2]
    move.run()
    move.check()
    assert (move.there / "col" / dropped / "doc" / "c").read_bytes() == b"3"


def test_what_was_moved_before_is_not_moved_again(move: Move) -> None:
    move.target.before[f"{move.labels[2]}/ibi.json"] = lambda: setattr(move, "cancelled", True)
    with pytest.raises(CancelledError):
        move.run()
    move.cancelled = False
    assert not move.entered
    again = move.run()
    assert again["bytes"] == 0
    move.check()


def test_what_went_between_two_attempts_goes_there_too(move: Move) -> None:
    move.target.before[f"{move.labels[2]}/ibi.json"] = lambda: setattr(move, "cancelled", True)
    with pytest.raises(CancelledError):
        move.run()
    move.cancelled = False
    stray = move.there / "col" / "example.org" / "archive" / "2001" / "01.01.01.01.01"
    shutil.copytree(move.there / "col" / move.labels[0], stray)
    move.run()
    assert not stray.exists()
    move.check()


def test_damaged_files_are_moved_as_they_are_and_told(move: Move) -> None:
    first = move.labels[0]
    path = move.here / "col" / first / "doc" / "a"
    path.write_bytes(b"?")
    told = move.run()
    assert told["damaged"] == [f"col/{first}/doc/a"]
    assert (move.there / "col" / first / "doc" / "a").read_bytes() == b"?"


def test_a_file_that_is_put_right_meanwhile_is_moved_again(move: Move) -> None:
    first, third = move.labels[0], move.labels[2]
    path = move.here / "col" / first / "doc" / "a"
    held = move.small.archive.get(first)
    file = move.small.catalogue.items.file(held.id, "a")
    assert file is not None
    path.write_bytes(b"?")

    def mend() -> None:
        with move.store.staging.receive("mending", "a", 0) as sink:
            sink.write(b"1")
            sink.finish()
        move.store.mend(first, file, "mending")
        move.store.discard("mending")

    move.target.before[f"{third}/doc/c"] = mend
    assert move.run()["damaged"] == []
    assert (move.there / "col" / first / "doc" / "a").read_bytes() == b"1"
    move.check()


def test_a_missing_file_is_told_also_by_whoever_goes_on(move: Move) -> None:
    first = move.labels[0]
    (move.here / "col" / first / "doc" / "a").unlink()
    told = move.run()
    assert told["damaged"] == [f"col/{first}/doc/a"]
    move.store.exchange(FolderStore(move.here))  # as if it had been interrupted at its end
    (move.there / MARK).write_text(OWNER)
    task = Task(id="1", kind="move-store", who="me", begun=0, result=json.dumps(told))
    assert move.run(task)["damaged"] == [f"col/{first}/doc/a"]


def test_what_was_put_right_between_two_attempts_is_moved_again(move: Move) -> None:
    first, third = move.labels[0], move.labels[2]
    path = move.here / "col" / first / "doc" / "a"
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"?")
    os.utime(path, ns=times)

    def fail() -> None:
        raise StorageError("there", "it failed")

    move.target.before[f"{third}/doc/c"] = fail
    with pytest.raises(StorageError):
        move.run()
    path.write_bytes(b"1")
    os.utime(path, ns=times)
    repaired = HistoryEntry(0, "r", 1, "me", "repair", parse(first).canonical, '{"path": "doc/a"}')
    move.small.catalogue.history.note(repaired)
    assert move.run()["damaged"] == []
    move.check()


@pytest.mark.parametrize("mark", [None, "another archive"])
def test_nothing_is_written_where_other_files_are(move: Move, mark: str | None) -> None:
    other = move.there / "col" / "somebody" / "ibi.json"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"{}")
    if mark is not None:
        (move.there / MARK).write_text(mark, "utf-8")
    with pytest.raises(StateError, match="already" if mark is None else mark):
        move.run()
    assert not move.entered
    assert tree(move.there / "col") == {"somebody/ibi.json": b"{}"}


@pytest.mark.parametrize("links", [True, False])
def test_open_deposits_go_on_when_the_store_takes_files_from_elsewhere(
    move: Move, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    """The folder of deposits stays where it is, perhaps on another disk than the new store."""
    id_ = move.small.open({"x/y": b"1", "z": b"2"}, target="z")
    move.run()
    if not links:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    look = move.small.deposits.complete(id_, "me")
    label = look.item.forms.label.spelling
    assert (move.there / "col" / label / "doc" / "x" / "y").read_bytes() == b"1"
    assert move.store.staging.deposits() == []
    for folder in (move.here, move.there):
        assert tree(folder / "incoming") == {"./": b""}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FolderStore, "decide", _failing)
        other = move.small.open({"a": b"3"})
        with pytest.raises(StorageError):
            move.small.deposits.complete(other, "me")
    assert [each.path for each in move.store.staging.staged(other)] == ["a"]
    move.small.deposits.complete(other, "me")
    assert move.store.staging.deposits() == []


def _failing(*_: Sequence[object]) -> None:
    raise StorageError("of the test", "the disk fails")
