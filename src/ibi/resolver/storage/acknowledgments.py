"""Acknowledgments that are still to be sent, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import delete_rows, insert_rows
from ibi.foundation.sql.store import SqlHandle
from ibi.resolver.ports.store import PendingAcknowledgment

_COLUMNS: Final = "archive, request, acknowledgment, count, since"


class SqlAcknowledgments:
    """Acknowledgments that are still to be sent."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def pending(self, keeper: str, after: int, limit: int) -> list[PendingAcknowledgment]:
        """Return the rows of a keeper by number, later than `after`."""
        rows = self._handle.read(
            f"SELECT number, {_COLUMNS} FROM resolver_acknowledgment "  # noqa: S608  # our own names
            "WHERE keeper = $1 AND number > $2 ORDER BY number LIMIT $3",
            keeper,
            after,
            limit,
        )
        return [PendingAcknowledgment(*row) for row in rows]

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int] | None:
        """Store new rows (number 0), or replace those with the same numbers; return the numbers.

        Rows that were written in the same turn before are not written again. None if the keeper
        counts as gone.
        """

        def work(execute: Execute) -> list[int] | None:
            last = self._last_turn(execute, keeper)
            if last is None:
                return None
            if last == turn:
                return [each.id for each in pending]
            execute("UPDATE resolver_process SET turn = $1 WHERE id = $2", turn, keeper)
            _replace(execute, keeper, [each for each in pending if each.id])
            numbers = iter(_append(execute, keeper, [each for each in pending if not each.id]))
            return [each.id or next(numbers) for each in pending]

        return self._handle.write(work)

    def last_turn(self, keeper: str) -> int | None:
        """Return the last turn of a keeper, even if it is gone; None if it is not stored."""
        rows = self._handle.read("SELECT turn FROM resolver_process WHERE id = $1", keeper)
        return int(rows[0][0]) if rows else None

    def drop_pending(self, keeper: str, ids: Sequence[int]) -> bool:
        """Delete rows that were sent, or given up; return False if the keeper counts as gone."""
        # Always in the same order, so that two processes cannot wait for each other's rows for
        # ever.
        numbers = sorted({*ids})

        def work(execute: Execute) -> bool:
            if self._last_turn(execute, keeper) is None:
                return False
            delete_rows(execute, "resolver_acknowledgment", "number", numbers)
            return True

        return self._handle.write(work)

    def count_pending(self, keeper: str) -> int:
        """Return the number of accesses in the rows of a keeper."""
        [(count,)] = self._handle.read(
            "SELECT coalesce(sum(count), 0) FROM resolver_acknowledgment WHERE keeper = $1", keeper
        )
        return int(count)

    def _last_turn(self, execute: Execute, keeper: str) -> int | None:
        """Return the last turn of a living keeper, and lock it until the end of the transaction.

        A process is marked as gone before its rows are adopted: what is written here is either
        adopted too, or not written.
        """
        there = "SELECT turn FROM resolver_process WHERE id = $1 AND gone = FALSE"
        rows = execute(f"{there}{self._handle.database.for_update}", keeper)
        return int(rows[0][0]) if rows else None


def _append(execute: Execute, keeper: str, pending: Sequence[PendingAcknowledgment]) -> list[int]:
    into = f"resolver_acknowledgment (keeper, {_COLUMNS})"
    rows = insert_rows(execute, into, [_row(keeper, each) for each in pending], "RETURNING number")
    # Numbers are given in the order of the rows, but need not be returned in it.
    return sorted(number for (number,) in rows)


def _replace(execute: Execute, keeper: str, pending: Sequence[PendingAcknowledgment]) -> None:
    kept = {each.id: each for each in pending}
    insert_rows(
        execute,
        f"resolver_acknowledgment (number, keeper, {_COLUMNS})",
        [(number, *_row(keeper, each)) for number, each in sorted(kept.items())],
        "ON CONFLICT (number) DO UPDATE SET archive = excluded.archive, "
        "request = excluded.request, acknowledgment = excluded.acknowledgment, "
        "count = excluded.count, since = excluded.since "
        "WHERE resolver_acknowledgment.keeper = excluded.keeper",
    )


def _row(keeper: str, pending: PendingAcknowledgment) -> tuple[object, ...]:
    return (
        keeper,
        pending.archive,
        pending.request,
        pending.acknowledgment,
        pending.count,
        pending.since,
    )
