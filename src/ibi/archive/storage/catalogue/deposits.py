"""Deposits and reserved labels, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ibi.archive.ports.catalogue import Reservation
from ibi.archive.ports.deposits import Deposit
from ibi.errors import Sentence, StateError
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable, place_in_order
from ibi.foundation.sql.store import SqlHandle
from ibi.model.label_pair import Forms

_DEPOSIT = "SELECT id, opened, who, request, completed FROM archive_deposit"
_RESERVATION = "SELECT forms, reserved, who, note FROM archive_reservation"


class SqlDeposits:
    """Deposits, open and completed."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def open(self, deposit: Deposit) -> None:
        """Store a new deposit."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_deposit (id, opened, who, request, completed) "
                "VALUES ($1, $2, $3, $4, $5)",
                deposit.id,
                deposit.opened,
                deposit.who,
                deposit.request,
                deposit.completed,
            )
        )

    def get(self, id: str) -> Deposit | None:  # noqa: A002  # what it is called everywhere
        """Return a deposit, open or completed."""
        if not is_storable(id):
            return None
        rows = self._read(f"{_DEPOSIT} WHERE id = $1", id)
        return Deposit(*rows[0]) if rows else None

    def open_before(self, before: int) -> list[Deposit]:
        """Return open deposits that were opened before a time."""
        rows = self._read(
            f"{_DEPOSIT} WHERE completed = '' AND opened < $1 ORDER BY opened", before
        )
        return [Deposit(*row) for row in rows]

    def revise(self, id: str, request: str) -> bool:  # noqa: A002
        """Replace the request of an open deposit; return False if there is none."""
        update = (
            "UPDATE archive_deposit SET request = $1 WHERE id = $2 AND completed = '' RETURNING id"
        )
        return bool(self._write(lambda execute: execute(update, request, id)))

    def drop(self, id: str) -> bool:  # noqa: A002
        """Remove an open deposit; return False if there is none."""
        delete = "DELETE FROM archive_deposit WHERE id = $1 AND completed = '' RETURNING id"
        return bool(self._write(lambda execute: execute(delete, id)))


class SqlReservations:
    """Labels that are reserved for later items."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def add(self, reservations: Sequence[Reservation]) -> None:
        """Store reservations."""

        def work(execute: Execute) -> None:
            for each in reservations:
                for label in each.forms:
                    rows = execute(
                        "INSERT INTO archive_name (name, item) VALUES ($1, NULL) "
                        "ON CONFLICT DO NOTHING RETURNING name",
                        label.canonical,
                    )
                    if not rows:
                        msg = Sentence(
                            "%(label)s is taken already: no label is given twice.", label=label
                        )
                        raise StateError(msg)
                execute(
                    "INSERT INTO archive_reservation (label, short, forms, reserved, who, note) "
                    "VALUES ($1, $2, $3, $4, $5, $6)",
                    each.forms.label.canonical,
                    each.forms.short.canonical,
                    str(each.forms),
                    each.reserved,
                    each.who,
                    each.note,
                )

        self._write(work)

    def find(self, name: str) -> Reservation | None:
        """Return the reservation of a name; None if there is none or an item has the name."""
        rows = self._read(f"{_RESERVATION} WHERE label = $1 OR short = $1", name)
        return _reservation(rows[0]) if rows else None

    def page(self, after: str, limit: int) -> list[Reservation]:
        """Return reservations without an item after the name `after`, in the order of names."""
        rows = self._read(
            f"{_RESERVATION} WHERE label > $1 ORDER BY label LIMIT $2", place_in_order(after), limit
        )
        return [_reservation(row) for row in rows]


def _reservation(row: tuple[Any, ...]) -> Reservation:
    forms, reserved, who, note = row
    return Reservation(Forms.parse(forms), reserved, who, note)
