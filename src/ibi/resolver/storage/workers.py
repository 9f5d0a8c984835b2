"""The processes that serve one resolver, their duties, and the change feed that all follow, in SQL.

Numbers that a database generates become visible out of order: a process that commits late has a
lower number, and a reader that has passed it would miss the change. So a writer of the feed takes
the number of the last change from its one row, which locks out other writers until the commit: no
number is ever missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import insert_rows
from ibi.foundation.sql.store import SqlHandle
from ibi.resolver.ports.workers import DIGESTS, FeedEntry, WorkerList

MAX_CHANGES: Final = 10_000
"""Changes that are stored: a process that missed more reads everything again."""
MAX_GONE_WORKERS: Final = 1000
"""Processes that are gone and still stored: they may only be asleep, and ask for their last
turn."""
_THERE: Final = "(SELECT id FROM resolver_process WHERE gone = FALSE)"


class SqlChangeFeed:
    """The changes, by number."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def newest(self) -> int:
        """Return the number of the last change, 0 before there is any."""
        rows = self._handle.read("SELECT number FROM resolver_newest")
        return int(rows[0][0]) if rows else 0

    def publish(self, label: str) -> None:
        """Append a label, which all processes drop from their caches."""

        def append(execute: Execute) -> None:
            append_changes(execute, lock_feed(execute), [], [label])

        self._handle.write(append)

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


class SqlProcesses:
    """The processes that serve the resolver, and their duties."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def register(self, process: str, duties: Sequence[str]) -> None:
        """Add a process, under a name that was never used."""

        def work(execute: Execute) -> None:
            self._lock(execute)
            for duty in sorted(duties):
                execute(
                    "INSERT INTO resolver_duty (name, holder) VALUES ($1, '') "
                    "ON CONFLICT (name) DO NOTHING",
                    duty,
                )
            execute(
                "INSERT INTO resolver_process (id, beat, turn, gone) VALUES ($1, 1, 0, FALSE)",
                process,
            )

        self._handle.write(work)

    def heartbeat(self, process: str, gone: Mapping[str, int]) -> WorkerList | None:
        """Count a heartbeat of a process, and mark others as gone if their beat is the same."""

        def work(execute: Execute) -> WorkerList | None:
            self._lock(execute)
            is_alive = execute(
                "UPDATE resolver_process SET beat = beat + 1 WHERE id = $1 AND gone = FALSE "
                "RETURNING beat",
                process,
            )
            if not is_alive:
                return None
            for each, beat in sorted(gone.items()):
                execute(
                    "UPDATE resolver_process SET gone = TRUE WHERE id = $1 AND beat = $2",
                    each,
                    beat,
                )
            return _worker_list(execute, process)

        return self._handle.write(work)

    def unregister(self, process: str) -> None:
        """Remove a process that is about to end."""
        self._handle.write(
            lambda execute: execute("DELETE FROM resolver_process WHERE id = $1", process)
        )

    def adopt_pending(self, process: str) -> int:
        """Adopt the acknowledgments of processes that are gone; return the number of accesses."""
        adopted = self._handle.write(
            lambda execute: execute(
                "UPDATE resolver_acknowledgment SET keeper = $1 "  # noqa: S608  # our own names
                f"WHERE keeper NOT IN {_THERE} RETURNING count",
                process,
            )
        )
        return sum(count for (count,) in adopted)

    def _lock(self, execute: Execute) -> None:
        """Lock the duties: other changes of processes or duties wait until the commit."""
        execute(f"SELECT name FROM resolver_duty ORDER BY name{self._handle.database.for_update}")  # noqa: S608  # our own names


def _worker_list(execute: Execute, process: str) -> WorkerList:
    """Assign the duties without a holder to a process, and return the living processes."""
    execute(
        f"UPDATE resolver_duty SET holder = $1 WHERE holder NOT IN {_THERE}",  # noqa: S608  # our own names
        process,
    )
    execute(
        "DELETE FROM resolver_process WHERE gone = TRUE "
        "AND number <= (SELECT max(number) FROM resolver_process) - $1",
        MAX_GONE_WORKERS,
    )
    there = execute("SELECT id, beat FROM resolver_process WHERE gone = FALSE")
    duties = execute("SELECT name FROM resolver_duty WHERE holder = $1", process)
    return WorkerList(dict(there), frozenset(name for (name,) in duties))


class SqlFollowedLogs:
    """The digests that stand for answers, by the process whose duty it is to fetch digests."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def publish(self, process: str, digests: Mapping[str, int], *, anew: bool) -> bool:
        """Store the numbers of digests by archive; return False if it is not its duty."""

        def work(execute: Execute) -> bool:
            counted = execute(
                "INSERT INTO resolver_publication (one, count) "
                "SELECT 1, 1 FROM resolver_duty WHERE name = $1 AND holder = $2 "
                "ON CONFLICT (one) DO UPDATE SET count = resolver_publication.count + 1 "
                "RETURNING count",
                DIGESTS,
                process,
            )
            if not counted:
                return False
            [(count,)] = counted
            if anew:
                execute("UPDATE resolver_followed SET digest = 0, count = $1", count)
            rows = [(archive, number, count) for archive, number in digests.items()]
            into = "resolver_followed (archive, digest, count)"
            change = "DO UPDATE SET digest = excluded.digest, count = excluded.count"
            insert_rows(execute, into, rows, f"ON CONFLICT (archive) {change}")
            return True

        return self._handle.write(work)

    def published(self, after: int) -> tuple[int, list[tuple[str, int]]]:
        """Return how often was published, and what was since a count: archives and numbers."""
        rows = self._handle.read(
            "SELECT p.count, f.archive, f.digest FROM resolver_publication p "
            "LEFT JOIN resolver_followed f ON f.count > $1",
            after,
        )
        count = int(rows[0][0]) if rows else 0
        return count, [(archive, number) for _, archive, number in rows if archive is not None]
