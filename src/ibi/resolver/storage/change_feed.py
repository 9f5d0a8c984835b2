"""The change feed of a resolver, which every process follows, in SQL.

Numbers that a database generates become visible out of order: a process that commits late has a
lower number, and a reader that has passed it would miss the change. So a writer takes the number of
the last change from its one row, which locks out other writers until the commit: no number is ever
missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import insert_rows
from ibi.foundation.sql.store import SqlHandle
from ibi.resolver.ports.workers import FeedEntry

MAX_CHANGES: Final = 10_000
"""Changes that are stored: a process that missed more reads everything again."""


class SqlChangeFeed:
    """The changes, by number."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def newest(self) -> int:
        """Return the number of the last change, 0 before there is any."""
        rows = self._handle.read("SELECT number FROM resolver_newest")
        return int(rows[0][0]) if rows else 0

    def news(self, after: int, limit: int) -> list[FeedEntry]:
        """Return changes by number, later than `after`."""
        rows = self._handle.read(
            "SELECT number, archive, label FROM resolver_news "
            "WHERE number > $1 ORDER BY number LIMIT $2",
            after,
            limit,
        )
        return [FeedEntry(*row) for row in rows]


def lock_feed(execute: Execute) -> int:
    """Lock out other writers of changes until the commit; return the last number."""
    [(number,)] = execute(
        "INSERT INTO resolver_newest (one, number) VALUES (1, 0) "
        "ON CONFLICT (one) DO UPDATE SET number = resolver_newest.number RETURNING number"
    )
    return int(number)


def append_changes(
    execute: Execute, newest: int, archives: Sequence[str], labels: Sequence[str]
) -> None:
    """Append changes; the caller has called `lock_feed` in the same transaction."""
    changes = [(archive, "") for archive in archives] + [("", label) for label in labels]
    if not changes:
        return
    rows = [(newest + place, *each) for place, each in enumerate(changes, 1)]
    insert_rows(execute, "resolver_news (number, archive, label)", rows, "")
    last = newest + len(rows)
    execute("UPDATE resolver_newest SET number = $1", last)
    execute("DELETE FROM resolver_news WHERE number <= $1", last - MAX_CHANGES)
