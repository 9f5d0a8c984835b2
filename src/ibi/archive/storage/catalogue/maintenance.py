"""Tasks, transfers, copies, their holders and damage, in SQL."""

from __future__ import annotations

from typing import Any, Final

from ibi.archive.ports.maintenance import CopyRecord, Damage, HolderRecord, TransferRecord
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable, place_in_order, storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.task import Task, TaskState

_TASK: Final = (
    "SELECT id, kind, who, begun, request, state, done, total, place, note, result, ended "
    "FROM archive_task"
)
_EXCHANGE: Final = "SELECT id, label, role, peer, secret, since, state, fault FROM archive_exchange"
_COPY: Final = "SELECT label, checked, missing, fault FROM archive_copy"
_DROP_OTHERS: Final = (
    "DELETE FROM archive_copy WHERE label NOT IN "
    "(SELECT label FROM archive_item WHERE state = 'Copy' AND kind = 'data')"
)
_ADD_COPIES: Final = (
    "INSERT INTO archive_copy (label, checked, missing, fault) SELECT label, 0, 0, '' "
    "FROM archive_item WHERE state = 'Copy' AND kind = 'data' ON CONFLICT DO NOTHING"
)
_DAMAGE: Final = "SELECT label, path, found, what FROM archive_damage"
_ALL: Final = 2**31
"""A limit above any number of rows."""


class SqlTasks:
    """Tasks; those that have ended stay, as a record."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def keep(self, task: Task) -> None:
        """Store a task, replacing an earlier state."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_task (id, kind, who, begun, request, state, done, total, "
                "place, note, result, ended) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
                "$11, $12) ON CONFLICT (id) DO UPDATE SET state = excluded.state, "
                "done = excluded.done, total = excluded.total, place = excluded.place, "
                "note = excluded.note, result = excluded.result, ended = excluded.ended",
                task.id,
                task.kind,
                task.who,
                task.begun,
                task.request,
                str(task.state),
                task.done,
                task.total,
                task.place,
                storable(task.note),
                task.result,
                task.ended,
            )
        )

    def get(self, id: str) -> Task | None:  # noqa: A002  # what it is called everywhere
        """Return a task; None if there is none."""
        rows = self._read(f"{_TASK} WHERE id = $1", id) if is_storable(id) else []
        return _task(rows[0]) if rows else None

    def newest(self, limit: int, kind: str = "") -> list[Task]:
        """Return the newest tasks of one kind or of all kinds, the newest first."""
        if kind:
            only = f"{_TASK} WHERE kind = $1 ORDER BY begun DESC, id LIMIT $2"
            rows = self._read(only, storable(kind), limit)
        else:
            rows = self._read(f"{_TASK} ORDER BY begun DESC, id LIMIT $1", limit)
        return [_task(row) for row in rows]

    def unfinished(self) -> list[Task]:
        """Return the tasks that have not ended, the oldest first."""
        rows = self._read(f"{_TASK} WHERE state IN ('waiting', 'running') ORDER BY begun, id")
        return [_task(row) for row in rows]


class SqlTransfers:
    """Transfers; those that have ended stay, so that no late message reopens them."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def keep(self, exchange: TransferRecord) -> None:
        """Store a record, replacing an earlier one."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_exchange (id, label, role, peer, secret, since, state, fault) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET "
                "peer = excluded.peer, secret = excluded.secret, state = excluded.state, "
                "fault = excluded.fault",
                exchange.id,
                exchange.label,
                exchange.role,
                exchange.peer,
                exchange.secret,
                exchange.since,
                exchange.state,
                storable(exchange.fault),
            )
        )

    def get(self, id: str) -> TransferRecord | None:  # noqa: A002
        """Return a transfer; None if there is none."""
        rows = self._read(f"{_EXCHANGE} WHERE id = $1", id) if is_storable(id) else []
        return _exchange(rows[0]) if rows else None

    def listed(self, state: str = "", limit: int = 0) -> list[TransferRecord]:
        """Return the newest transfers of a state or of all states, the oldest of them first."""
        if state:
            only = f"{_EXCHANGE} WHERE state = $1 ORDER BY since DESC, id DESC LIMIT $2"
            rows = self._read(only, state, limit or _ALL)
        else:
            rows = self._read(f"{_EXCHANGE} ORDER BY since DESC, id DESC LIMIT $1", limit or _ALL)
        return [_exchange(row) for row in reversed(rows)]


