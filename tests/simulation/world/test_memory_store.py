"""The file store in memory behaves as the real one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.archive.ports.file_store import FileStore, Staged, pieces_of
from ibi.archive.rules.manifest import read_kept
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.errors import ChecksumError, StateError, UnknownError
from tests.simulation.world.disks import Disk, MemoryDatabase
from tests.simulation.world.memory_store import MemoryStore
from tests.simulation.world.stored_tree import StoredTree
from tests.simulation.world.virtual_time import PROCESS, Process, VirtualLoop
from tests.support.scenes.small_archive import SmallArchive, TickingClock


@pytest.fixture
def process() -> Iterator[Process]:
    loop = VirtualLoop(lambda: 0.0)
    process = Process(loop, "test", lambda: None, lambda *_: None)
    token = PROCESS.set(process)
    yield process
    PROCESS.reset(token)
    loop.close()


def in_memory(folder: Path, tree: StoredTree) -> SmallArchive:
    """Return an archive of which nothing is in its folder."""
    database = MemoryDatabase("catalogue", ARCHIVE_MIGRATIONS)
    return SmallArchive(
        folder,
        catalogue=lambda _: sql_catalogue(database, quick=True),
        store=lambda: MemoryStore(tree, TickingClock()),
    )


@pytest.fixture
def both(tmp_path: Path, process: Process) -> Iterator[tuple[SmallArchive, SmallArchive]]:
    assert process.is_alive
    for name in ("real", "simulated"):
        (tmp_path / name).mkdir()
    real = SmallArchive(tmp_path / "real")
    tree = StoredTree()
    simulated = in_memory(tmp_path / "simulated", tree)
    with closing(real), closing(simulated):
        yield real, simulated


def shown(store: FileStore) -> dict[str, object]:
    """Return all that a store has, but for when it was written."""
    kept = {place: read_kept(text) for place, text in store.manifests()}
    items = {
        place: (each.item.forms, each.item.state, [replace(f, modified=0) for f in each.files])
        for place, each in kept.items()
    }
    octets = {
        (place, file.path): b"".join(pieces_of(store.open(place, file.path)))
        for place, each in kept.items()
        for file in each.files
    }
    keys = [key for place in kept for key in store.keys(place) if "/old/" not in key]
    return {"items": items, "octets": octets, "keys": sorted(keys)}


def test_both_have_the_same_after_the_same_acts(both: tuple[SmallArchive, SmallArchive]) -> None:
    seen = []
    for small in both:
        label = small.label({"a.txt": b"one", "b/c.txt": b"two"}, target="a.txt")
        small.deposit({"a.txt": b"three"}, item=label, remove=["b/c.txt"])
        gone = small.label({"d.txt": b"four"})
        small.archive.delete(gone, "me", "Nobody wants it.")
        small.open({"e.txt": b"on its way"})
        small.restart()
        found = shown(small.store)
        seen.append((found, len(small.store.staging.deposits()), list(small.store.decided())))
    assert seen[0] == seen[1]
    assert seen[0][0]["octets"]


def test_both_take_files_alike(both: tuple[SmallArchive, SmallArchive]) -> None:
    for small in both:
        store = small.store
        with store.staging.receive("d1", "a", 0) as sink:
            sink.write(b"012")
        assert store.staging.unfinished("d1")
        with pytest.raises(StateError), store.staging.receive("d1", "a", 2):
            raise AssertionError
        with (
            store.staging.receive("d1", "a", 3) as sink,
            pytest.raises(StateError),
            store.staging.sealed("d1"),
        ):
            raise AssertionError
        with store.staging.receive("d1", "a", 3) as sink:
            sink.write(b"345")
            file = sink.finish("", ("sha256", hashlib.sha256(b"012345").hexdigest()))
        assert (file.size, store.staging.unfinished("d1")) == (6, False)
        with pytest.raises(ChecksumError), store.staging.receive("d1", "b", 0) as sink:
            sink.finish("", ("sha256", "0"))
        assert [each.path for each in store.staging.staged("d1")] == ["a"]
        with store.staging.receive("d1", "a", 0) as sink:
            sink.write(b"breaks off")
        assert store.staging.staged("d1") == [Staged("a", 6, file)]
        with store.staging.receive("d1", "a", 0) as sink:
            sink.write(b"01")
            sink.suspend()
        assert store.staging.staged("d1") == [Staged("a", 2, None)]
        assert store.staging.unstage("d1", "a")
        assert not store.staging.unstage("d1", "a")
        store.discard("d1")
        assert store.staging.deposits() == []
        with pytest.raises(UnknownError):
            store.open("nowhere", "a")


def test_what_was_decided_is_carried_out_after_a_crash_at_any_write(tmp_path: Path) -> None:
    """Whole or not at all, wherever the power fails; and what was said to be kept is kept."""
    for last in range(200):
        if _crashed_after(last, tmp_path / str(last)) is None:
            assert last > 10
            return
    raise AssertionError


class _PowerError(Exception):
    """There is none."""


def _crashed_after(writes: int, folder: Path) -> bool | None:
    """Return whether an item is there after a crash; None if there was none."""
    folder.mkdir()
    tree = StoredTree()
    loop = VirtualLoop(lambda: 0.0)

    def crash() -> None:
        raise _PowerError

    disk = Disk("disk", crash)
    token = PROCESS.set(Process(loop, "test", disk.write, lambda *_: None))
    crashed = True
    try:
        small = in_memory(folder, tree)
        disk.writes_left = writes
        try:
            small.label({"a": b"one", "b": b"two"}, target="a")
            crashed = False
        except _PowerError:
            tree.lose_power()
        disk.writes_left = None
        small.restart()
        places = dict(small.store.manifests())
        held = small.catalogue.items.page(0, 10, "data")
        assert [each.item.forms.label.spelling for each in held] == [
            place for place in places if tree.items[place]
        ]
        for each in held:
            assert {*tree.items[each.item.forms.label.spelling]} == {"a", "b"}
        assert not tree.journal
        small.close()
        return bool(held) if crashed else None
    finally:
        PROCESS.reset(token)
        loop.close()
