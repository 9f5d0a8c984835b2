"""News of a resolver's records, which every process follows, in SQL.

Numbers that a database makes up become visible out of order: a process that commits late has the
lower one, and whoever has read on would miss it. So whoever has news takes the number of the last
from its one row, which keeps others from it until the commit: no number is missing, ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import insert_rows
from ibi.foundation.sql.store import SqlHandle
from ibi.resolver.ports.workers import FeedEntry

KEPT: Final = 10_000
"""News that are kept: a process that missed more begins anew."""


class SqlChangeFeed:
    """The news, by number."""

    def __init__(self, handle: SqlHandle) -> None:
        """Keep them in a database."""
        self._handle = handle

    def newest(self) -> int:
        """Return the number of the last news, 0 before there are any."""
        rows = self._handle.read("SELECT number FROM resolver_newest")
        return int(rows[0][0]) if rows else 0

    def news(self, after: int, limit: int) -> list[FeedEntry]:
        """Return news by number, those later than `after`."""
        rows = self._handle.read(
            "SELECT number, archive, label FROM resolver_news "
            "WHERE number > $1 ORDER BY number LIMIT $2",
            after,
            limit,
        )
        return [FeedEntry(*row) for row in rows]


def alone(execute: Execute) -> int:
    """Keep all others who have news away until the end of the transaction; return the newest."""
    [(number,)] = execute(
        "INSERT INTO resolver_newest (one, number) VALUES (1, 0) "
        "ON CONFLICT (one) DO UPDATE SET number = resolver_newest.number RETURNING number"
    )
    return int(number)


def tell(execute: Execute, newest: int, archives: Sequence[str], labels: Sequence[str]) -> None:
    """Add news, by whoever is `alone`."""
    told = [(archive, "") for archive in archives] + [("", label) for label in labels]
    if not told:
        return
    rows = [(newest + place, *each) for place, each in enumerate(told, 1)]
    insert_rows(execute, "resolver_news (number, archive, label)", rows, "")
    last = newest + len(rows)
    execute("UPDATE resolver_newest SET number = $1", last)
    execute("DELETE FROM resolver_news WHERE number <= $1", last - KEPT)
