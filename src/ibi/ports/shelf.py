"""What the archive needs of the world: all that a store keeps, to move it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ibi.model.item import File
from ibi.ports.file_store import OpenFile


class Shelf(Protocol):
    """A folder or a bucket, under the same keys: `col/<label>/doc/<path>` and whatever else.

    Every method raises StorageError when the store fails, StorageFullError when it is full.
    """

    name: str

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Return the keys in a folder and below, each with its size."""
        ...

    def open(self, key: str) -> OpenFile:
        """Open what lies there for reading; UnknownError if nothing does."""
        ...

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write a file, in the place of what was there, whole or not at all.

        Its size, time and sum are kept as they are given.
        """
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Remove files; those that are not there are none."""
        ...
