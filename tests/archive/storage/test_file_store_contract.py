"""Files on their way in, and changes that are decided: whole, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.archive.ports.file_store import FileStore, OpenFile, Staged, pieces_of
from ibi.archive.rules.manifest import read_manifest
from ibi.archive.storage.files.folder_store import FolderStore
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
from tests.support.failures.syscalls import Killed, disk_fails_at, killed_at
from tests.support.scenes.file_stores import AStore, FolderSetup, ObjectStoreSetup, StoreSetup
from tests.support.scenes.small_archive import SmallArchive, contents, file, forms, tree

DEPOSIT = "d1"


@pytest.fixture(params=["folder", "objects"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSetup:
    if request.param == "folder":
        return FolderSetup(tmp_path)
    return ObjectStoreSetup(tmp_path, request.getfixturevalue("object_server"))


@pytest.fixture
def store(ground: StoreSetup) -> AStore:
    return ground.store()


def again(tmp_path: Path) -> FolderStore:
    """Return the same store, as after a restart."""
    return FolderStore(tmp_path)


def send(
    store: FileStore,
    path: str,
    content: bytes,
    deposit: str = DEPOSIT,
    checksum: tuple[str, str] | None = None,
) -> None:
    with store.staging.receive(deposit, path, 0) as sink:
        sink.write(content)
        sink.finish("", checksum)


def send_part(store: FileStore, path: str, content: bytes, offset: int = 0) -> None:
    with store.staging.receive(DEPOSIT, path, offset) as sink:
        sink.write(content)


def read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read()


def read_all(file: OpenFile) -> bytes:
    with closing(file):
        return b"".join(pieces_of(file, count=3))


def whole(store: FileStore) -> dict[str, bytes]:
    """Return what is staged, and see that it is what is said of it."""
    found = {}
    for staged in store.staging.staged(DEPOSIT):
        if staged.file is not None:
            found[staged.path] = read(store.staging.open_staged(DEPOSIT, staged.path))
            sums = [hashlib.sha256(found[staged.path]), hashlib.sha512(found[staged.path])]
            assert [sum_.hexdigest() for sum_ in sums] == [staged.file.sha256, staged.file.sha512]
            assert staged.size == staged.file.size == len(found[staged.path])
    return found


# --- on their way in ------------------------------------------------------------------------------


def test_a_file_comes_in_pieces_and_is_described(store: AStore) -> None:
    with store.staging.receive(DEPOSIT, "a/Relatório.txt", 0) as sink:
        sink.write(b"one ")
        sink.write(b"two")
        found = sink.finish("text/plain", ("sha512", hashlib.sha512(b"one two").hexdigest()))
    expected = file("a/Relatório.txt", b"one two", found.modified)
    assert found == replace(expected, media_type="text/plain")
    assert store.staging.staged(DEPOSIT) == [Staged("a/Relatório.txt", 7, found)]
    assert store.staging.staged_file(DEPOSIT, "a/Relatório.txt") == Staged(
        "a/Relatório.txt", 7, found
    )
    assert not store.staging.unfinished(DEPOSIT)
    assert whole(store) == {"a/Relatório.txt": b"one two"}
    assert store.staging.deposits() == [DEPOSIT]


def test_of_nothing_there_is_nothing(store: AStore) -> None:
    assert store.staging.staged("nobody") == []
    assert store.staging.staged_file("nobody", "a") is None
    assert not store.staging.unfinished("nobody")
    assert not store.staging.unstage("nobody", "a")
    store.discard("nobody")
    with pytest.raises(UnknownError):
        store.staging.open_staged("nobody", "a")
    with pytest.raises(UnknownError):
        store.open("a/b", "c")
    assert store.staging.deposits() == []
    assert list(store.decided()) == []
    assert list(store.manifests()) == []


def test_a_staged_file_may_vanish_while_it_is_looked_for(
    store: AStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request removes it after its facts were found, before they are read."""
    read_bytes = Path.read_bytes

    def vanish(path: Path) -> bytes:
        monkeypatch.setattr(Path, "read_bytes", read_bytes)
        store.staging.unstage(DEPOSIT, "a")
        return read_bytes(path)

    send(store, "a", b"one")
    monkeypatch.setattr(Path, "read_bytes", vanish)
    assert store.staging.staged(DEPOSIT) == []
    send(store, "a", b"one")
    monkeypatch.setattr(Path, "read_bytes", vanish)
    assert store.staging.staged_file(DEPOSIT, "a") is None
    send(store, "a", b"one")
    monkeypatch.setattr(Path, "read_bytes", vanish)
    with pytest.raises(UnknownError):
        store.staging.open_staged(DEPOSIT, "a")


