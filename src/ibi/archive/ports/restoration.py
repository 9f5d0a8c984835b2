"""What an archive records when it is restored from a backup, until an administrator settles it.

The archive that was backed up may still run, and would give out the same labels. Until its
administrator states that it is gone, a restored archive looks for it whenever it starts.

A backup does not contain what happened after it: Originals that were given away since are Originals
again in a restored archive. Until they are conceded, the archive gives no Original away, because
another archive may have it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND

RESTORED: Final = "restored"
"""The setting with a Restoration, until the archive that was backed up is known to be gone."""
UNRECONCILED: Final = "unreconciled"
"""The setting with the time of the backup, until Originals given away since are conceded."""


class Restoration(msgspec.Struct, frozen=True):
    """The facts of a restore."""

    moment: str
    """When the backup was made."""
    address: str
    """The public address of the archive that was backed up."""

    @classmethod
    def read(cls, text: str) -> Restoration:
        """Return the restoration that `text` was made of."""
        return msgspec.json.decode(text, type=cls)

    @property
    def text(self) -> str:
        """The value of the setting."""
        return msgspec.json.encode(self).decode()


def moment_of(taken: int) -> str:
    """Return the time of a backup, given in nanoseconds of POSIX time, as a text."""
    return Instant(taken // SECOND).iso8601
