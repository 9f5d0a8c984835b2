"""The digest of an archive: the names that it holds, published for resolvers.

A resolver reads it page by page as a log, from the beginning or from its last position. Within a
page the last entry of a name counts; full pages never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.archive.ports.catalogue import DigestState, NameChange, NameLog
from ibi.archive.repeating_thread import RepeatingThread
from ibi.wire.digest import FINGERPRINT_OCTETS, MAX_FINGERPRINTS, DigestPage

ROWS: Final = MAX_FINGERPRINTS // 2
"""The changes of one page; most items have two names."""
_BREATH: Final = 0.01
"""Seconds between two steps of the backfill, in which other work goes on."""


class DigestLog:
    """The pages of one archive's digest."""

    def __init__(self, log: NameLog) -> None:
        """Read the log of names of a catalogue."""
        self._log = log

    def place(self, epoch: str, after: int) -> tuple[DigestState, int]:
        """Return the state of the log, and the position to continue at: 0 in another epoch."""
        state = self._log.state()
        if epoch != state.epoch or after > state.last:
            return state, 0
        if after not in {0, state.last} and not self._log.has(after):
            return state, 0
        return state, after

    def page(self, state: DigestState, after: int) -> DigestPage:
        """Return the page after a position."""
        rows = self._log.changes(after, state.last, ROWS + 1)
        return gathered(state, after, rows)


def gathered(state: DigestState, after: int, rows: Sequence[NameChange]) -> DigestPage:
    """Return a page made of rows; one row more than fits shows that there is another page."""
    said: dict[bytes, bool] = {}
    taken = 0
    for _, names, held in rows[:ROWS]:
        if len(said) + len(names) // FINGERPRINT_OCTETS > MAX_FINGERPRINTS:
            break
        for start in range(0, len(names), FINGERPRINT_OCTETS):
            said[names[start : start + FINGERPRINT_OCTETS]] = held
        taken += 1
    more = taken < len(rows)
    return DigestPage(
        state.epoch,
        after,
        rows[taken - 1].number if taken else after,
        more,
        _sorted([name for name, held in said.items() if held]),
        _sorted([name for name, held in said.items() if not held]),
    )


def _sorted(names: list[bytes]) -> tuple[int, ...]:
    return tuple(map(int.from_bytes, sorted(names)))


class DigestBackfill(RepeatingThread):
    """Adds the items from before the log to it, while the archive serves."""

    def __init__(self, log: NameLog) -> None:
        """Fill the log of a catalogue."""
        super().__init__(
            "ibi-digest", log.fill, pause=_BREATH, failure="the digest cannot be filled"
        )