@pytest.mark.parametrize("deposit", ["../col", "..", "a/b", "", "change-1"])
def test_no_deposit_leads_out_of_the_folder(store: AStore, deposit: str) -> None:
    with pytest.raises(UnknownError), store.staging.receive(deposit, "a", 0):
        raise AssertionError
    with pytest.raises(UnknownError):
        store.discard(deposit)


def test_the_path_of_a_part_is_written_once(tmp_path: Path) -> None:
    """A kill while it is written again would empty it, and nothing would list the part."""
    store = FolderStore(tmp_path)
    send_part(store, "x/big", b"0123")
    [name] = tmp_path.rglob("names/*")
    os.utime(name, (0, 0))
    send_part(store, "x/big", b"45", 4)
    assert name.stat().st_mtime_ns == 0
    name.write_text("x", "utf-8")  # of an archive that was killed just then
    assert store.staging.staged(DEPOSIT) == []
    send_part(store, "x/big", b"6", 6)
    assert store.staging.staged(DEPOSIT) == [Staged("x/big", 7, None)]


@pytest.mark.parametrize("restart", [False, True])
def test_a_file_is_gone_on_with_where_it_broke(tmp_path: Path, *, restart: bool) -> None:
    store = FolderStore(tmp_path)
    send_part(store, "x/big", b"0123")
    if restart:
        store = again(tmp_path)
    assert store.staging.unfinished(DEPOSIT)
    assert store.staging.staged(DEPOSIT) == [Staged("x/big", 4, None)]
    assert store.staging.staged_file(DEPOSIT, "x/big") == Staged("x/big", 4, None)
    with pytest.raises(UnknownError):
        store.staging.open_staged(DEPOSIT, "x/big")
    for wrong in (1, 3, 5):
        with pytest.raises(StateError, match="there are 4 bytes"):
            send_part(store, "x/big", b"?", wrong)
    with store.staging.receive(DEPOSIT, "x/big", 4) as sink:
        sink.write(b"456")
        sink.finish("", ("sha256", hashlib.sha256(b"0123456").hexdigest()))
    assert whole(store) == {"x/big": b"0123456"}
    assert not store.staging.unfinished(DEPOSIT)


def test_offset_0_begins_anew_and_replaces_what_is_whole(store: AStore) -> None:
    send_part(store, "a", b"old old")
    send(store, "a", b"first")
    send(store, "a", b"second")
    assert whole(store) == {"a": b"second"}
    assert not store.staging.unfinished(DEPOSIT)


@pytest.mark.parametrize("restart", [False, True])
def test_what_is_whole_stays_if_its_replacement_breaks_off(
    tmp_path: Path, *, restart: bool
) -> None:
    store = FolderStore(tmp_path)
    send(store, "a", b"first")
    send_part(store, "a", b"sec")
    for last in range(1, 10):
        with suppress(Killed), killed_at(last):
            send_part(store, "a", b"killed")
    if restart:
        store = again(tmp_path)
    assert whole(store) == {"a": b"first"}
    assert not store.staging.unfinished(DEPOSIT)
    with pytest.raises(StateError, match="there are 0 bytes"):
        send_part(store, "a", b"ond", 3)


