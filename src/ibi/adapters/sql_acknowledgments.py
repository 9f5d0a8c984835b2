"""Acknowledgments that are still to be sent, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.adapters.database import Execute
from ibi.adapters.sql_rows import delete_rows, insert_rows
from ibi.adapters.sql_store import SqlStore
from ibi.ports import PendingAcknowledgment

_COLUMNS: Final = "archive, request, acknowledgment, count, since"


class SqlAcknowledgments(SqlStore):
    """What a resolver still has to say to archives."""

    def pending(self, after: int, limit: int) -> list[PendingAcknowledgment]:
        """Return them by number, those later than `after`."""
        rows = self._read(
            f"SELECT number, {_COLUMNS} FROM resolver_acknowledgment "  # noqa: S608  # our own names
            "WHERE number > $1 ORDER BY number LIMIT $2",
            after,
            limit,
        )
        return [PendingAcknowledgment(*row) for row in rows]

    def keep_pending(self, pending: Sequence[PendingAcknowledgment]) -> list[int]:
        """Keep new ones (number 0), or in the place of those of their number; return numbers."""
        if not pending:
            return []

        def work(execute: Execute) -> list[int]:
            _replace(execute, [each for each in pending if each.id])
            numbers = iter(_append(execute, [each for each in pending if not each.id]))
            return [each.id or next(numbers) for each in pending]

        return self._write(work)

    def drop_pending(self, ids: Sequence[int]) -> None:
        """Forget those that were sent, or given up."""
        # In one order whoever forgets: two who wait for each other's rows would wait for ever.
        numbers = sorted({*ids})
        if numbers:
            self._write(
                lambda execute: delete_rows(execute, "resolver_acknowledgment", "number", numbers)
            )

    def count_pending(self) -> int:
        """Return how many accesses wait."""
        [(count,)] = self._read("SELECT coalesce(sum(count), 0) FROM resolver_acknowledgment")
        return int(count)


def _append(execute: Execute, pending: Sequence[PendingAcknowledgment]) -> list[int]:
    into = f"resolver_acknowledgment ({_COLUMNS})"
    rows = insert_rows(execute, into, [_row(each) for each in pending], "RETURNING number")
    # Numbers are given in the order of the rows, but need not be returned in it.
    return sorted(number for (number,) in rows)


def _replace(execute: Execute, pending: Sequence[PendingAcknowledgment]) -> None:
    kept = {each.id: each for each in pending}
    insert_rows(
        execute,
        f"resolver_acknowledgment (number, {_COLUMNS})",
        [(number, *_row(each)) for number, each in sorted(kept.items())],
        "ON CONFLICT (number) DO UPDATE SET archive = excluded.archive, "
        "request = excluded.request, acknowledgment = excluded.acknowledgment, "
        "count = excluded.count, since = excluded.since",
    )


def _row(pending: PendingAcknowledgment) -> tuple[object, ...]:
    return (
        pending.archive,
        pending.request,
        pending.acknowledgment,
        pending.count,
        pending.since,
    )
