"""What lies in an object store, key by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ibi.adapters.object_file import MODIFIED, ObjectFile
from ibi.adapters.objects import Objects
from ibi.errors import FileNameError, UnknownError
from ibi.model.item import File

Headers = Callable[[File], Mapping[str, str]]
"""What a browser is told that gets a file from the store itself."""


def attributes(file: File, headers: Headers) -> dict[str, str]:
    """Return what is kept with the object of a file."""
    facts = {"sha256": file.sha256} if file.sha256 else {}
    return {MODIFIED: str(file.modified), **facts, **headers(file)}


class ObjectShelf:
    """All objects of an archive."""

    def __init__(self, objects: Objects, headers: Headers = lambda _: {}) -> None:
        """Use a bucket."""
        self.name = objects.name
        self._objects = objects
        self._headers = headers

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Return the keys in a folder and below, each with its size."""
        return self._objects.keys(prefix)

    def open(self, key: str) -> ObjectFile:
        """Open an object for reading; UnknownError if there is none."""
        try:
            return self._objects.open(key)
        except FileNotFoundError:
            raise UnknownError("file", key) from None

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write an object, in the place of what was there."""
        if len(key.encode()) > self._objects.longest_key:
            raise FileNameError(key, "it is too long for an object store")
        self._objects.put(key, pieces, file.size, attributes(file, self._headers))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects."""
        self._objects.delete(keys)
