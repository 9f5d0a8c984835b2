"""A file in an object store, open for reading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import obstore
from obstore.exceptions import BaseError, NotFoundError, PreconditionError
from obstore.store import S3Store

from ibi.errors import StorageError, StorageFullError, printable
from ibi.model.clock import SECOND

_STATUS: Final = re.compile(r"status code: ([0-9]{3})")
_CODE: Final = re.compile(r"<Code>([A-Za-z0-9.]{1,60})</Code>")
_BEYOND_THE_END: Final = "416"
_FULL: Final = frozenset(
    {"507", "InsufficientStorage", "QuotaExceeded", "StorageFull", "XMinioStorageFull"}
)
_REFUSED: Final = frozenset({"401", "403"})
_MACHINE: Final = "http://169.254.169.254/"
"""The metadata service of cloud machines, which obstore asks if the environment has no keys."""


@contextmanager
def object_errors(place: str) -> Iterator[None]:
    """Convert failures of an object store to StorageError.

    A missing object is no failure of the store: it raises FileNotFoundError.
    """
    try:
        yield
    except (NotFoundError, FileNotFoundError) as fault:
        if "NoSuchBucket" in str(fault):
            raise StorageError(place, "there is no such bucket") from fault
        raise FileNotFoundError(place) from fault
    except PreconditionError as failure:
        raise StorageError(place, "the file was replaced while it was read") from failure
    except (BaseError, OSError) as failure:
        raise _storage_error(place, str(failure)) from failure


def is_beyond_the_end(failure: Exception) -> bool:
    """Return whether a request failed because its range begins at or after the end."""
    status = _STATUS.search(str(failure))
    return status is not None and status[1] == _BEYOND_THE_END


def _storage_error(place: str, text: str) -> StorageError:
    if _MACHINE in text:
        names = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"
        return StorageError(place, f"there are no credentials in the environment ({names})")
    status, code = (found and found[1] for found in (_STATUS.search(text), _CODE.search(text)))
    if {status, code} & _FULL:
        return StorageFullError(place, "there is no room left in the object store")
    if code == "NoSuchBucket":
        return StorageError(place, "there is no such bucket")
    if status in _REFUSED:
        return StorageError(place, f"the object store refuses access ({code or status})")
    if status:
        return StorageError(place, f"the object store answered {code or status}")
    # The first line names the request; the lines after it are details of the library.
    said = printable(text.partition("\n")[0].rpartition(" - ")[2])
    return StorageError(place, f"the object store does not answer ({said.strip().rstrip('.')})")


FIRST: Final = 65_536
"""Bytes that are read with the attributes, so that a small file costs only one request."""
MODIFIED: Final = "modified"
"""The attribute of an object with the time of its file; the object has that of its upload."""


class ObjectFile:
    """An object, read by ranges; raises StorageError if it is replaced meanwhile."""

    fd = None

    def __init__(self, store: S3Store, name: str, key: str) -> None:
        """Request its attributes and first bytes; raise FileNotFoundError if there is none."""
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
                found = obstore.get(store, key)  # the object is empty
                self._first = b""
        self.attributes = found.attributes
        self.size = found.meta["size"]
        self._etag = found.meta["e_tag"]
        uploaded = int(found.meta["last_modified"].timestamp() * SECOND)
        self.modified = int(found.attributes.get(MODIFIED, uploaded))

    def read(self, offset: int, count: int) -> bytes:
        """Return `count` bytes, fewer at the end."""
        stop = min(offset + count, self.size)
        if stop <= len(self._first):
            return self._first[offset:stop]
        if offset >= stop:
            return b""
        with object_errors(self._place):
            options: obstore.GetOptions = {"range": (offset, stop), "if_match": self._etag}
            return bytes(obstore.get(self._store, self._key, options=options).bytes())

    def close(self) -> None:
        """Do nothing: no connection is held between two reads."""