def test_a_replacement_whose_rest_will_follow_is_waited_for(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    send(store, "a", b"first")
    with store.staging.receive(DEPOSIT, "a", 0) as sink:
        sink.write(b"sec")
        sink.suspend()
    send_part(store, "a", b"breaks off")
    for here in (store, again(tmp_path)):
        assert here.staging.staged_file(DEPOSIT, "a") == Staged("a", 3, None)
        assert here.staging.staged(DEPOSIT) == [Staged("a", 3, None)]
        assert here.staging.unfinished(DEPOSIT)
    with store.staging.receive(DEPOSIT, "a", 3) as sink:
        sink.write(b"ond")
        sink.finish("", ("sha256", hashlib.sha256(b"second").hexdigest()))
    assert whole(store) == {"a": b"second"}


def test_a_wrong_checksum_removes_what_came_and_nothing_else(store: AStore) -> None:
    send(store, "a", b"good")
    for content in (b"bad", b""):
        with pytest.raises(ChecksumError):
            send(store, "a", content, checksum=("sha256", hashlib.sha256(b"other").hexdigest()))
    assert whole(store) == {"a": b"good"}
    assert not store.staging.unfinished(DEPOSIT)
    with pytest.raises(ChecksumError), store.staging.receive(DEPOSIT, "b", 0) as sink:
        sink.finish("", ("sha512", ""))
    assert [staged.path for staged in store.staging.staged(DEPOSIT)] == ["a"]


def test_a_file_is_taken_out_again_and_its_empty_folders_go_with_it(
    store: AStore, tmp_path: Path
) -> None:
    send(store, "a/b/c", b"1")
    send(store, "a/d", b"2")
    send_part(store, "half", b"3")
    assert store.staging.unstage(DEPOSIT, "a/b/c")
    assert store.staging.unstage(DEPOSIT, "half")
    assert not store.staging.unstage(DEPOSIT, "a/b/c")
    assert not store.staging.unstage(DEPOSIT, "a")
    assert whole(store) == {"a/d": b"2"}
    assert not store.staging.unfinished(DEPOSIT)
    assert store.staging.unstage(DEPOSIT, "a/d")
    send(store, "a", b"a file where the folder was")
    assert contents(tmp_path / "incoming" / DEPOSIT / "files") == {
        "a": b"a file where the folder was"
    }


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a", "a/b/c"), ("a/b", "a")])
def test_what_cannot_lie_there_is_refused_before_it_comes(
    store: AStore, first: str, second: str
) -> None:
    send(store, first, b"1")
    with pytest.raises(FileNameError), store.staging.receive(DEPOSIT, second, 0):
        raise AssertionError
    assert whole(store) == {first: b"1"}
    assert not store.staging.unfinished(DEPOSIT)


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a", "a/b/c"), ("a/b", "a")])
def test_what_comes_at_the_same_time_and_cannot_lie_there_is_refused(
    store: AStore, first: str, second: str
) -> None:
    with store.staging.receive(DEPOSIT, second, 0) as sink:
        send(store, first, b"1")
        with pytest.raises(FileNameError):
            sink.finish()
    store.staging.unstage(DEPOSIT, second)
    assert whole(store) == {first: b"1"}
    assert not store.staging.unfinished(DEPOSIT)


def test_nobody_else_writes_to_a_file_or_takes_it_away_meanwhile(store: AStore) -> None:
    with store.staging.receive(DEPOSIT, "a", 0) as sink:
        sink.write(b"mine")
        with pytest.raises(StateError, match="being received"):
            send(store, "a", b"theirs")
        with pytest.raises(StateError, match="being received"):
            store.staging.unstage(DEPOSIT, "a")
        send(store, "b", b"beside")
        send(store, "a", b"elsewhere", "d2")
        sink.finish()
    assert whole(store) == {"a": b"mine", "b": b"beside"}


def test_a_sealed_deposit_is_left_alone(store: AStore) -> None:
    send(store, "a", b"1")
    with store.staging.sealed(DEPOSIT):
        for act in (
            lambda: send(store, "b", b"2"),
            lambda: store.staging.unstage(DEPOSIT, "a"),
            lambda: store.staging.sealed(DEPOSIT).__enter__(),
            lambda: store.staging.busy(DEPOSIT).__enter__(),
        ):
            with pytest.raises(StateError):
                act()
        send(store, "b", b"2", "d2")
    with (
        store.staging.receive(DEPOSIT, "b", 0),
        pytest.raises(StateError),
        store.staging.sealed(DEPOSIT),
    ):
        raise AssertionError
    with store.staging.busy(DEPOSIT), pytest.raises(StateError), store.staging.sealed(DEPOSIT):
        raise AssertionError
    with store.staging.sealed(DEPOSIT):
        assert whole(store) == {"a": b"1"}


def test_many_write_at_once(store: AStore) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                send(store, f"folder/{number}", b"%d" % number * 1000)
                send(store, f"gone/{number}/{turn}", b"")
                store.staging.unstage(DEPOSIT, f"gone/{number}/{turn}")
        except BaseException as failure:  # noqa: BLE001  # whatever it is, the test tells it
            failures.append(failure)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert whole(store) == {f"folder/{number}": b"%d" % number * 1000 for number in range(4)}


def test_everything_of_a_deposit_is_discarded(store: AStore, tmp_path: Path) -> None:
    send(store, "a/b", b"1")
    send_part(store, "c", b"2")
    send(store, "a", b"other", "d2")
    store.discard(DEPOSIT)
    assert store.staging.deposits() == ["d2"]
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
    store = FolderStore(tmp_path / "0")
    number = 0
    outcomes = set()

    def check() -> None:
        found = whole(again(tmp_path / str(number)))
        assert set(found) <= {"a/b"}
        here = again(tmp_path / str(number))
        if not here.staging.unfinished(DEPOSIT):
            outcomes.add(found.get("a/b"))
            assert found.get("a/b") in {before, b"after"}
        with pytest.raises(ChecksumError):
            send(here, "a/b", b"rest", checksum=("sha256", "0"))
        assert whole(here).get("a/b") in {before, b"after", None}
        send(here, "a/b", b"again")
        assert whole(here) == {"a/b": b"again"}
        assert not here.staging.unfinished(DEPOSIT)

    def prepare() -> None:
        nonlocal store, number
        if number:
            check()
        number += 1
        store = FolderStore(tmp_path / str(number))
        if before is not None:
            send(store, "a/b", before)

    assert every_step(lambda: send(store, "a/b", b"after"), prepare) > 10
    assert whole(again(tmp_path / str(number))) == {"a/b": b"after"}
    assert outcomes >= {before}


def test_a_full_disk_is_told_as_such_and_the_rest_is_sent_later(
    store: AStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with store.staging.receive(DEPOSIT, "a", 0) as sink:
        sink.write(b"0123")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError, match=r"incoming.*no space left"):
            sink.finish()
    monkeypatch.undo()
    assert store.staging.staged_file(DEPOSIT, "a") == Staged("a", 4, None)
    with store.staging.receive(DEPOSIT, "a", 4) as sink:
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


def made(ground: StoreSetup, *, keep: bool = True) -> AStore:
    """Return a store with one item."""
    store = ground.store(keep=keep)
    for path, content in OLD.items():
        send(store, path, content)
    first = change(OLD, "c0", at=0, adopted=DEPOSIT)
    store.decide(first)
    store.finish(first.id)
    return store


def state(ground: StoreSetup) -> tuple[dict[str, bytes], dict[str, bytes], int]:
    """Return the files of the item, those kept of it, and when its manifest was written."""
    item, files = read_manifest(ground.store().manifest(PLACE))
    doc = ground.contents(f"col/{PLACE}/doc")
    assert {each.path: each.sha256 for each in files} == {
        path: hashlib.sha256(content).hexdigest() for path, content in doc.items()
    }
    return doc, ground.contents(f"col/{PLACE}/old"), item.updated


def recover(ground: StoreSetup, *, keep: bool = True) -> list[str]:
    """Do what an archive does when it starts."""
    store = ground.store(keep=keep)
    ids = []
    for stored in store.decided():
        assert stored.places == (PLACE, forms(2).label.spelling)
        for place in stored.places:
            read_manifest(store.manifest(place), place)
        store.finish(stored.id)
        ids.append(stored.id)
    assert list(store.decided()) == []
    assert ground.contents("journal") == {}
    assert ground.left() == []
    return ids


def test_a_new_item_adopts_the_files_of_its_deposit(ground: StoreSetup) -> None:
    store = made(ground)
    assert state(ground) == (OLD, {}, 0)
    with closing(store.open(PLACE, "x/y")) as opened:
        assert (opened.size, opened.read(1, 2), opened.read(2, 9)) == (4, b"on", b"ne")
    assert read_all(store.open(PLACE, "x/y")) == b"gone"
    assert store.staging.deposits() == []
    assert [place for place, _ in store.manifests()] == [PLACE, forms(2).label.spelling]
    for path in ("../ibi.json", "x", "nothing", "x/y/z", "x//y", "./new"):
        with pytest.raises((UnknownError, FileNameError)):
            store.open(PLACE, path)


def revision(keep: bool) -> tuple[Change, dict[str, bytes]]:  # noqa: FBT001
    old = {f"c1/{path}": OLD[path] for path in (*REMOVED, "new")} if keep else {}
    return change(NEW, put=PUT, removed=REMOVED), old


@pytest.mark.parametrize("keep", [False, True])
def test_files_come_and_go_and_old_ones_are_kept_if_so_wished(
    ground: StoreSetup, *, keep: bool
) -> None:
    """A file comes where a folder was and a folder where a file was, too."""
    store = made(ground, keep=keep)
    for path in PUT:
        send(store, path, NEW[path])
    wanted, old = revision(keep)
    store.prepare(wanted)
    assert read_manifest(store.manifest(PLACE))[0].updated == 0
    store.decide(wanted)
    store.finish(wanted.id)
    assert state(ground) == (NEW, old, 1)
    assert store.staging.deposits() == []


def test_a_file_system_without_second_names_keeps_old_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    test_files_come_and_go_and_old_ones_are_kept_if_so_wished(FolderSetup(tmp_path), keep=True)


def test_all_files_of_a_deleted_item_go_also_those_that_were_replaced(ground: StoreSetup) -> None:
    test_files_come_and_go_and_old_ones_are_kept_if_so_wished(ground, keep=True)
    store = ground.store()
    end = change({}, "c2", at=2, cleared=True)
    store.decide(end)
    store.finish(end.id)
    assert ground.contents(f"col/{PLACE}") == {"ibi.json": store.manifest(PLACE)}
    assert ground.left() == []
    assert tree(ground.folder / "incoming") == {"./": b""}


def test_of_a_dropped_item_nothing_is_left(ground: StoreSetup) -> None:
    store = made(ground)
    end = change({}, "c2", at=2, dropped=True)
    store.decide(end)
    store.finish(end.id)
    assert ground.contents(f"col/{PLACE}") == {}
    assert [place for place, _ in store.manifests()] == [forms(2).label.spelling]


def test_whoever_reads_learns_the_time_that_a_file_came(store: AStore) -> None:
    send(store, "a", b"1")
    [staged] = store.staging.staged(DEPOSIT)
    assert staged.file is not None
    wanted = change({"a": b"1"}, adopted=DEPOSIT)
    first = replace(wanted.items[0], files=(staged.file,))
    store.decide(replace(wanted, items=(first, *wanted.items[1:])))
    with closing(store.open(PLACE, "a")) as opened:
        assert (opened.size, opened.modified) == (1, staged.file.modified)


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill is no power cut: what the kernel has stays, synced or not. It saves a minute."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(
    scope="module",
    params=[
        ("folder", False),
        ("folder", True),
        pytest.param(("objects", False), marks=pytest.mark.long),
        ("objects", True),
    ],
    ids=["folder-forget", "folder-keep", "objects-forget", "objects-keep"],
)
def template(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StoreSetup, bool]:
    """An item, and new files for it on their way."""
    kind, keep = request.param
    folder = tmp_path_factory.mktemp("template")
    ground: StoreSetup = FolderSetup(folder)
    if kind == "objects":
        ground = ObjectStoreSetup(folder, request.getfixturevalue("object_server"))
    store = made(ground, keep=keep)
    for path in PUT:
        send(store, path, NEW[path])
    return ground, keep


