"""The file store of an archive, in a process that only reads, and another moves and changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ibi.adapters.movable_store import MovableStore, Store
from ibi.adapters.shared_memory import SharedCount
from ibi.errors import StorageError, UnknownError
from ibi.model.change import Change
from ibi.ports import OpenFile, StoredChange

_READS: Final = "this process only reads"


class FollowedStore(MovableStore):
    """A store that is exchanged as soon as the keeper has exchanged its own."""

    def __init__(self, incoming: Path, opened: Callable[[], Store], moves: SharedCount) -> None:
        """Open the store that is used now, and again whenever the keeper counts a move."""
        self._opened = opened
        self._moves = moves
        self._followed = moves.value
        super().__init__(incoming, opened())

    def _follow(self) -> bool:
        """Tell whether there is another store than before, which is used now."""
        moves = self._moves.value
        if moves == self._followed:
            return False
        self.exchange(self._opened())
        self._followed = moves
        return True

    @property
    def quick(self) -> bool:
        """Whether a file is opened quickly enough for the thread of an event loop."""
        self._follow()
        return super().quick

    def open(self, place: str, path: str) -> OpenFile:
        """Open a file of an item for reading; UnknownError if there is none."""
        self._follow()
        try:
            return super().open(place, path)
        except UnknownError:
            if not self._follow():  # it may have been moved that moment
                raise
            return super().open(place, path)

    def link(self, place: str, path: str, method: str) -> str:
        """Return where readers get a file from the store itself; empty if they get it from us."""
        self._follow()
        return super().link(place, path, method)

    def decided(self) -> Iterator[StoredChange]:
        """Return nothing: what was decided is carried out by the keeper alone."""
        yield from ()

    def decide(self, change: Change) -> None:
        """Refuse."""
        del change
        raise StorageError(self.name, _READS)
