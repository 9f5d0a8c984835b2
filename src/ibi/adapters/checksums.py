"""Checksums of a file that comes piece by piece."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_PIECE: Final = 1 << 20


@dataclass(eq=False, slots=True)
class Checksums:
    """Of what has come so far."""

    size: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)
    sha512: Any = field(default_factory=hashlib.sha512)

    def update(self, data: bytes) -> None:
        """Take some more."""
        self.size += len(data)
        self.sha256.update(data)
        self.sha512.update(data)


def checksums_of(path: Path) -> Checksums:
    """Return those of what is in a file."""
    sums = Checksums()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            sums.update(piece)
    return sums
