"""The transfer of an Original to another archive, as far as one side of it has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["offered", "handed", "ready"]
"""Of the giving side: `offered`, still the Original, and `handed`, no more; of the other: `ready`,
a Copy that waits to become the Original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What an item says of its own transfer; it stands in the manifest, and holds no secret."""

    id: str
    peer: str
    """The address of the other archive."""
    phase: Phase
    since: int
    """Nanoseconds of POSIX time."""
    receipt: str = ""
    """What the receiving side made up when it was ready: nobody can accept without it."""
    was_here: bool = False
    """Of the receiving side: whether it had a Copy before, which stays if nothing comes of it."""
