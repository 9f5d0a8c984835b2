"""Registered archives, their history, and challenges, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import groups, is_storable, marks, storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.store import (
    EVERY_EVENT,
    Challenge,
    ChangeArchive,
    EventChoice,
    RegistryEvent,
)
from ibi.resolver.rules.archive_transitions import with_seniority
from ibi.resolver.storage.documents import archive_document, read_archive
from ibi.resolver.storage.workers import append_changes, lock_feed

_CHALLENGE: Final = "token, service, host, administrator, made, until"


class SqlArchives:
    """Registered archives and their history."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def archives(self, names: Sequence[str] | None = None) -> list[RegisteredArchive]:
        """Return the archives with these ids, or all, by id."""
        everybody = "SELECT id, document FROM resolver_archive"
        if names is None:
            rows = self._handle.read(everybody)
        else:
            wanted = [name for name in names if is_storable(name)]
            rows = [
                row
                for group in groups(wanted)
                for row in self._handle.read(
                    f"{everybody} WHERE id IN {marks(1, len(group))}", *group
                )
            ]
        # Sorted here: databases order texts differently.
        return [read_archive(document) for _, document in sorted(rows)]

    def change_archive(self, name: str, change: ChangeArchive) -> RegisteredArchive | None:
        """Change an archive in a transaction of its own; return it as it is stored then."""

        def work(execute: Execute) -> RegisteredArchive | None:
            newest = lock_feed(execute)
            rows = execute("SELECT document FROM resolver_archive WHERE id = $1", storable(name))
            before = read_archive(rows[0][0]) if rows else None
            changed = change(before)
            if changed is None:
                return before
            after = changed.archive
            if after is not None:
                after = with_seniority(after, before, newest + 1)
            _keep(execute, name, after)
            if changed.event is not None:
                write_event(execute, changed.event)
            append_changes(execute, newest, [name], [])
            return after

        return self._handle.write(work)

    def note(self, event: RegistryEvent, labels: Sequence[str]) -> None:
        """Add to the history, and add these labels to the change feed."""

        def work(execute: Execute) -> None:
            newest = lock_feed(execute)
            write_event(execute, event)
            append_changes(execute, newest, [], labels)

        self._handle.write(work)

    def removed(self) -> list[str]:
        """Return the ids of all archives that were ever removed, by the history."""
        rows = self._handle.survey(
            "SELECT DISTINCT archive FROM resolver_event WHERE act = 'remove'"
        )
        return sorted(archive for (archive,) in rows)

    def newest_events(
        self, before: int, limit: int, choice: EventChoice = EVERY_EVENT
    ) -> list[RegistryEvent]:
        """Return the history, the newest first; before a number, or from the end if it is 0."""
        wanted = (choice.who, choice.act, choice.archive)
        if not all(map(is_storable, wanted)):
            return []
        rows = self._handle.read(
            "SELECT number, at, who, act, archive, detail FROM resolver_event "
            "WHERE number < $1 AND (who = $2 OR $2 = '') AND (act = $3 OR $3 = '') "
            "AND (archive = $4 OR $4 = '') ORDER BY number DESC LIMIT $5",
            before or 2**62,
            *wanted,
            limit,
        )
        return [RegistryEvent(*row) for row in rows]

    def acts(self) -> list[str]:
        """Return the acts that the history has, by their names."""
        rows = self._handle.read("SELECT DISTINCT act FROM resolver_event")
        return sorted(str(act) for (act,) in rows)  # databases order texts differently

    def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history, the oldest first, numbered later than `after`."""
        rows = self._handle.read(
            "SELECT number, at, who, act, archive, detail FROM resolver_event "
            "WHERE number > $1 ORDER BY number LIMIT $2",
            after,
            limit,
        )
        return [RegistryEvent(*row) for row in rows]


class SqlChallenges:
    """Registrations that wait for proof of control of a domain name."""

    def __init__(self, handle: SqlHandle) -> None:
        """Store them in a database."""
        self._handle = handle

    def keep_challenge(self, challenge: Challenge) -> None:
        """Store a challenge; replace one with the same token."""
        self._handle.write(
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
        """Return a challenge and delete it: of several callers one gets it."""
        if not is_storable(token):
            return None
        take = f"DELETE FROM resolver_challenge WHERE token = $1 RETURNING {_CHALLENGE}"  # noqa: S608  # our own names
        rows = self._handle.write(lambda execute: execute(take, token))
        return Challenge(*rows[0]) if rows else None

    def challenge(self, token: str) -> Challenge | None:
        """Return a challenge."""
        if not is_storable(token):
            return None
        select = f"SELECT {_CHALLENGE} FROM resolver_challenge WHERE token = $1"  # noqa: S608  # our own names
        rows = self._handle.read(select, token)
        return Challenge(*rows[0]) if rows else None

    def forget_challenges(self, before: int) -> int:
        """Delete the challenges that ended before a time; return how many are left."""

        def work(execute: Execute) -> int:
            execute("DELETE FROM resolver_challenge WHERE until < $1", before)
            [(left,)] = execute("SELECT count(*) FROM resolver_challenge")
            return int(left)

        return self._handle.write(work)


def _keep(execute: Execute, name: str, archive: RegisteredArchive | None) -> None:
    if archive is None:
        execute("DELETE FROM resolver_archive WHERE id = $1", name)
        return
    execute(
        "INSERT INTO resolver_archive (id, document) VALUES ($1, $2) "
        "ON CONFLICT (id) DO UPDATE SET document = excluded.document",
        name,
        archive_document(archive),
    )


def write_event(execute: Execute, event: RegistryEvent) -> None:
    """Write an entry of the history with the next number; it may contain text of strangers."""
    execute(
        "INSERT INTO resolver_event (at, who, act, archive, detail) VALUES ($1, $2, $3, $4, $5)",
        event.at,
        *map(storable, (event.who, event.act, event.archive, event.detail)),
    )
