"""The history of an archive, in SQL: acts with their time and user."""

from __future__ import annotations

from typing import Final

from ibi.archive.ports.catalogue import WHOLE, HistoryChoice, HistoryEntry, StoredChange
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.change import Change

_HISTORY: Final = "SELECT number, change, at, who, act, label, detail FROM archive_history"
_END: Final = 2**62
"""A number greater than that of any line."""


class SqlHistory:
    """The history of an archive."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._survey = handle.survey
        self._read = handle.read

    def entries(
        self, after: int, limit: int, choice: HistoryChoice = WHOLE, *, newest_first: bool = False
    ) -> list[HistoryEntry]:
        """Return lines numbered greater than `after`, the oldest first.

        With `newest_first`, return lines numbered less than `after`; from the end if it is 0.
        """
        if not _is_storable(choice):
            return []
        if newest_first:
            where, values = _where(choice, ("number <", after or _END))
        else:
            where, values = _where(choice, ("number >", after))
        order = "DESC" if newest_first else "ASC"
        last = f"ORDER BY number {order} LIMIT ${len(values) + 1}"
        rows = self._survey(f"{_HISTORY} {where} {last}", *values, limit)
        return [HistoryEntry(*row) for row in rows]

    def last(self) -> int:
        """Return the number of the newest line; 0 if there is none."""
        [(number,)] = self._read("SELECT COALESCE(max(number), 0) FROM archive_history")
        return int(number)

    def acts(self, choice: HistoryChoice = WHOLE) -> dict[str, int]:
        """Return the number of lines of each act, by its name."""
        if not _is_storable(choice):
            return {}
        where, values = _where(choice, ("number >", 0))
        rows = self._survey(
            f"SELECT act, count(*) FROM archive_history {where} GROUP BY act",  # noqa: S608  # no values
            *values,
        )
        # Sorted here, because the order of texts differs between databases.
        return {str(act): int(count) for act, count in sorted(rows)}

    def note(self, entry: HistoryEntry) -> None:
        """Write a line of an act that changes no item; the store numbers it."""
        self._write(lambda execute: write_entry(execute, entry))


def write_entry(execute: Execute, change: Change | StoredChange | HistoryEntry) -> bool:
    """Write a line; return False if the change has one, because it was made before."""
    rows = execute(
        "INSERT INTO archive_history (change, at, who, act, label, detail) "
        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING number",
        change.change if isinstance(change, HistoryEntry) else change.id,
        change.at,
        change.who,
        change.act,
        change.label,
        change.detail,
    )
    return bool(rows)


def _is_storable(choice: HistoryChoice) -> bool:
    """Return whether a database can store the texts of a choice; if not, no line matches it."""
    return all(map(is_storable, (choice.label, choice.act, choice.who)))


def _where(choice: HistoryChoice, first: tuple[str, int]) -> tuple[str, list[object]]:
    """Return the conditions of a SELECT, and their values."""
    conditions = [
        (condition, value)
        for condition, value in (
            ("label =", choice.label),
            ("act =", choice.act),
            ("who =", choice.who),
            ("at >=", choice.since),
            ("at <", choice.before),
        )
        if value
    ]
    texts = [f"{text} ${place}" for place, (text, _) in enumerate([first, *conditions], 1)]
    return f"WHERE {' AND '.join(texts)}", [first[1], *(value for _, value in conditions)]
