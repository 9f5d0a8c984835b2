"""The lock of an instance, when workers have it whose supervisor is gone."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.errors import InstanceHeldError
from ibi.foundation.system import instance_lock


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that a worker has locked, as far as it inherits locks."""
    tmp_path.chmod(0o700)
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield tmp_path


def test_the_wait_has_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_lock, "WORKERS_END_SECONDS", 0.0)
    said: list[str] = []
    with (
        pytest.raises(InstanceHeldError, match="whose supervisor was killed still use"),
        instance_lock.held(folder, said.append),
    ):
        raise AssertionError
    [sentence] = said
    assert str(folder) in sentence


def test_a_caller_that_does_not_wait_is_refused(folder: Path) -> None:
    with pytest.raises(InstanceHeldError, match="served already"), instance_lock.held(folder):
        raise AssertionError
