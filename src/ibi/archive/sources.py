"""Other archives to pull from, for as long as some work takes."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Self, TypeAlias

from ibi.ports import Source

OpenSource: TypeAlias = Callable[[str], Source]
"""Returns the archive at an address; ArchiveRequestError if that is none."""


class Sources:
    """Sources by their addresses: one for each, whichever thread asks."""

    def __init__(self, open_source: OpenSource) -> None:
        """Open none yet."""
        self._open = open_source
        self._opened: dict[str, Source] = {}
        self._lock = Lock()

    def at(self, address: str) -> Source:
        """Return the archive at an address."""
        with self._lock:
            if address not in self._opened:
                self._opened[address] = self._open(address)
            return self._opened[address]

    def __enter__(self) -> Self:
        """Use them."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of all."""
        for source in self._opened.values():
            source.close()
