"""Which archive holds which item, in SQL: fingerprints with the numbers of their digests.

There may be very many. So a row has only the columns of its key, and there is no index by digest:
the fingerprints of dropped digests are deleted a part at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import groups, insert_rows, marks
from ibi.foundation.sql.store import SqlHandle
from ibi.resolver.ports.store import DigestProgress, DigestRefusal
from ibi.wire.digest import DigestPage

_COLUMNS: Final = "archive, number, epoch, last, whole, confirmed, count"
_PART: Final = 4096
"""Fingerprints that are written in one transaction: all other writers wait for so long."""
_SWEEP_BATCH: Final = 10_000
"""Fingerprints that one sweep visits."""
_SWEEPING: Final = "sweeping"
"""The epoch of a dropped digest, once its fingerprints are being deleted."""
_REFUSALS: Final = {refusal.name: refusal for refusal in DigestRefusal}
"""What the epoch of a refused digest stands for: an epoch of an archive is hexadecimal."""


_Change: TypeAlias = Callable[[Execute, int, Sequence[int]], int]
"""Inserts or deletes fingerprints of a digest, and returns the change of their number."""


class SqlLocations:
    """The digests of archives, as far as they were fetched."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def digests(self) -> list[DigestProgress]:
        """Return how much of each archive's digest is stored."""
        select = f"SELECT {_COLUMNS} FROM resolver_digest WHERE archive <> ''"  # noqa: S608  # ours
        # There may be 100,000, so this read must not block reads of single items.
        return [_kept(row) for row in self._handle.survey(select)]

    def begin_digest(self, archive: str, most: int) -> DigestProgress | None:
        """Begin a digest anew; its old fingerprints are ignored, and deleted later.

        None, and it is not begun, while more than `most` fingerprints wait to be deleted: an
        archive that begins anew again and again cannot fill the disk.
        """

        def work(execute: Execute) -> DigestProgress | None:
            _forget(execute, archive)
            waiting = "SELECT coalesce(sum(count), 0) FROM resolver_digest WHERE archive = ''"
            if int(execute(waiting)[0][0]) > most:
                return None
            return _begin(execute, archive)

        return self._handle.write(work)

    def drop_digest(self, archive: str) -> None:
        """Drop a digest; its fingerprints are deleted later."""
        self._handle.write(lambda execute: _forget(execute, archive))

    def refuse_digest(self, archive: str, refusal: DigestRefusal) -> DigestProgress:
        """Drop a digest, and store why it was refused."""

        def work(execute: Execute) -> DigestProgress:
            _forget(execute, archive)
            return _begin(execute, archive, refusal.name)

        return self._handle.write(work)

    def keep_page(self, digest: DigestProgress, page: DigestPage, at: int) -> DigestProgress | None:
        """Store a page that was received at a time, and return the progress of the digest.

        The page is written in parts, and its cursor with the last one: until then the same page is
        requested again.
        """
        steps = [(_insert, part) for part in _parts(page.held)]
        steps += [(_delete, part) for part in _parts(page.dropped)]
        for change, part in steps:
            if not self._handle.write(partial(self._keep, digest, change, part)):
                return None
        return self._handle.write(lambda execute: _advance(execute, digest, page, at))

    def _keep(
        self, digest: DigestProgress, change: _Change, part: Sequence[int], execute: Execute
    ) -> bool:
        """Write a part of a page; return False if another process changed the digest."""
        select = "SELECT last FROM resolver_digest WHERE number = $1 AND archive <> ''"
        held = execute(select + self._handle.database.for_update, digest.number)
        if held != [(digest.last,)]:
            return False
        count = "UPDATE resolver_digest SET count = count + $1 WHERE number = $2"
        execute(count, change(execute, digest.number, part), digest.number)
        return True

    def sweep_digests(self, after: int) -> int:
        """Delete some fingerprints of dropped digests, from a fingerprint on."""
        if not after:
            if not self._handle.read("SELECT 1 FROM resolver_digest WHERE archive = '' LIMIT 1"):
                return 0
            begin = "UPDATE resolver_digest SET epoch = $1 WHERE archive = ''"
            self._handle.write(lambda execute: execute(begin, _SWEEPING))
        far = (
            "SELECT fingerprint FROM resolver_holding WHERE fingerprint >= $1 "
            "ORDER BY fingerprint LIMIT 1 OFFSET $2"
        )
        rows = self._handle.read(far, after, _SWEEP_BATCH)
        end = int(rows[0][0]) + 1 if rows else 0
        self._handle.write(lambda execute: _sweep(execute, after, end))
        return end

    def holders(self, fingerprint: int) -> list[int]:
        """Return the numbers of the digests that have a fingerprint."""
        rows = self._handle.read(
            "SELECT digest FROM resolver_holding WHERE fingerprint = $1", fingerprint
        )
        return [number for (number,) in rows]

    def holders_of_each(self, fingerprints: Sequence[int]) -> list[tuple[int, int]]:
        """Return which of the fingerprints are in which digests, by the numbers of these."""
        select = "SELECT fingerprint, digest FROM resolver_holding WHERE fingerprint IN"
        return [
            (found, number)
            for group in groups(fingerprints)
            for found, number in self._handle.survey(f"{select} {marks(1, len(group))}", *group)
        ]


