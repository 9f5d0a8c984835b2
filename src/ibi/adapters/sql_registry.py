"""Registered archives, their history, and challenges, in SQL."""

from __future__ import annotations

from typing import Final

from ibi.adapters.database import Execute
from ibi.adapters.registry_documents import archive_document, read_archive
from ibi.adapters.sql_store import SqlStore
from ibi.adapters.sql_text import is_storable, storable
from ibi.model.registration import RegisteredArchive
from ibi.ports import Challenge, RegistryEvent

_CHALLENGE: Final = "token, service, host, administrator, made, until"


class SqlRegistry(SqlStore):
    """What a resolver knows of archives."""

    def archives(self) -> list[RegisteredArchive]:
        """Return all, by id."""
        rows = self._read("SELECT id, document FROM resolver_archive")
        # Sorted here: a database has an order of its own for texts.
        return [read_archive(document) for _, document in sorted(rows)]

    def keep_archive(self, archive: RegisteredArchive, event: RegistryEvent | None) -> None:
        """Keep an archive in the place of what was kept of it, and the event with it."""

        def work(execute: Execute) -> None:
            execute(
                "INSERT INTO resolver_archive (id, document) VALUES ($1, $2) "
                "ON CONFLICT (id) DO UPDATE SET document = excluded.document",
                archive.id,
                archive_document(archive),
            )
            if event is not None:
                _note(execute, event)

        self._write(work)

    def drop_archive(self, id: str, event: RegistryEvent) -> bool:  # noqa: A002  # as it is called
        """Forget an archive; False if there was none, and then nothing is noted."""

        def work(execute: Execute) -> bool:
            gone = bool(execute("DELETE FROM resolver_archive WHERE id = $1 RETURNING id", id))
            if gone:
                _note(execute, event)
            return gone

        return is_storable(id) and self._write(work)

    def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history, the oldest first, numbered later than `after`."""
        rows = self._read(
            "SELECT number, at, who, act, archive, detail FROM resolver_event "
            "WHERE number > $1 ORDER BY number LIMIT $2",
            after,
            limit,
        )
        return [RegistryEvent(*row) for row in rows]

    def keep_challenge(self, challenge: Challenge) -> None:
        """Keep a challenge, in the place of one of the same token."""
        self._write(
            lambda execute: execute(
                "INSERT INTO resolver_challenge "
                "(token, service, host, administrator, made, until) "
                "VALUES ($1, $2, $3, $4, $5, $6) "
                "ON CONFLICT (token) DO UPDATE SET service = excluded.service, "
                "host = excluded.host, administrator = excluded.administrator, "
                "made = excluded.made, until = excluded.until",
                challenge.token,
                challenge.service,
                challenge.host,
                challenge.administrator,
                challenge.made,
                challenge.until,
            )
        )

    def take_challenge(self, token: str) -> Challenge | None:
        """Return a challenge and forget it: of many who take it one gets it."""
        if not is_storable(token):
            return None
        take = f"DELETE FROM resolver_challenge WHERE token = $1 RETURNING {_CHALLENGE}"  # noqa: S608  # our own names
        rows = self._write(lambda execute: execute(take, token))
        return Challenge(*rows[0]) if rows else None

    def challenge(self, token: str) -> Challenge | None:
        """Return a challenge."""
        if not is_storable(token):
            return None
        select = f"SELECT {_CHALLENGE} FROM resolver_challenge WHERE token = $1"  # noqa: S608  # our own names
        rows = self._read(select, token)
        return Challenge(*rows[0]) if rows else None

    def forget_challenges(self, before: int) -> int:
        """Forget those that ended before a time; return how many are left."""

        def work(execute: Execute) -> int:
            execute("DELETE FROM resolver_challenge WHERE until < $1", before)
            [(left,)] = execute("SELECT count(*) FROM resolver_challenge")
            return int(left)

        return self._write(work)


def _note(execute: Execute, event: RegistryEvent) -> None:
    """Write a line of history; its number is the next. What a stranger wrote may stand in it."""
    execute(
        "INSERT INTO resolver_event (at, who, act, archive, detail) VALUES ($1, $2, $3, $4, $5)",
        event.at,
        *map(storable, (event.who, event.act, event.archive, event.detail)),
    )
