"""What a disk reports, as an error of ours: the one table of what means that it is full."""

from __future__ import annotations

import errno
from typing import Final

from ibi.errors import StorageError, StorageFullError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def storage_error(place: str, failure: OSError) -> StorageError:
    """Say what failed at a place."""
    kind = StorageFullError if failure.errno in _FULL else StorageError
    return kind(place, (failure.strerror or str(failure)).lower())