class SqlCopies:
    """Records of copies."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def keep(self, copy: CopyRecord) -> None:
        """Store a record, replacing an earlier one."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_copy (label, checked, missing, fault) "
                "VALUES ($1, $2, $3, $4) ON CONFLICT (label) DO UPDATE SET "
                "checked = excluded.checked, missing = excluded.missing, fault = excluded.fault",
                copy.label,
                copy.checked,
                copy.missing,
                storable(copy.fault),
            )
        )

    def get(self, label: str) -> CopyRecord | None:
        """Return the record of a copy; None if there is none."""
        rows = self._read(f"{_COPY} WHERE label = $1", label)
        return _copy(rows[0]) if rows else None

    def due(self, checked_before: int, limit: int) -> list[CopyRecord]:
        """Return copies that were last checked before a time, the longest ago first."""
        rows = self._read(
            f"{_COPY} WHERE checked < $1 ORDER BY checked, label LIMIT $2", checked_before, limit
        )
        return [_copy(row) for row in rows]

    def drop(self, label: str) -> None:
        """Remove the record of a copy."""
        self._write(lambda execute: execute("DELETE FROM archive_copy WHERE label = $1", label))

    def match_items(self) -> None:
        """Make one record for each item of data that is a Copy, and remove all others."""

        def work(execute: Execute) -> None:
            execute(_DROP_OTHERS)
            execute(_ADD_COPIES)

        self._write(work)

    def page(self, after: str, limit: int, *, faulty: bool = False) -> list[CopyRecord]:
        """Return records with labels after `after`, in order.

        With `faulty`, return only those with a fault or a missing Original.
        """
        only = " AND (missing > 0 OR fault <> '')" if faulty else ""
        rows = self._read(
            f"{_COPY} WHERE label > $1{only} ORDER BY label LIMIT $2", place_in_order(after), limit
        )
        return [_copy(row) for row in rows]

    def count(self) -> tuple[int, int]:
        """Return the number of copies, and of those whose Original is missing."""
        [(copies, missing)] = self._read(
            "SELECT count(*), count(CASE WHEN missing > 0 THEN 1 END) FROM archive_copy"
        )
        return int(copies), int(missing)


class SqlHolders:
    """Other archives that hold an item."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def keep(self, holder: HolderRecord) -> None:
        """Store a record, replacing an earlier one."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_holder (label, address, name, seen) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (label, address) DO UPDATE SET name = excluded.name, "
                "seen = excluded.seen",
                holder.label,
                storable(holder.address),
                storable(holder.name),
                holder.seen,
            )
        )

    def of(self, label: str, limit: int) -> list[HolderRecord]:
        """Return the holders of an item, those that were verified last first."""
        rows = self._read(
            "SELECT address, name, seen FROM archive_holder WHERE label = $1 "
            "ORDER BY seen DESC, address LIMIT $2",
            label,
            limit,
        )
        return [
            HolderRecord(label=label, address=address, name=name, seen=seen)
            for address, name, seen in rows
        ]


class SqlDamages:
    """Damaged files, until they are repaired."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def keep(self, damage: Damage) -> None:
        """Store the damage of a file, replacing an earlier record of it."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_damage (label, path, found, what) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (label, path) DO UPDATE SET what = excluded.what",
                damage.label,
                damage.path,
                damage.found,
                storable(damage.what),
            )
        )

    def page(self, after: tuple[str, str] = ("", ""), limit: int = 0) -> list[Damage]:
        """Return damage after a label and path, in order; all of it if `limit` is 0."""
        label, path = map(place_in_order, after)
        rows = self._read(
            f"{_DAMAGE} WHERE label > $1 OR (label = $1 AND path > $2) "
            "ORDER BY label, path LIMIT $3",
            label,
            path,
            limit or _ALL,
        )
        return [
            Damage(label=label, path=path, found=found, what=what)
            for label, path, found, what in rows
        ]

    def drop(self, label: str, path: str) -> None:
        """Remove the record of a file that is repaired, or was removed by a change."""
        delete = "DELETE FROM archive_damage WHERE label = $1 AND path = $2"
        self._write(lambda execute: execute(delete, label, path))


def _task(row: tuple[Any, ...]) -> Task:
    names = ("id", "kind", "who", "begun", "request", "state", "done", "total", "place", "note")
    fields = dict(zip((*names, "result", "ended"), row, strict=True))
    return Task(**(fields | {"state": TaskState(fields["state"])}))


def _exchange(row: tuple[Any, ...]) -> TransferRecord:
    names = ("id", "label", "role", "peer", "secret", "since", "state", "fault")
    return TransferRecord(**dict(zip(names, row, strict=True)))


def _copy(row: tuple[Any, ...]) -> CopyRecord:
    label, checked, missing, fault = row
    return CopyRecord(label=label, checked=checked, missing=missing, fault=fault)
