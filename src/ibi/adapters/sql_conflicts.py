"""Rival claims, and who has which Original, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ibi.adapters.database import Execute
from ibi.adapters.registry_documents import conflict_document, read_conflict
from ibi.adapters.sql_rows import insert_rows
from ibi.adapters.sql_store import SqlStore
from ibi.adapters.sql_text import is_storable
from ibi.model.conflict import Conflict
from ibi.ports import Owner

_CONFLICT: Final = "SELECT number, document FROM resolver_conflict"


class SqlConflicts(SqlStore):
    """What a resolver knows of Originals."""

    def conflicts(self, after: int, limit: int, *, only_open: bool) -> list[Conflict]:
        """Return conflicts by number, those later than `after`."""
        # Two statements, because a database plans one without looking at what it is given.
        which = "is_open = TRUE AND " if only_open else ""
        rows = self._read(
            f"{_CONFLICT} WHERE {which}number > $1 ORDER BY number LIMIT $2", after, limit
        )
        return [read_conflict(*row) for row in rows]

    def conflict_of(self, label: str) -> Conflict | None:
        """Return the newest conflict about a label."""
        if not is_storable(label):
            return None
        newest = f"{_CONFLICT} WHERE label = $1 ORDER BY number DESC LIMIT 1"
        rows = self._read(newest, label)
        return read_conflict(*rows[0]) if rows else None

    def keep_conflict(self, conflict: Conflict) -> Conflict:
        """Keep it, in the place of the one of its number; return it with its number."""
        facts = (conflict.label, conflict.is_open, conflict_document(conflict))

        def work(execute: Execute) -> int:
            if not conflict.id:
                [(number,)] = execute(
                    "INSERT INTO resolver_conflict (label, is_open, document) "
                    "VALUES ($1, $2, $3) RETURNING number",
                    *facts,
                )
                return int(number)
            execute(
                "INSERT INTO resolver_conflict (number, label, is_open, document) "
                "VALUES ($1, $2, $3, $4) ON CONFLICT (number) DO UPDATE SET "
                "label = excluded.label, is_open = excluded.is_open, document = excluded.document",
                conflict.id,
                *facts,
            )
            return conflict.id

        return replace(conflict, id=self._write(work))

    def count_conflicts(self) -> int:
        """Return how many are open."""
        [(count,)] = self._read("SELECT count(*) FROM resolver_conflict WHERE is_open = TRUE")
        return int(count)

    def owner(self, label: str) -> Owner | None:
        """Return the owner of an item by its canonical label."""
        if not is_storable(label):
            return None
        rows = self._read(
            "SELECT archive, since, settled FROM resolver_owner WHERE label = $1", label
        )
        if not rows:
            return None
        archive, since, settled = rows[0]
        return Owner(archive, since, bool(settled))

    def keep_owners(self, owners: Sequence[tuple[str, Owner]]) -> None:
        """Keep owners, in the place of those before, in one step; of one label the last.

        One that the operator has settled gives way only to another that he has settled.
        """
        # In one order whoever keeps: two who wait for each other's rows would wait for ever.
        rows = [
            (label, owner.archive, owner.since, owner.settled)
            for label, owner in sorted(dict(owners).items())
        ]
        if rows:
            self._write(
                lambda execute: insert_rows(
                    execute,
                    "resolver_owner (label, archive, since, settled)",
                    rows,
                    "ON CONFLICT (label) DO UPDATE SET archive = excluded.archive, "
                    "since = excluded.since, settled = excluded.settled "
                    "WHERE excluded.settled OR NOT resolver_owner.settled",
                )
            )
