"""Files on their way in, and changes that are decided: whole, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.adapters.file_tree import FileTree
from ibi.archive.manifest import read_manifest
from ibi.errors import (
    ChecksumError,
    FileNameError,
    StateError,
    StorageError,
    StorageFullError,
    UnknownError,
)
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item
from ibi.ports import FileStore, Staged
from small_archive import contents, file, forms, tree
from syscalls import Killed, disk_fails_at, killed_at

DEPOSIT = "d1"


@pytest.fixture
def store(tmp_path: Path) -> FileTree:
    return FileTree(tmp_path)


def again(tmp_path: Path) -> FileTree:
    """Return the same store, as after a restart."""
    return FileTree(tmp_path)


def send(
    store: FileStore,
    path: str,
    content: bytes,
    deposit: str = DEPOSIT,
    checksum: tuple[str, str] | None = None,
) -> None:
    with store.receive(deposit, path, 0) as sink:
        sink.write(content)
        sink.finish("", checksum)


def send_part(store: FileStore, path: str, content: bytes, offset: int = 0) -> None:
    with store.receive(DEPOSIT, path, offset) as sink:
        sink.write(content)


def read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read()


def whole(store: FileStore) -> dict[str, bytes]:
    """Return what is staged, and see that it is what is said of it."""
    found = {}
    for staged in store.staged(DEPOSIT):
        if staged.file is not None:
            found[staged.path] = read(store.open_staged(DEPOSIT, staged.path))
            sums = [hashlib.sha256(found[staged.path]), hashlib.sha512(found[staged.path])]
            assert [sum_.hexdigest() for sum_ in sums] == [staged.file.sha256, staged.file.sha512]
            assert staged.size == staged.file.size == len(found[staged.path])
    return found


# --- on their way in ------------------------------------------------------------------------------


def test_a_file_comes_in_pieces_and_is_described(store: FileTree) -> None:
    with store.receive(DEPOSIT, "a/Relatório.txt", 0) as sink:
        sink.write(b"one ")
        sink.write(b"two")
        found = sink.finish("text/plain", ("sha512", hashlib.sha512(b"one two").hexdigest()))
    expected = file("a/Relatório.txt", b"one two", found.modified)
    assert found == replace(expected, media_type="text/plain")
    assert store.staged(DEPOSIT) == [Staged("a/Relatório.txt", 7, found)]
    assert store.staged_file(DEPOSIT, "a/Relatório.txt") == Staged("a/Relatório.txt", 7, found)
    assert not store.unfinished(DEPOSIT)
    assert whole(store) == {"a/Relatório.txt": b"one two"}
    assert store.deposits() == [DEPOSIT]


def test_of_nothing_there_is_nothing(store: FileTree) -> None:
    assert store.staged("nobody") == []
    assert store.staged_file("nobody", "a") is None
    assert not store.unfinished("nobody")
    assert not store.unstage("nobody", "a")
    store.discard("nobody")
    with pytest.raises(UnknownError):
        store.open_staged("nobody", "a")
    with pytest.raises(UnknownError):
        store.open("a/b", "c")
    assert store.deposits() == []
    assert list(store.decided()) == []
    assert list(store.manifests()) == []


@pytest.mark.parametrize("deposit", ["../col", "..", "a/b", "", "change-1"])
def test_no_deposit_leads_out_of_the_folder(store: FileTree, deposit: str) -> None:
    with pytest.raises(UnknownError), store.receive(deposit, "a", 0):
        raise AssertionError
    with pytest.raises(UnknownError):
        store.discard(deposit)


@pytest.mark.parametrize("restart", [False, True])
def test_a_file_is_gone_on_with_where_it_broke(tmp_path: Path, *, restart: bool) -> None:
    store = FileTree(tmp_path)
    send_part(store, "x/big", b"0123")
    if restart:
        store = again(tmp_path)
    assert store.unfinished(DEPOSIT)
    assert store.staged(DEPOSIT) == [Staged("x/big", 4, None)]
    assert store.staged_file(DEPOSIT, "x/big") == Staged("x/big", 4, None)
    with pytest.raises(UnknownError):
        store.open_staged(DEPOSIT, "x/big")
    for wrong in (1, 3, 5):
        with pytest.raises(StateError, match="there are 4 bytes"):
            send_part(store, "x/big", b"?", wrong)
    with store.receive(DEPOSIT, "x/big", 4) as sink:
        sink.write(b"456")
        sink.finish("", ("sha256", hashlib.sha256(b"0123456").hexdigest()))
    assert whole(store) == {"x/big": b"0123456"}
    assert not store.unfinished(DEPOSIT)


def test_offset_0_begins_anew_and_replaces_what_is_whole(store: FileTree) -> None:
    send_part(store, "a", b"old old")
    send(store, "a", b"first")
    send_part(store, "a", b"sec")
    assert store.staged_file(DEPOSIT, "a") == Staged("a", 3, None)
    assert store.unfinished(DEPOSIT)
    send(store, "a", b"second")
    assert whole(store) == {"a": b"second"}


def test_a_wrong_checksum_removes_what_came_and_nothing_else(store: FileTree) -> None:
    send(store, "a", b"good")
    for content in (b"bad", b""):
        with pytest.raises(ChecksumError):
            send(store, "a", content, checksum=("sha256", hashlib.sha256(b"other").hexdigest()))
    assert whole(store) == {"a": b"good"}
    assert not store.unfinished(DEPOSIT)
    with pytest.raises(ChecksumError), store.receive(DEPOSIT, "b", 0) as sink:
        sink.finish("", ("sha512", ""))
    assert [staged.path for staged in store.staged(DEPOSIT)] == ["a"]


def test_a_file_is_taken_out_again_and_its_empty_folders_go_with_it(
    store: FileTree, tmp_path: Path
) -> None:
    send(store, "a/b/c", b"1")
    send(store, "a/d", b"2")
    send_part(store, "half", b"3")
    assert store.unstage(DEPOSIT, "a/b/c")
    assert store.unstage(DEPOSIT, "half")
    assert not store.unstage(DEPOSIT, "a/b/c")
    assert not store.unstage(DEPOSIT, "a")
    assert whole(store) == {"a/d": b"2"}
    assert not store.unfinished(DEPOSIT)
    assert store.unstage(DEPOSIT, "a/d")
    send(store, "a", b"a file where the folder was")
    assert contents(tmp_path / "incoming" / DEPOSIT / "files") == {
        "a": b"a file where the folder was"
    }


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a", "a/b/c"), ("a/b", "a")])
def test_what_cannot_lie_there_is_refused_before_it_comes(
    store: FileTree, first: str, second: str
) -> None:
    send(store, first, b"1")
    with pytest.raises(FileNameError), store.receive(DEPOSIT, second, 0):
        raise AssertionError
    assert whole(store) == {first: b"1"}
    assert not store.unfinished(DEPOSIT)


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a", "a/b/c"), ("a/b", "a")])
def test_what_comes_at_the_same_time_and_cannot_lie_there_is_refused(
    store: FileTree, first: str, second: str
) -> None:
    with store.receive(DEPOSIT, second, 0) as sink:
        send(store, first, b"1")
        with pytest.raises(FileNameError):
            sink.finish()
    store.unstage(DEPOSIT, second)
    assert whole(store) == {first: b"1"}
    assert not store.unfinished(DEPOSIT)


def test_nobody_else_writes_to_a_file_or_takes_it_away_meanwhile(store: FileTree) -> None:
    with store.receive(DEPOSIT, "a", 0) as sink:
        sink.write(b"mine")
        with pytest.raises(StateError, match="being received"):
            send(store, "a", b"theirs")
        with pytest.raises(StateError, match="being received"):
            store.unstage(DEPOSIT, "a")
        send(store, "b", b"beside")
        send(store, "a", b"elsewhere", "d2")
        sink.finish()
    assert whole(store) == {"a": b"mine", "b": b"beside"}


def test_a_sealed_deposit_is_left_alone(store: FileTree) -> None:
    send(store, "a", b"1")
    with store.sealed(DEPOSIT):
        for act in (
            lambda: send(store, "b", b"2"),
            lambda: store.unstage(DEPOSIT, "a"),
            lambda: store.sealed(DEPOSIT).__enter__(),
            lambda: store.busy(DEPOSIT).__enter__(),
        ):
            with pytest.raises(StateError):
                act()
        send(store, "b", b"2", "d2")
    with store.receive(DEPOSIT, "b", 0), pytest.raises(StateError), store.sealed(DEPOSIT):
        raise AssertionError
    with store.busy(DEPOSIT), pytest.raises(StateError), store.sealed(DEPOSIT):
        raise AssertionError
    with store.sealed(DEPOSIT):
        assert whole(store) == {"a": b"1"}


def test_many_write_at_once(store: FileTree) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                send(store, f"folder/{number}", b"%d" % number * 1000)
                send(store, f"gone/{number}/{turn}", b"")
                store.unstage(DEPOSIT, f"gone/{number}/{turn}")
        except BaseException as failure:  # noqa: BLE001  # whatever it is, the test tells it
            failures.append(failure)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert whole(store) == {f"folder/{number}": b"%d" % number * 1000 for number in range(4)}


def test_everything_of_a_deposit_is_discarded(store: FileTree, tmp_path: Path) -> None:
    send(store, "a/b", b"1")
    send_part(store, "c", b"2")
    send(store, "a", b"other", "d2")
    store.discard(DEPOSIT)
    assert store.deposits() == ["d2"]
    assert not (tmp_path / "incoming" / DEPOSIT).exists()
    send(store, "c", b"3")
    assert whole(store) == {"c": b"3"}


def every_step(act: Callable[[], object], prepare: Callable[[], None]) -> int:
    """Kill an act at each of its steps in turn, each time in a new place; return how many."""
    for last in range(1, 1000):
        prepare()
        with killed_at(last) as steps:
            try:
                act()
            except Killed:
                continue
        return steps.count
    raise AssertionError


@pytest.mark.parametrize("before", [None, b"before"])
def test_killed_anywhere_what_is_said_of_a_staged_file_is_true(
    tmp_path: Path, before: bytes | None
) -> None:
    """And whatever happens next, also the retry that fails by its checksum."""
    store = FileTree(tmp_path / "0")
    number = 0
    outcomes = set()

    def check() -> None:
        found = whole(again(tmp_path / str(number)))
        assert set(found) <= {"a/b"}
        here = again(tmp_path / str(number))
        if not here.unfinished(DEPOSIT):
            outcomes.add(found.get("a/b"))
            assert found.get("a/b") in {before, b"after", None}
        with pytest.raises(ChecksumError):
            send(here, "a/b", b"rest", checksum=("sha256", "0"))
        assert whole(here).get("a/b") in {before, b"after", None}
        send(here, "a/b", b"again")
        assert whole(here) == {"a/b": b"again"}
        assert not here.unfinished(DEPOSIT)

    def prepare() -> None:
        nonlocal store, number
        if number:
            check()
        number += 1
        store = FileTree(tmp_path / str(number))
        if before is not None:
            send(store, "a/b", before)

    assert every_step(lambda: send(store, "a/b", b"after"), prepare) > 10
    assert whole(again(tmp_path / str(number))) == {"a/b": b"after"}
    assert outcomes >= {before}


def test_a_full_disk_is_told_as_such_and_the_rest_is_sent_later(
    store: FileTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with store.receive(DEPOSIT, "a", 0) as sink:
        sink.write(b"0123")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError, match=r"incoming.*no space left"):
            sink.finish()
    monkeypatch.undo()
    assert store.staged_file(DEPOSIT, "a") == Staged("a", 4, None)
    with store.receive(DEPOSIT, "a", 4) as sink:
        sink.finish()
    assert whole(store) == {"a": b"0123"}


# --- what is decided ------------------------------------------------------------------------------

ITEM = forms(1)
PLACE = ITEM.label.spelling
OLD = {"kept": b"kept", "x/y": b"gone", "swap": b"file", "turn/in": b"folder", "new": b"old new"}
NEW = {"kept": b"kept", "new": b"new new", "n/m": b"came", "swap/in": b"folder", "turn": b"file"}
PUT = tuple(path for path in NEW if path != "kept")
REMOVED = ("x/y", "swap", "turn/in")


def change(
    files: dict[str, bytes], id_: str = "c1", *, at: int = 1, **item_change: object
) -> Change:
    item = Item(forms=ITEM, updated=at)
    known = tuple(file(path, content) for path, content in files.items())
    first = ItemChange(item=item, files=known, **item_change)  # type: ignore[arg-type]
    second = ItemChange(item=Item(forms=forms(2), kind="metadata", updated=at))
    return Change(
        id=id_,
        at=at,
        who="me",
        act="deposit",
        label=ITEM.label.canonical,
        items=(first, second),
        deposit=DEPOSIT if item_change.keys() & {"adopted", "put"} else "",
    )


def made(folder: Path, *, keep: bool = True) -> FileTree:
    """Return a store with one item."""
    store = FileTree(folder, keep_replaced=keep)
    for path, content in OLD.items():
        send(store, path, content)
    first = change(OLD, "c0", at=0, adopted=DEPOSIT)
    store.decide(first)
    store.finish(first.id)
    return store


def state(folder: Path) -> tuple[dict[str, bytes], dict[str, bytes], int]:
    """Return the files of the item, those kept of it, and when its manifest was written."""
    item, files = read_manifest((folder / "col" / PLACE / "ibi.json").read_bytes())
    doc = contents(folder / "col" / PLACE / "doc")
    assert {each.path: each.sha256 for each in files} == {
        path: hashlib.sha256(content).hexdigest() for path, content in doc.items()
    }
    return doc, contents(folder / "col" / PLACE / "old"), item.updated


def recover(folder: Path, *, keep: bool = True) -> list[str]:
    """Do what an archive does when it starts."""
    store = FileTree(folder, keep_replaced=keep)
    ids = []
    for stored in store.decided():
        assert stored.places == (PLACE, forms(2).label.spelling)
        for place in stored.places:
            read_manifest(store.manifest(place), place)
        store.finish(stored.id)
        ids.append(stored.id)
    assert list(store.decided()) == []
    assert tree(folder / "journal") == {"./": b""}
    left = [path for path in tree(folder / "incoming") if path.startswith("change-")]
    assert left == []
    return ids


def test_a_new_item_adopts_the_files_of_its_deposit(tmp_path: Path) -> None:
    store = made(tmp_path)
    assert state(tmp_path) == (OLD, {}, 0)
    assert read(store.open(PLACE, "x/y")) == b"gone"
    assert store.deposits() == []
    assert [place for place, _ in store.manifests()] == [PLACE, forms(2).label.spelling]
    for path in ("../ibi.json", "x", "nothing", "x/y/z"):
        with pytest.raises((UnknownError, FileNameError)):
            store.open(PLACE, path)


def revision(keep: bool) -> tuple[Change, dict[str, bytes]]:  # noqa: FBT001
    old = {f"c1/{path}": OLD[path] for path in (*REMOVED, "new")} if keep else {}
    return change(NEW, put=PUT, removed=REMOVED), old


@pytest.mark.parametrize("keep", [False, True])
def test_files_come_and_go_and_old_ones_are_kept_if_so_wished(
    tmp_path: Path, *, keep: bool
) -> None:
    """A file comes where a folder was and a folder where a file was, too."""
    store = made(tmp_path, keep=keep)
    for path in PUT:
        send(store, path, NEW[path])
    wanted, old = revision(keep)
    store.decide(wanted)
    store.finish(wanted.id)
    assert state(tmp_path) == (NEW, old, 1)
    assert store.deposits() == []


def test_a_file_system_without_second_names_keeps_old_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    test_files_come_and_go_and_old_ones_are_kept_if_so_wished(tmp_path, keep=True)


def test_all_files_of_a_deleted_item_go_also_those_that_were_replaced(tmp_path: Path) -> None:
    test_files_come_and_go_and_old_ones_are_kept_if_so_wished(tmp_path, keep=True)
    store = again(tmp_path)
    end = change({}, "c2", at=2, cleared=True)
    store.decide(end)
    store.finish(end.id)
    assert contents(tmp_path / "col" / PLACE) == {"ibi.json": store.manifest(PLACE)}
    assert tree(tmp_path / "incoming") == {"./": b""}


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill is no power cut: what the kernel has stays, synced or not. It saves a minute."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module", params=[False, True], ids=["forget", "keep"])
def template(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, bool]:
    """An item, and new files for it on their way."""
    folder = tmp_path_factory.mktemp("template")
    store = made(folder, keep=request.param)
    for path in PUT:
        send(store, path, NEW[path])
    return folder, request.param


def killed_everywhere(
    template: tuple[Path, bool], tmp_path: Path, wanted: Change
) -> list[tuple[bool, Path]]:
    """Kill the change at every step, of deciding and of finishing; return what came of each."""
    source, keep = template
    results = []
    for last in range(1, 2000):
        folder = tmp_path / str(last)
        shutil.copytree(source, folder)
        store = FileTree(folder, keep_replaced=keep)
        ended = False
        with killed_at(last):
            try:
                store.decide(wanted)
                store.finish(wanted.id)
                ended = True
            except Killed:
                pass
        is_decided = recover(folder, keep=keep) == [wanted.id]
        results.append((is_decided or ended, folder))
        if ended:
            return results
    raise AssertionError


@pytest.mark.usefixtures("unsynced")
def test_killed_anywhere_files_are_the_old_or_the_new_ones(
    template: tuple[Path, bool], tmp_path: Path
) -> None:
    source, keep = template
    wanted, old = revision(keep)
    results = killed_everywhere(template, tmp_path, wanted)
    assert len(results) > 60
    came = [(is_made, folder) for is_made, folder in results if state(folder) == (NEW, old, 1)]
    stayed = [(is_made, folder) for is_made, folder in results if state(folder) == (OLD, {}, 0)]
    assert len(came) + len(stayed) == len(results)
    # Between the last two steps the journal is empty: the change is there all the same.
    assert all(is_made for is_made, _ in came[:-3])
    assert not any(is_made for is_made, _ in stayed)
    assert stayed
    for _, folder in stayed:  # nothing of the deposit was lost
        assert whole(again(folder)) == whole(again(source))
        FileTree(folder, keep_replaced=keep).decide(wanted)
        assert recover(folder, keep=keep) == [wanted.id]
        assert state(folder) == (NEW, old, 1)
    for _, folder in came:
        assert tree(folder / "incoming") == {"./": b""}


@pytest.mark.usefixtures("unsynced")
def test_killed_anywhere_a_new_item_is_there_or_not(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("new")
    for path, content in OLD.items():
        send(FileTree(folder), path, content)
    wanted = change(OLD, at=0, adopted=DEPOSIT)
    results = killed_everywhere((folder, True), tmp_path, wanted)
    assert {is_made for is_made, _ in results} == {False, True}
    for _, place in results:
        if tree(place / "col") == {"./": b""}:
            assert whole(again(place)) == OLD
        else:
            assert state(place) == (OLD, {}, 0)
            assert tree(place / "incoming") == {"./": b""}


@pytest.mark.usefixtures("unsynced")
def test_killed_anywhere_an_item_is_deleted_or_not(
    template: tuple[Path, bool], tmp_path: Path
) -> None:
    results = killed_everywhere(template, tmp_path, change({}, "c2", at=2, cleared=True))
    states = [state(folder) for _, folder in results]
    stayed, went = states.count((OLD, {}, 0)), states.count(({}, {}, 2))
    assert stayed > 0 < went
    assert stayed + went == len(states)


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("stays", [False, True], ids=["once", "for good"])
def test_wherever_the_disk_fails_it_is_said_and_nothing_is_half_done(
    template: tuple[Path, bool], tmp_path: Path, *, stays: bool
) -> None:
    source, keep = template
    wanted, old = revision(keep)
    for last in range(1, 2000):
        folder = tmp_path / str(last)
        shutil.copytree(source, folder)
        store = FileTree(folder, keep_replaced=keep)
        with disk_fails_at(last, stays=stays) as steps:
            try:
                store.decide(wanted)
                store.finish(wanted.id)
            except StorageError as failure:
                assert "input/output error" in str(failure).lower()  # noqa: PT017
        recover(folder, keep=keep)
        assert state(folder) in [(NEW, old, 1), (OLD, {}, 0)]
        if steps.count < last:
            break
    assert last > 60


def test_a_damaged_journal_is_told(store: FileTree, tmp_path: Path) -> None:
    (tmp_path / "journal" / "c9.json").write_bytes(b'{"change": ')
    with pytest.raises(StorageError, match="journal is damaged"):
        list(store.decided())


def test_lists_of_reserved_labels_are_kept(store: FileTree, tmp_path: Path) -> None:
    assert list(store.reservations()) == []
    store.keep_reservations(b"one")
    store.keep_reservations(b"two")
    assert sorted(again(tmp_path).reservations()) == [b"one", b"two"]


def test_the_tree_of_another_item_is_no_part_of_one(store: FileTree, tmp_path: Path) -> None:
    """A label may go on where another ends; a file of an item may be called as a manifest is."""
    outer = tmp_path / "col" / "LK47B6W" / "362SFKH"
    inner = outer / "2009" / "09.09.22.01"
    for folder in (outer, inner):
        (folder / "doc" / "deep").mkdir(parents=True)
        (folder / "ibi.json").write_bytes(b"manifest")
        (folder / "doc" / "deep" / "ibi.json").write_bytes(b"a file")
    assert [place for place, _ in store.manifests()] == [
        "LK47B6W/362SFKH",
        "LK47B6W/362SFKH/2009/09.09.22.01",
    ]
