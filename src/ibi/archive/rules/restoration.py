"""What an archive records when it is restored from a backup, until an administrator settles it.

A backup does not contain what happened after it: Originals that were given away since are Originals
again in a restored archive. Until they are conceded, the archive gives no Original away, because
another archive may have it.
"""

from __future__ import annotations

from typing import Final

from ibi.errors import UnreconciledError
from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND

UNRECONCILED: Final = "unreconciled"
"""The setting with the time of the backup, until Originals given away since are conceded."""


def moment_of(taken: int) -> str:
    """Return the time of a backup, given in nanoseconds of POSIX time, as a text."""
    return Instant(taken // SECOND).iso8601


def check_reconciled(moment: str) -> None:
    """Raise UnreconciledError if there is a time of a backup that is not reconciled."""
    if moment:
        raise UnreconciledError(moment)
