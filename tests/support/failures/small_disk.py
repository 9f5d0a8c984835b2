"""A real small disk that can be filled, and emptied again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

_SIZE: Final = "size=16m"


class SmallDisk:
    """A file system of a few megabytes."""

    def __init__(self, folder: Path) -> None:
        """Use a folder in which a file system is mounted."""
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room at all."""
        with self._ballast.open("ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    def clear(self) -> None:
        """Make room again."""
        self._ballast.unlink()


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount a small disk in a new folder; skip the test where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", _SIZE, "ibi-small-disk", str(folder)]
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("no file system can be mounted here")
    done = subprocess.run(mount, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607