def killed_everywhere(
    template: tuple[StoreSetup, bool], tmp_path: Path, wanted: Change
) -> list[tuple[bool, StoreSetup]]:
    """Kill the change at every step, of deciding and of finishing; return what came of each."""
    source, keep = template
    results = []
    for last in range(1, 2000):
        ground = source.copied(tmp_path / str(last))
        store = ground.store(keep=keep)
        ended = False
        with killed_at(last, ground.steps):
            try:
                store.decide(wanted)
                store.finish(wanted.id)
                ended = True
            except Killed:
                pass
        is_decided = recover(ground, keep=keep) == [wanted.id]
        results.append((is_decided or ended, ground))
        if ended:
            return results
    raise AssertionError


@pytest.mark.usefixtures("unsynced")
def test_killed_anywhere_files_are_the_old_or_the_new_ones(
    template: tuple[StoreSetup, bool], tmp_path: Path
) -> None:
    source, keep = template
    wanted, old = revision(keep)
    results = killed_everywhere(template, tmp_path, wanted)
    assert len(results) > source.least
    found = [(is_made, ground, state(ground)) for is_made, ground in results]
    came = [(is_made, ground) for is_made, ground, seen in found if seen == (NEW, old, 1)]
    stayed = [(is_made, ground) for is_made, ground, seen in found if seen == (OLD, {}, 0)]
    assert len(came) + len(stayed) == len(results)
    # Between the last two steps the journal is empty: the change is there all the same.
    assert all(is_made for is_made, _ in came[:-3])
    assert not any(is_made for is_made, _ in stayed)
    assert stayed
    for _, ground in stayed:  # nothing of the deposit was lost
        assert whole(ground.store()) == whole(source.store())
        ground.store(keep=keep).decide(wanted)
        assert recover(ground, keep=keep) == [wanted.id]
        assert state(ground) == (NEW, old, 1)
    for _, ground in came:
        assert ground.left() == []
        assert tree(ground.folder / "incoming") == {"./": b""}


