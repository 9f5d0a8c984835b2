"""The catalogue in SQL, the same for every database behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ibi.archive.ports.catalogue import WHOLE, HistoryChoice, HistoryEntry
from ibi.archive.storage.catalogue.deposits import SqlDeposits
from ibi.archive.storage.catalogue.digest_log import SqlDigestLog
from ibi.archive.storage.catalogue.items import SqlItems
from ibi.archive.storage.catalogue.maintenance import SqlMaintenance
from ibi.archive.storage.catalogue.rebuild import SqlRebuild
from ibi.archive.storage.catalogue.statistics import SqlStatistics
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable
from ibi.foundation.sql.store import SqlStore

_HISTORY: Final = "SELECT number, change, at, who, act, label, detail FROM archive_history"
_END: Final = 2**62


class SqlHistory:
    """What a catalogue knows of the past."""

    _survey: Callable[..., list[tuple[Any, ...]]]

    def history(
        self, after: int, limit: int, choice: HistoryChoice = WHOLE, *, newest_first: bool = False
    ) -> list[HistoryEntry]:
        """Return what was done, the oldest first, numbered later than `after`."""
        if not _is_storable(choice):
            return []
        if newest_first:
            where, values = _where(choice, ("number <", after or _END))
        else:
            where, values = _where(choice, ("number >", after))
        order = "DESC" if newest_first else "ASC"
        last = f"ORDER BY number {order} LIMIT ${len(values) + 1}"
        rows = self._survey(f"{_HISTORY} {where} {last}", *values, limit)
        return [HistoryEntry(*row) for row in rows]

    def acts(self, choice: HistoryChoice = WHOLE) -> dict[str, int]:
        """Return how often each act was done, by its name."""
        if not _is_storable(choice):
            return {}
        where, values = _where(choice, ("number >", 0))
        rows = self._survey(
            f"SELECT act, count(*) FROM archive_history {where} GROUP BY act",  # noqa: S608  # no values
            *values,
        )
        # Sorted here: a database has an order of its own for texts.
        return {str(act): int(count) for act, count in sorted(rows)}


def _is_storable(choice: HistoryChoice) -> bool:
    """Tell whether a database can be asked for it; what no database can have is nowhere."""
    return all(map(is_storable, (choice.label, choice.act, choice.who)))


def _where(choice: HistoryChoice, first: tuple[str, int]) -> tuple[str, list[object]]:
    """Return the conditions of a SELECT, and their values."""
    conditions = [
        (condition, value)
        for condition, value in (
            ("label =", choice.label),
            ("act =", choice.act),
            ("who =", choice.who),
            ("at >=", choice.since),
            ("at <", choice.before),
        )
        if value
    ]
    texts = [f"{text} ${place}" for place, (text, _) in enumerate([first, *conditions], 1)]
    return f"WHERE {' AND '.join(texts)}", [first[1], *(value for _, value in conditions)]


class SqlCatalogue(
    SqlStore, SqlItems, SqlHistory, SqlDeposits, SqlStatistics, SqlMaintenance, SqlDigestLog
):
    """A catalogue on a database."""

    token_table = "archive_token"  # noqa: S105  # the name of a table

    def setting(self, name: str) -> str:
        """Return what was kept under a name; empty if nothing was."""
        rows = self._read("SELECT value FROM archive_setting WHERE name = $1", name)
        return str(rows[0][0]) if rows else ""

    def keep_setting(self, name: str, value: str) -> str:
        """Keep a value unless there is one, and return what stands there."""

        def work(execute: Execute) -> str:
            execute(
                "INSERT INTO archive_setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                name,
                value,
            )
            [(stands,)] = execute("SELECT value FROM archive_setting WHERE name = $1", name)
            return str(stands)

        return self._write(work)

    def renewal(self) -> SqlRebuild:
        """Begin to write all items anew, or find what somebody began and could not finish."""
        return SqlRebuild(self._write, self._read, self._database)

    def links(self) -> dict[str, str]:
        """Return what is kept of each resolver."""
        rows = self._read("SELECT resolver, document FROM archive_link")
        # Sorted here: a database has an order of its own for texts.
        return {str(resolver): str(document) for resolver, document in sorted(rows)}

    def keep_link(self, resolver: str, document: str) -> None:
        """Keep it, in the place of what was kept before."""
        self._write(
            lambda execute: execute(
                "INSERT INTO archive_link (resolver, document) VALUES ($1, $2) "
                "ON CONFLICT (resolver) DO UPDATE SET document = excluded.document",
                resolver,
                document,
            )
        )

    def drop_link(self, resolver: str) -> None:
        """Forget a resolver."""
        self._write(
            lambda execute: execute("DELETE FROM archive_link WHERE resolver = $1", resolver)
        )
