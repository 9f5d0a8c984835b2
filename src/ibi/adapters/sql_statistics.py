"""How often items were read, in SQL. No address of a reader comes here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ibi.adapters.database import Execute
from ibi.ports import Access, Accesses


class SqlStatistics:
    """What a catalogue knows of accesses."""

    _write: Callable[[Callable[[Execute], Any]], Any]
    _read: Callable[..., list[tuple[Any, ...]]]

    def count_accesses(self, accesses: Sequence[Access]) -> list[bool]:
        """Count each access whose key was not used, in one durable step; tell which."""
        counted: list[bool] = self._write(
            lambda execute: [_count(execute, access) for access in accesses]
        )
        return counted

    def forget_keys(self, before: int) -> None:
        """Forget used keys that nobody would accept any more."""
        self._write(
            lambda execute: execute("DELETE FROM archive_used_key WHERE until < $1", before)
        )

    def accesses(self, first: str, last: str, item: int = 0) -> list[Accesses]:
        """Return accesses by item and day, of one item or of all."""
        rows = self._read(
            "SELECT i.label, a.day, a.count FROM archive_access a "
            "JOIN archive_item i ON i.id = a.item "
            "WHERE a.day >= $1 AND a.day <= $2 AND ($3 = 0 OR a.item = $3) ORDER BY a.day, i.label",
            first,
            last,
            item,
        )
        return [Accesses(*row) for row in rows]


def _count(execute: Execute, access: Access) -> bool:
    fresh = execute(
        "INSERT INTO archive_used_key (issued, nonce, until) VALUES ($1, $2, $3) "
        "ON CONFLICT DO NOTHING RETURNING issued",
        access.issued,
        access.nonce,
        access.until,
    )
    if fresh:
        execute(
            "INSERT INTO archive_access (item, day, count) VALUES ($1, $2, 1) "
            "ON CONFLICT (item, day) DO UPDATE SET count = archive_access.count + 1",
            access.item,
            access.day,
        )
    return bool(fresh)
