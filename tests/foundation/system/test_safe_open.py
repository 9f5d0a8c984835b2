"""Files beneath a folder, and how the disk's troubles are told; attacks are in tests/attacks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ibi.errors import StorageError, StorageFullError
from ibi.foundation.system.safe_open import (
    create_beneath,
    fsync_folder,
    open_beneath,
    rename_durably,
    storage_errors,
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    with os.fdopen(create_beneath(tmp_path, ["a", "b", "ç"]), "wb") as file:
        file.write(b"data")
    fsync_folder(tmp_path)
    with os.fdopen(open_beneath(tmp_path, ["a", "b", "ç"]), "rb") as file:
        assert file.read() == b"data"
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    os.close(create_beneath(tmp_path, ["a"]))
    with pytest.raises(FileExistsError):
        create_beneath(tmp_path, ["a"])
    with pytest.raises(FileExistsError):
        create_beneath(tmp_path, ["a", "b"])


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    os.close(create_beneath(tmp_path / "root", ["a"]))
    assert (tmp_path / "real" / "a").exists()


def test_a_name_is_changed_at_once(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "folder" / "b").write_bytes(b"old")
    rename_durably(tmp_path / "a", tmp_path / "folder" / "b")
    assert (tmp_path / "folder" / "b").read_bytes() == b"new"
    assert not (tmp_path / "a").exists()
    with pytest.raises(FileNotFoundError):
        rename_durably(tmp_path / "a", tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        fsync_folder(tmp_path / "a")


def test_a_full_disk_is_told_from_a_broken_one(tmp_path: Path) -> None:
    with pytest.raises(StorageFullError), storage_errors(tmp_path):
        Path("/dev/full").write_bytes(b"data")
    with pytest.raises(StorageError) as broken, storage_errors(tmp_path):
        tmp_path.read_bytes()
    assert not isinstance(broken.value, StorageFullError)
    assert str(tmp_path) in str(broken.value)


def test_no_folder_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # only a number
    for parts in (["a", "b"], ["nothing"], ["a"], ["a", "b", "c"]):
        for function in (create_beneath, open_beneath):
            try:
                os.close(function(tmp_path, parts))
            except (FileExistsError, FileNotFoundError):
                continue
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208  # only a number
