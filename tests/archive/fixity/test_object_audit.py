"""An audit of files in an object store: the same damage, and the same repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.archive.storage.files.folder_store import FolderStore
from ibi.errors import StorageError
from tests.support.failures.disk_damage import RepairSources, audited, damaged, result
from tests.support.failures.syscalls import disk_fails_at
from tests.support.scenes.file_stores import ObjectStoreSetup
from tests.support.scenes.small_archive import SmallArchive, contents
from tests.support.servers.object_store import ObjectServer

FILES = {"a.txt": b"one", "folder/b.bin": bytes(range(256)) * 5000, "empty": b""}
COPIES = "http://copies.example.org"


def test_objects_are_checked_and_repaired(object_server: ObjectServer, tmp_path: Path) -> None:
    ground = ObjectStoreSetup(tmp_path / "here", object_server)
    small = SmallArchive(ground.folder, store=ground.store)
    place = small.deposit(FILES, target="a.txt").item.forms.label.spelling
    label = small.archive.get(place).item.forms.label.canonical
    before = ground.contents("col")
    copies = tmp_path / "copies"
    for key, content in before.items():
        path = copies / "col" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert result(audited(small))["damaged"] == 0
    flipped = bytearray(FILES["folder/b.bin"])
    flipped[-1] ^= 1
    ground.put(f"col/{place}/doc/folder/b.bin", bytes(flipped))
    ground.put(f"col/{place}/doc/a.txt", b"more than one")
    ground.put(f"col/{place}/doc/stray", b"x")
    ground.put(f"col/{place}/ibi.json", before[f"{place}/ibi.json"].replace(b"a.txt", b"e.txt"))
    audited(small)
    names = {"doc/folder/b.bin", "doc/a.txt", "doc/stray", "ibi.json"}
    assert set(damaged(small)) == {f"{label}/{name}" for name in names}
    task = audited(small, RepairSources({COPIES: FolderStore(copies)}), repair=True)
    assert (result(task)["damaged"], result(task)["repaired"]) == (1, 3)
    assert set(damaged(small)) == {f"{label}/doc/stray"}
    assert ground.contents("col") == before | {f"{place}/doc/stray": b"x"}
    small.close()
    assert contents(copies / "col") == before


def test_a_store_that_does_not_answer_is_not_taken_for_damage(
    object_server: ObjectServer, tmp_path: Path
) -> None:
    ground = ObjectStoreSetup(tmp_path, object_server)
    small = SmallArchive(ground.folder, store=ground.store)
    small.deposit(FILES, target="a.txt")
    with disk_fails_at(1, ground.failing, stays=True), pytest.raises(StorageError):
        audited(small)
    assert damaged(small) == {}
    assert result(audited(small))["damaged"] == 0
    small.close()
