"""What an object store reports, as an error of ours.

obstore tells most failures of a server by one kind of exception and a long text, in which the
status and the code of S3 stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from obstore.exceptions import BaseError, NotFoundError, PreconditionError

from ibi.errors import StorageError, StorageFullError, printable

_STATUS: Final = re.compile(r"status code: ([0-9]{3})")
_CODE: Final = re.compile(r"<Code>([A-Za-z0-9.]{1,60})</Code>")
_BEYOND_THE_END: Final = "416"
_FULL: Final = frozenset(
    {"507", "InsufficientStorage", "QuotaExceeded", "StorageFull", "XMinioStorageFull"}
)
_REFUSED: Final = frozenset({"401", "403"})
_MACHINE: Final = "http://169.254.169.254/"
"""Who is asked for credentials when the environment has none: what runs the virtual machine."""


@contextmanager
def object_errors(place: str) -> Iterator[None]:
    """Say what an object store does wrong in the words of this program.

    That an object is not there is no failure of the store: FileNotFoundError passes.
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
        raise _told(place, str(failure)) from failure


def is_beyond_the_end(failure: Exception) -> bool:
    """Tell whether bytes were asked for where there are none."""
    status = _STATUS.search(str(failure))
    return status is not None and status[1] == _BEYOND_THE_END


def _told(place: str, text: str) -> StorageError:
    if _MACHINE in text:
        names = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"
        return StorageError(place, f"there are no credentials in the environment ({names})")
    status, code = (found and found[1] for found in (_STATUS.search(text), _CODE.search(text)))
    if {status, code} & _FULL:
        return StorageFullError(place, "there is no room left in the object store")
    if code == "NoSuchBucket":
        return StorageError(place, "there is no such bucket")
    if status in _REFUSED:
        return StorageError(place, f"the object store refuses us ({code or status})")
    if status:
        return StorageError(place, f"the object store answered {code or status}")
    # The first line says what was tried; those after it are for the authors of the library.
    said = printable(text.partition("\n")[0].rpartition(" - ")[2])
    return StorageError(place, f"the object store does not answer ({said.strip().rstrip('.')})")
