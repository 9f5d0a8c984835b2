"""Rival claims, and the owners of items, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import insert_rows, is_storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.conflict import Conflict
from ibi.resolver.ports.store import ConflictChange, Owner
from ibi.resolver.storage.archives import write_event
from ibi.resolver.storage.documents import conflict_document, read_conflict
from ibi.resolver.storage.workers import append_changes, lock_feed

_CONFLICT: Final = "SELECT number, document FROM resolver_conflict"
_NEWEST: Final = f"{_CONFLICT} WHERE label = $1 ORDER BY number DESC LIMIT 1"


class SqlConflicts:
    """Rival claims to Originals."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def conflicts(self, after: int, limit: int, *, only_open: bool) -> list[Conflict]:
        """Return conflicts by number, later than `after`."""
        # Two statements, because a database plans a statement without its parameters.
        which = "is_open = TRUE AND " if only_open else ""
        rows = self._handle.read(
            f"{_CONFLICT} WHERE {which}number > $1 ORDER BY number LIMIT $2", after, limit
        )
        return [read_conflict(*row) for row in rows]

    def change_conflict(
        self,
        which: int | str,
        change: Callable[[Conflict | None], ConflictChange | None],
    ) -> Conflict | None:
        """Change a conflict, by number or the newest of a label; return it as it is stored then.

        The transaction excludes all other writers. What belongs to the change is stored in the same
        step.
        """

        def work(execute: Execute) -> Conflict | None:
            newest = lock_feed(execute)
            before = _found(execute, which)
            changed = change(before)
            if changed is None:
                return before
            keep_owners(execute, changed.owners)
            conflict = replace(changed.conflict, id=_keep(execute, changed.conflict))
            if changed.event is not None:
                write_event(execute, changed.event)
            append_changes(execute, newest, [], changed.news)
            return conflict

        return self._handle.write(work)

    def count_conflicts(self) -> int:
        """Return how many conflicts are open."""
        [(count,)] = self._handle.read(
            "SELECT count(*) FROM resolver_conflict WHERE is_open = TRUE"
        )
        return int(count)


class SqlOwners:
    """Which archive has the Original of which item."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def owner(self, label: str) -> Owner | None:
        """Return the owner of an item by its canonical label."""
        if not is_storable(label):
            return None
        rows = self._handle.read(
            "SELECT archive, since, settled FROM resolver_owner WHERE label = $1", label
        )
        if not rows:
            return None
        archive, since, settled = rows[0]
        return Owner(archive, since, bool(settled))

    def keep_owners(self, owners: Sequence[tuple[str, Owner]]) -> None:
        """Store owners, replacing earlier ones, in one step; of one label the last.

        An owner that the operator has settled is replaced only by another settled one.
        """
        if owners:
            self._handle.write(lambda execute: keep_owners(execute, owners))


def _found(execute: Execute, which: int | str) -> Conflict | None:
    if isinstance(which, int):
        rows = execute(f"{_CONFLICT} WHERE number = $1", which)
    else:
        rows = execute(_NEWEST, which) if is_storable(which) else []
    return read_conflict(*rows[0]) if rows else None


def _keep(execute: Execute, conflict: Conflict) -> int:
    """Store a conflict; return its number."""
    facts = (conflict.label, conflict.is_open, conflict_document(conflict))
    if not conflict.id:
        [(number,)] = execute(
            "INSERT INTO resolver_conflict (label, is_open, document) "
            "VALUES ($1, $2, $3) RETURNING number",
            *facts,
        )
        return int(number)
    execute(
        "UPDATE resolver_conflict SET label = $1, is_open = $2, document = $3 WHERE number = $4",
        *facts,
        conflict.id,
    )
    return conflict.id


def keep_owners(execute: Execute, owners: Sequence[tuple[str, Owner]]) -> None:
    """Store owners; a settled one is replaced only by another settled one."""
    # Always in the same order, so that two processes cannot wait for each other's rows for ever.
    rows = [
        (label, owner.archive, owner.since, owner.settled)
        for label, owner in sorted(dict(owners).items())
    ]
    insert_rows(
        execute,
        "resolver_owner (label, archive, since, settled)",
        rows,
        "ON CONFLICT (label) DO UPDATE SET archive = excluded.archive, "
        "since = excluded.since, settled = excluded.settled "
        "WHERE excluded.settled OR NOT resolver_owner.settled",
    )
