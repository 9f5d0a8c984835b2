"""Repairs in a tree of files: killed anywhere, a file is the damaged one or the whole one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from ibi.archive.storage.files.folder_store import FolderStore
from ibi.errors import StorageError
from tests.support.failures.syscalls import Killed, Steps, disk_fails_at, killed_at
from tests.support.scenes.small_archive import SmallArchive, contents, file, tree

PATH = "folder/a.txt"
WHOLE = file(PATH, b"whole", 12_345_678_901)
DEPOSIT = "d1"


@pytest.fixture
def template(tmp_path: Path) -> tuple[Path, str]:
    """Return the folder of an archive with a damaged file and manifest, and where they lie."""
    small = SmallArchive(tmp_path / "template")
    place = small.deposit({PATH: b"whole"}).item.forms.label.spelling
    small.close()
    (small.folder / "col" / place / "doc" / PATH).write_bytes(b"damaged")
    (small.folder / "col" / place / "ibi.json").write_bytes(b"damaged")
    return small.folder, place


def mend(store: FolderStore, place: str) -> None:
    with store.staging.busy(DEPOSIT):
        with store.staging.receive(DEPOSIT, PATH, 0) as sink:
            sink.write(b"whole")
            sink.finish()
        store.mend(place, WHOLE, DEPOSIT)
        store.discard(DEPOSIT)


def mend_manifest(store: FolderStore, place: str) -> None:
    store.mend_manifest(place, b"whole")


@pytest.mark.parametrize(
    ("act", "name"), [(mend, f"doc/{PATH}"), (mend_manifest, "ibi.json")], ids=["file", "manifest"]
)
@pytest.mark.parametrize("failing", [killed_at, disk_fails_at], ids=["killed", "failing"])
def test_interrupted_anywhere_it_is_the_damaged_or_the_whole_one(
    template: tuple[Path, str],
    tmp_path: Path,
    act: Callable[[FolderStore, str], None],
    name: str,
    failing: Callable[[int], AbstractContextManager[Steps]],
) -> None:
    source, place = template
    before = contents(source / "col")
    after = before | {f"{place}/{name}": b"whole"}
    outcomes = []
    for last in range(1, 1000):
        folder = tmp_path / str(last)
        shutil.copytree(source, folder)
        store = FolderStore(folder)
        ended = False
        with failing(last), suppress(Killed, StorageError):
            act(store, place)
            ended = True
        store = FolderStore(folder)
        assert list(store.decided()) == []
        store.discard(DEPOSIT)  # as those who sweep do
        assert tree(folder / "incoming") == {"./": b""}
        outcomes.append(contents(folder / "col"))
        if ended:
            break
    assert len(outcomes) > 5
    assert all(outcome in (before, after) for outcome in outcomes)
    assert outcomes[0] == before
    assert outcomes[-1] == after


def test_a_repaired_file_has_the_time_that_the_catalogue_knows(
    template: tuple[Path, str],
) -> None:
    folder, place = template
    mend(FolderStore(folder), place)
    path = folder / "col" / place / "doc" / PATH
    assert path.stat().st_mtime_ns == WHOLE.modified


@pytest.mark.parametrize("outside", ["file", "folder"])
def test_a_link_in_the_way_is_not_followed(
    template: tuple[Path, str], tmp_path: Path, outside: str
) -> None:
    folder, place = template
    doc = folder / "col" / place / "doc"
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_bytes(b"of somebody else")
    shutil.rmtree(doc / "folder")
    if outside == "folder":
        (doc / "folder").symlink_to(other)
        with pytest.raises(StorageError):
            mend(FolderStore(folder), place)
    else:
        (doc / "folder").mkdir()
        (doc / PATH).symlink_to(other / "a.txt")
        mend(FolderStore(folder), place)
        assert not (doc / PATH).is_symlink()
        assert (doc / PATH).read_bytes() == b"whole"
    assert (other / "a.txt").read_bytes() == b"of somebody else"


def test_keys_are_all_that_lies_there_links_among_them(template: tuple[Path, str]) -> None:
    folder, place = template
    store = FolderStore(folder)
    doc = folder / "col" / place / "doc"
    (doc / "leads").symlink_to("/etc")
    (doc / "nowhere").symlink_to("nothing")
    (doc / "empty").mkdir()
    expected = [
        f"{place}/ibi.json",
        *(f"{place}/doc/{name}" for name in ("leads", "nowhere", PATH)),
    ]
    assert sorted(store.keys(place)) == sorted(expected)
    assert set(expected) <= set(store.keys())
    assert list(store.keys("nowhere")) == []
    shutil.rmtree(folder / "col")
    with pytest.raises(StorageError):
        list(store.keys())
