"""Figures in a table of SQLite or PostgreSQL: one row for each period, with all that is known.

Several processes may add to the same period: its row is locked from the reading to the writing.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.store import SqlHandle
from ibi.model.figures import RESOLUTIONS, Period, Resolution, Tally, merged, surplus

_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(Tally).decode


class SqlFigures:
    """Figures in a table with the columns `seconds`, `start` and `tally`."""

    def __init__(self, handle: SqlHandle, table: str) -> None:
        """Keep them in a table of a database."""
        self._handle = handle
        self._table = table

    def add(self, wall: int, tally: Tally) -> None:
        """Add to the minute, the hour and the day of an instant, in one step."""

        def work(execute: Execute) -> None:
            # In one order in all processes: the rows first, then those that are in excess.
            began = [each for each in RESOLUTIONS if self._add(execute, each, wall, tally)]
            for resolution in began:
                self._remove_surplus(execute, resolution, resolution.start(wall))

        self._handle.write(work)

    def _add(self, execute: Execute, resolution: Resolution, wall: int, tally: Tally) -> bool:
        """Add to one period; return whether it is a new one."""
        place = (resolution.seconds, resolution.start(wall))
        is_new = execute(
            f"INSERT INTO {self._table} (seconds, start, tally) VALUES ($1, $2, $3) "  # noqa: S608  # our own name
            "ON CONFLICT DO NOTHING RETURNING start",
            *place,
            _ENCODE(tally).decode(),
        )
        if is_new:
            return True
        [(before,)] = execute(
            f"SELECT tally FROM {self._table} WHERE seconds = $1 AND start = $2"  # noqa: S608  # our own name
            f"{self._handle.database.for_update}",
            *place,
        )
        execute(
            f"UPDATE {self._table} SET tally = $1 WHERE seconds = $2 AND start = $3",  # noqa: S608  # our own name
            _ENCODE(merged(_tally(before), tally)).decode(),
            *place,
        )
        return False

    def _remove_surplus(self, execute: Execute, resolution: Resolution, present: int) -> None:
        rows = execute(
            f"SELECT start FROM {self._table} WHERE seconds = $1",  # noqa: S608  # our own name
            resolution.seconds,
        )
        for start in surplus((start for (start,) in rows), present, resolution.kept):
            execute(
                f"DELETE FROM {self._table} WHERE seconds = $1 AND start = $2",  # noqa: S608  # our own name
                resolution.seconds,
                start,
            )

    def periods(self, resolution: Resolution, first: int, last: int) -> list[Period]:
        """Return the periods that begin from `first` to `last`, the oldest first."""
        rows = self._handle.read(
            f"SELECT start, tally FROM {self._table} "  # noqa: S608  # our own name
            "WHERE seconds = $1 AND start >= $2 AND start <= $3 ORDER BY start",
            resolution.seconds,
            first,
            last,
        )
        return [Period(start, _tally(tally)) for start, tally in rows]


def _tally(text: str) -> Tally:
    """Return a stored tally; an empty one if a damaged row or a later version has another form."""
    try:
        return _DECODE(text)
    except msgspec.MsgspecError:
        return Tally()
