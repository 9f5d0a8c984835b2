"""How often items were read, in SQL. No address of a reader comes here."""

from __future__ import annotations

from collections import Counter
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
        counted: list[bool] = self._write(lambda execute: _count(execute, accesses))
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
            "WHERE a.day >= $1 AND a.day <= $2 AND (a.item = $3 OR $3 = 0)",
            first,
            last,
            item,
        )
        # Sorted here: a database has an order of its own for texts.
        return sorted((Accesses(*row) for row in rows), key=lambda each: (each.day, each.label))


def _count(execute: Execute, accesses: Sequence[Access]) -> list[bool]:
    counted = [False] * len(accesses)
    counts: Counter[tuple[int, str]] = Counter()
    # In one order whoever counts: two who wait for each other's rows would wait for ever.
    for number in sorted(range(len(accesses)), key=lambda each: _key(accesses[each])):
        access = accesses[number]
        counted[number] = _use(execute, access)
        counts[access.item, access.day] += access.count if counted[number] else 0
    for (item, day), count in sorted(counts.items()):
        if count:
            execute(
                "INSERT INTO archive_access (item, day, count) VALUES ($1, $2, $3) ON CONFLICT "
                "(item, day) DO UPDATE SET count = archive_access.count + excluded.count",
                item,
                day,
                count,
            )
    return counted


def _key(access: Access) -> tuple[int, int]:
    return access.issued, access.nonce


def _use(execute: Execute, access: Access) -> bool:
    """Use a key up; False if it was used."""
    insert = (
        "INSERT INTO archive_used_key (issued, nonce, until) VALUES ($1, $2, $3) "
        "ON CONFLICT DO NOTHING RETURNING issued"
    )
    return bool(execute(insert, *_key(access), access.until))
