"""A file in an object store, open for reading."""

from __future__ import annotations

from typing import Final

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from ibi.adapters.object_errors import is_beyond_the_end, object_errors

FIRST: Final = 65_536
"""Bytes that come with the facts: a small file costs one request, as does the look at a text."""
MODIFIED: Final = "modified"
"""Under which the time of a file is kept with its object, whose own is that of its upload."""
_SECOND: Final = 1_000_000_000


class ObjectFile:
    """An object, read by ranges; every one of them from the same object, or it is an error."""

    fd = None

    def __init__(self, store: S3Store, name: str, key: str) -> None:
        """Ask for its facts; FileNotFoundError if it is not there."""
        self._store = store
        self._place = f"{name}/{key}"
        self._key = key
        with object_errors(self._place):
            try:
                found = obstore.get(store, key, options={"range": (0, FIRST)})
                self._first = bytes(found.bytes())
            except BaseError as failure:
                if not is_beyond_the_end(failure):
                    raise
                found = obstore.get(store, key)  # it is empty
                self._first = b""
        self.attributes = found.attributes
        self.size = found.meta["size"]
        self._etag = found.meta["e_tag"]
        uploaded = int(found.meta["last_modified"].timestamp() * _SECOND)
        self.modified = int(found.attributes.get(MODIFIED, uploaded))

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes of it; fewer at its end."""
        stop = min(offset + count, self.size)
        if stop <= len(self._first):
            return self._first[offset:stop]
        if offset >= stop:
            return b""
        with object_errors(self._place):
            options: obstore.GetOptions = {"range": (offset, stop), "if_match": self._etag}
            return bytes(obstore.get(self._store, self._key, options=options).bytes())

    def close(self) -> None:
        """Let go of it: nothing is held between two reads."""