@pytest.mark.usefixtures("unsynced")
def test_killed_anywhere_a_new_item_is_there_or_not(
    ground: StoreSetup, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for path, content in OLD.items():
        send(ground.store(), path, content)
    wanted = change(OLD, at=0, adopted=DEPOSIT)
    results = killed_everywhere((ground, True), tmp_path_factory.mktemp("new"), wanted)
    assert {is_made for is_made, _ in results} == {False, True}
    for _, place in results:
        if place.contents("col") == {}:
            assert whole(place.store()) == OLD
        else:
            assert state(place) == (OLD, {}, 0)
            assert tree(place.folder / "incoming") == {"./": b""}


@pytest.mark.usefixtures("unsynced")
def test_killed_anywhere_an_item_is_deleted_or_not(
    template: tuple[StoreSetup, bool], tmp_path: Path
) -> None:
    results = killed_everywhere(template, tmp_path, change({}, "c2", at=2, cleared=True))
    states = [state(ground) for _, ground in results]
    stayed, went = states.count((OLD, {}, 0)), states.count(({}, {}, 2))
    assert stayed > 0 < went
    assert stayed + went == len(states)


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("stays", [False, True], ids=["once", "for good"])
def test_wherever_the_disk_fails_it_is_said_and_nothing_is_half_done(
    template: tuple[StoreSetup, bool], tmp_path: Path, *, stays: bool
) -> None:
    source, keep = template
    wanted, old = revision(keep)
    for last in range(1, 2000):
        ground = source.copied(tmp_path / str(last))
        store = ground.store(keep=keep)
        with disk_fails_at(last, ground.failing, stays=stays) as steps:
            try:
                store.decide(wanted)
                store.finish(wanted.id)
            except StorageError as failure:
                assert "input/output error" in str(failure).lower()  # noqa: PT017
        recover(ground, keep=keep)
        assert state(ground) in [(NEW, old, 1), (OLD, {}, 0)]
        if steps.count < last:
            break
    assert last > source.least


def test_a_damaged_journal_is_told(ground: StoreSetup) -> None:
    ground.store()
    ground.put("journal/c9.json", b'{"change": ')
    with pytest.raises(StorageError, match="journal is damaged"):
        list(ground.store().decided())


def test_lists_of_reserved_labels_are_kept(ground: StoreSetup) -> None:
    store = ground.store()
    assert list(store.reservations()) == []
    store.keep_reservations(b"one")
    store.keep_reservations(b"two")
    assert sorted(ground.store().reservations()) == [b"one", b"two"]


def test_the_tree_of_another_item_is_no_part_of_one(ground: StoreSetup) -> None:
    """A label may go on where another ends; a file of an item may be called as a manifest is."""
    outer = "LK47B6W/362SFKH"
    inner = f"{outer}/2009/09.09.22.01"
    for place in (outer, inner):
        ground.put(f"col/{place}/ibi.json", b"manifest")
        ground.put(f"col/{place}/doc/deep/ibi.json", b"a file")
        ground.put(f"col/{place}/old/c1/ibi.json", b"a file that was replaced")
    found = sorted(ground.store().manifests())
    assert found == [(outer, b"manifest"), (inner, b"manifest")]


def test_a_file_is_put_right_without_a_trace_of_the_damaged_one(ground: StoreSetup) -> None:
    store = made(ground)
    ground.put(f"col/{PLACE}/doc/x/y", b"damaged")
    known = file("x/y", b"gone")
    send(store, "x/y", b"gone")
    store.mend(PLACE, known, DEPOSIT)
    store.discard(DEPOSIT)
    text = store.manifest(PLACE)
    store.mend_manifest(PLACE, b"anew")
    assert store.manifest(PLACE) == b"anew"
    store.mend_manifest(PLACE, text)
    assert state(ground) == (OLD, {}, 0)
    with closing(store.open(PLACE, "x/y")) as opened:
        assert opened.modified == known.modified
    keys = [key for key in store.keys(PLACE) if key.startswith(f"{PLACE}/doc/")]
    assert sorted(keys) == sorted(f"{PLACE}/doc/{path}" for path in OLD)


def test_an_item_whose_label_another_has_takes_nothing_of_its_place(ground: StoreSetup) -> None:
    small = SmallArchive(ground.folder, store=ground.store)
    label = small.label({"a": b"precious"})
    small.archive.mint = lambda count: [forms(1), forms(77)][:count]
    with pytest.raises(StateError, match="no label is given twice"):
        small.label({"a": b"an intruder", "b": b"more"}, target="a")
    small.restart()
    assert read_all(small.store.open(label, "a")) == b"precious"
    assert set(ground.contents(f"col/{label}")) == {"doc/a", "ibi.json"}
    assert ground.left() == []
    small.close()