def _kept(row: tuple[Any, ...]) -> DigestProgress:
    archive, number, epoch, last, whole, confirmed, count = row
    refusal = _REFUSALS.get(epoch)
    epoch = epoch if refusal is None else ""
    return DigestProgress(archive, number, epoch, last, bool(whole), confirmed, count, refusal)


def _begin(execute: Execute, archive: str, epoch: str = "") -> DigestProgress:
    begin = (
        "INSERT INTO resolver_digest (archive, epoch, last, whole, confirmed, count) "  # noqa: S608  # ours
        f"VALUES ($1, $2, 0, $3, 0, 0) RETURNING {_COLUMNS}"
    )
    [row] = execute(begin, archive, epoch, False)  # noqa: FBT003  # the value of a column
    return _kept(row)


def _forget(execute: Execute, archive: str) -> None:
    execute("UPDATE resolver_digest SET archive = '', epoch = '' WHERE archive = $1", archive)


def _advance(
    execute: Execute, digest: DigestProgress, page: DigestPage, at: int
) -> DigestProgress | None:
    """Store the progress of a digest; return None if another process changed it."""
    rows = execute(
        "UPDATE resolver_digest SET epoch = $1, last = $2, whole = $3, confirmed = $4 "  # noqa: S608  # ours
        f"WHERE number = $5 AND last = $6 AND archive <> '' RETURNING {_COLUMNS}",
        page.epoch,
        page.last,
        digest.whole or not page.more,
        digest.confirmed if page.more else at,
        digest.number,
        digest.last,
    )
    return _kept(rows[0]) if rows else None


def _parts(fingerprints: Sequence[int]) -> list[Sequence[int]]:
    return [fingerprints[start : start + _PART] for start in range(0, len(fingerprints), _PART)]


def _insert(execute: Execute, number: int, part: Sequence[int]) -> int:
    rows = [(each, number) for each in part]
    into, then = "resolver_holding (fingerprint, digest)", "ON CONFLICT DO NOTHING RETURNING 1"
    return len(insert_rows(execute, into, rows, then))


def _delete(execute: Execute, number: int, part: Sequence[int]) -> int:
    gone = 0
    for group in groups(part):
        places = ", ".join(f"${place}" for place in range(2, len(group) + 2))
        delete = (
            f"DELETE FROM resolver_holding WHERE digest = $1 AND fingerprint IN ({places}) "  # noqa: S608  # ours
            "RETURNING 1"
        )
        gone += len(execute(delete, number, *group))
    return -gone


def _sweep(execute: Execute, after: int, end: int) -> None:
    """Delete between two fingerprints, the later not included; 0: all that follow."""
    execute(
        "DELETE FROM resolver_holding WHERE fingerprint >= $1 AND fingerprint < $2 "
        "AND digest NOT IN (SELECT number FROM resolver_digest WHERE archive <> '')",
        after,
        end or 2**62,
    )
    if not end:
        execute("DELETE FROM resolver_digest WHERE archive = '' AND epoch = $1", _SWEEPING)
