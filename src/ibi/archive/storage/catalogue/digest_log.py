"""The log of the names that an archive holds, in SQL: the source of its digest.

Each row is written in the transaction of the change that it records. Row numbers grow by random
steps: a client that sends a number which is not in the log has read rows that this database lost,
for example because it was restored from a backup. No row is inserted before one that was read,
because a transaction locks the one row of `archive_epoch` until it ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from ibi.archive.ports.catalogue import DigestState, NameChange
from ibi.archive.rules.manifest import read_document
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import insert_rows
from ibi.foundation.sql.store import SqlHandle
from ibi.model.item import Item
from ibi.wire.digest import FINGERPRINT_OCTETS, fingerprint

_STEP_BITS: Final = 24
"""Bits of a random step; leaves room for 2^38 changes, and misses one lost row in 2^24."""
_NAMES: Final = 1000
"""Names of one row, so that a page has room for any row; an item with more has several rows."""
_PART: Final = 200
"""Items that are logged in one transaction, which blocks all other writers."""
_QUICK_ROWS: Final = 500
"""Rows that are read in the common connection, within a millisecond."""
_CHANGES: Final = (
    "SELECT number, names, held FROM archive_digest "
    "WHERE number > $1 AND number <= $2 ORDER BY number LIMIT $3"
)
_WHOLE: Final = 2**62
"""The value of `filled` when all items that are older than the log have been logged."""


class SqlDigestLog:
    """The log of names."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._write = handle.write
        self._read = handle.read
        self._survey = handle.survey

    def state(self) -> DigestState:
        """Return the state of the log."""
        [(epoch, last, filled)] = self._read("SELECT epoch, last, filled FROM archive_epoch")
        return DigestState(epoch, last, filled == _WHOLE)

    def has(self, number: int) -> bool:
        """Return whether there is a row of that number."""
        return bool(self._read("SELECT 1 FROM archive_digest WHERE number = $1", number))

    def changes(self, after: int, last: int, limit: int) -> list[NameChange]:
        """Return rows numbered greater than `after` and up to `last`, in order."""
        few = min(_QUICK_ROWS, limit)
        rows = self._read(_CHANGES, after, last, few)
        if len(rows) == few < limit:
            # So many rows are read apart: in the common connection, all other reads would wait.
            rows += self._survey(_CHANGES, rows[-1][0], last, limit - few)
        return [NameChange(*row) for row in rows]

    def fill(self) -> bool:
        """Log some items that are older than the log; return False if none is left."""

        def work(execute: Execute) -> bool:
            select = f"SELECT filled FROM archive_epoch{self._database.for_update}"  # noqa: S608  # ours
            [(filled,)] = execute(select)
            rows = execute(
                "SELECT id, document FROM archive_item WHERE id > $1 ORDER BY id LIMIT $2",
                filled,
                _PART,
            )
            note_names(execute, [(names_of(read_document(text)), True) for _, text in rows])
            place = rows[-1][0] if rows else _WHOLE
            execute("UPDATE archive_epoch SET filled = $1", place)
            return bool(rows)

        return not self.state().whole and self._write(work)


def names_of(item: Item) -> list[str]:
    """Return the names of an item, in their canonical spelling."""
    return [label.canonical for label in item.names]


def note_names(execute: Execute, noted: Sequence[tuple[Iterable[str], bool]]) -> None:
    """Log the names of items, each with whether it was added or removed."""
    packed = [(part, held) for names, held in noted for part in _packed(names)]
    if not packed:
        return
    step = len(packed) + secrets.randbits(_STEP_BITS)
    [(last,)] = execute("UPDATE archive_epoch SET last = last + $1 RETURNING last", step)
    rows = [(number, *row) for number, row in enumerate(packed, last - len(packed) + 1)]
    insert_rows(execute, "archive_digest (number, names, held)", rows, "")


def begin_epoch(execute: Execute, database: Database) -> None:
    """Empty the log, to be filled anew; clients notice that by the new epoch."""
    execute(f"{database.emptying} archive_digest")
    begin = "UPDATE archive_epoch SET epoch = $1, last = 0, filled = 0"
    execute(begin, secrets.token_hex(16))


def _packed(names: Iterable[str]) -> list[bytes]:
    """Return the concatenated fingerprints of names, divided into rows."""
    octets = b"".join(
        [fingerprint(name).to_bytes(FINGERPRINT_OCTETS) for name in dict.fromkeys(names)]
    )
    part = _NAMES * FINGERPRINT_OCTETS
    return [octets[start : start + part] for start in range(0, len(octets), part)]
