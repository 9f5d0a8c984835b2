"""Accounts, sessions, links and limits of guesses in SQL, the same on every database.

The tables are made by the migrations of each program; their names begin with that of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any, Final

from ibi.errors import FieldError, LastAdministratorError, NoAccountError, Sentence
from ibi.foundation.accounts.rules import mail_key
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.account import (
    ACTIVE,
    ADMINISTRATOR,
    Account,
    AccountLink,
    GuessLimit,
    Session,
)

_ACCOUNT: Final = "name, full_name, mail, role, state, password, subject, created, changed"
_SESSION: Final = "digest, account, created, seen, agent"
_LINK: Final = "digest, kind, account, role, mail, made_by, created, expires"

NO_ACCOUNT: Final = Sentence("There is no such account.")
NO_LINK: Final = Sentence("This link was used already, or has expired. Ask for another one.")


class SqlAccounts:
    """The accounts of one program."""

    def __init__(self, handle: SqlHandle, program: str) -> None:
        """Use the tables of a program."""
        self._read = handle.read
        self._write = handle.write
        self._lock = handle.database.for_update
        self._accounts = f"{program}_account"
        self._sessions = f"{program}_session"
        self._links = f"{program}_account_link"
        self._guesses = f"{program}_guess"

    def get(self, name: str) -> Account | None:
        """Return an account by its name."""
        return self._first("name", name)

    def find(self, mail: str = "", subject: str = "") -> Account | None:
        """Return the account with a mail address, or with a subject at an OpenID provider."""
        return self._first("mail_key", mail_key(mail)) if mail else self._first("subject", subject)

    def _first(self, column: str, value: str) -> Account | None:
        if not value or not is_storable(value):
            return None
        rows = self._read(f"SELECT {_ACCOUNT} FROM {self._accounts} WHERE {column} = $1", value)  # noqa: S608  # our own names
        return _account(rows[0]) if rows else None

    def page(self, after: str, limit: int) -> list[Account]:
        """Return accounts whose names follow a name, in the order of names."""
        rows = self._read(
            f"SELECT {_ACCOUNT} FROM {self._accounts} WHERE name > $1 ORDER BY name LIMIT $2",  # noqa: S608  # our own names
            after if is_storable(after) else "",
            limit,
        )
        return [_account(row) for row in rows]

    def has_administrator(self) -> bool:
        """Return whether there is an active administrator."""
        select = f"SELECT 1 FROM {self._accounts} WHERE role = $1 AND state = $2 LIMIT 1"  # noqa: S608  # our own names
        return bool(self._read(select, ADMINISTRATOR, ACTIVE))

    def add(self, account: Account, link: str = "") -> bool:
        """Store a new account, and use up a link; see the port."""

        def work(execute: Execute) -> bool:
            insert = (
                f"INSERT INTO {self._accounts} ({_ACCOUNT}, mail_key) "  # noqa: S608  # our own names
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                "ON CONFLICT DO NOTHING RETURNING name"
            )
            if not execute(insert, *_row(account)):
                return False
            if link:
                self._use(execute, link)
            return True

        return self._write(work)

    def _use(self, execute: Execute, link: str) -> None:
        """Remove a link; raise NoAccountError, which undoes the transaction, if there is none."""
        delete = f"DELETE FROM {self._links} WHERE digest = $1 RETURNING digest"  # noqa: S608  # our own names
        if not execute(delete, link):
            raise NoAccountError(NO_LINK)

    def change(self, name: str, change: Callable[[Account], Account], link: str = "") -> Account:
        """Change an account in one transaction, and use up a link; see the port."""
        if not is_storable(name):
            raise NoAccountError(NO_ACCOUNT)

        def work(execute: Execute) -> Account:
            # All administrators are locked, so that two cannot be the last to step down.
            select = f"SELECT {_ACCOUNT} FROM {self._accounts} WHERE name = $1 OR role = $2"  # noqa: S608  # our own names
            rows = execute(f"{select} ORDER BY name{self._lock}", name, ADMINISTRATOR)
            found = [_account(row) for row in rows]
            before = next((each for each in found if each.name == name), None)
            if before is None:
                raise NoAccountError(NO_ACCOUNT)
            after = change(before)
            others = [each for each in found if each.name != name]
            if _is_administrator(before) and not any(map(_is_administrator, (*others, after))):
                raise LastAdministratorError
            self._replace(execute, after)
            if link:
                self._use(execute, link)
            if not after.is_active:
                execute(f"DELETE FROM {self._sessions} WHERE account = $1", name)  # noqa: S608  # our own names
                execute(f"DELETE FROM {self._links} WHERE account = $1", name)  # noqa: S608  # our own names
            return after

        return self._write(work)

    def _replace(self, execute: Execute, account: Account) -> None:
        key = mail_key(account.mail) or None
        select = f"SELECT name FROM {self._accounts} WHERE mail_key = $1 AND name <> $2"  # noqa: S608  # our own names
        if key and execute(select, key, account.name):
            raise FieldError("mail", Sentence("Another account has this address."))
        execute(
            f"UPDATE {self._accounts} SET full_name = $1, mail = $2, role = $3, state = $4, "  # noqa: S608  # our own names
            "password = $5, subject = $6, changed = $7, mail_key = $8 WHERE name = $9",
            account.full_name,
            account.mail,
            account.role,
            account.state,
            account.password,
            account.subject or None,
            account.changed,
            key,
            account.name,
        )

    def add_session(self, session: Session, replaced: str = "") -> None:
        """Store a session; end the one with the digest `replaced`."""

        def work(execute: Execute) -> None:
            insert = f"INSERT INTO {self._sessions} ({_SESSION}) VALUES ($1, $2, $3, $4, $5)"  # noqa: S608  # our own names
            execute(insert, *astuple(session))
            if replaced:
                execute(f"DELETE FROM {self._sessions} WHERE digest = $1", replaced)  # noqa: S608  # our own names

        self._write(work)

    def session(self, digest: str) -> tuple[Session, Account] | None:
        """Return a session and its account, whatever their states."""
        columns = ", ".join(f"s.{each}" for each in _SESSION.split(", "))
        of_account = ", ".join(f"a.{each}" for each in _ACCOUNT.split(", "))
        rows = self._read(
            f"SELECT {columns}, {of_account} FROM {self._sessions} s "  # noqa: S608  # our own names
            f"JOIN {self._accounts} a ON a.name = s.account WHERE s.digest = $1",
            digest,
        )
        if not rows:
            return None
        count = _SESSION.count(",") + 1
        return Session(*rows[0][:count]), _account(rows[0][count:])

    def touch(self, digest: str, now: int) -> None:
        """Record that a session is used."""
        update = f"UPDATE {self._sessions} SET seen = $1 WHERE digest = $2 AND seen < $3"  # noqa: S608  # our own names
        self._write(lambda execute: execute(update, now, digest, now))

    def sessions(self, account: str) -> list[Session]:
        """Return the sessions of an account, the one used last first."""
        rows = self._read(
            f"SELECT {_SESSION} FROM {self._sessions} WHERE account = $1 "  # noqa: S608  # our own names
            "ORDER BY seen DESC, digest LIMIT 1000",
            account,
        )
        return [Session(*row) for row in rows]

    def end_session(self, digest: str, account: str = "") -> bool:
        """End a session, of an account if one is named; return False if there is none."""
        delete = (
            f"DELETE FROM {self._sessions} WHERE digest = $1 AND (account = $2 OR $3 = '') "  # noqa: S608  # our own names
            "RETURNING digest"
        )
        return is_storable(digest) and bool(
            self._write(lambda execute: execute(delete, digest, account, account))
        )

    def end_sessions(self, account: str, kept: str = "") -> int:
        """End the sessions of an account except one; return how many were ended."""
        delete = (
            f"DELETE FROM {self._sessions} WHERE account = $1 AND digest <> $2 RETURNING digest"  # noqa: S608  # our own names
        )
        return len(self._write(lambda execute: execute(delete, account, kept)))

    def add_link(self, link: AccountLink) -> None:
        """Store a link; a link of the same kind to the same account or address ends."""

        def work(execute: Execute) -> None:
            if link.account or link.mail:
                execute(
                    f"DELETE FROM {self._links} WHERE kind = $1 AND account = $2 AND mail = $3",  # noqa: S608  # our own names
                    link.kind,
                    link.account,
                    link.mail,
                )
            insert = f"INSERT INTO {self._links} ({_LINK}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"  # noqa: S608  # our own names
            execute(insert, *astuple(link))

        self._write(work)

    def link(self, digest: str) -> AccountLink | None:
        """Return a link."""
        rows = self._read(f"SELECT {_LINK} FROM {self._links} WHERE digest = $1", digest)  # noqa: S608  # our own names
        return _link(rows[0]) if rows else None

    def links(self) -> list[AccountLink]:
        """Return all links, the newest first."""
        select = f"SELECT {_LINK} FROM {self._links} ORDER BY created DESC, digest LIMIT 1000"  # noqa: S608  # our own names
        return [_link(row) for row in self._read(select)]

    def end_link(self, digest: str) -> bool:
        """Remove a link; return False if there is none."""
        delete = f"DELETE FROM {self._links} WHERE digest = $1 RETURNING digest"  # noqa: S608  # our own names
        return is_storable(digest) and bool(self._write(lambda execute: execute(delete, digest)))

    def charge(self, limits: Sequence[GuessLimit], now: int) -> int:
        """Count a guess by each limit; return 0, or the nanoseconds to wait if one is reached.

        Each limit is a time, up to which the guesses so far have used up the rate: a guess is
        refused if it would move the time further into the future than the burst allows.
        """

        def work(execute: Execute) -> int:
            times = {}
            for limit in sorted(limits):  # in one order, so that transactions do not deadlock
                start = f"INSERT INTO {self._guesses} (key, until) VALUES ($1, $2)"  # noqa: S608  # our own names
                execute(f"{start} ON CONFLICT DO NOTHING", limit.key, now)
                select = f"SELECT until FROM {self._guesses} WHERE key = $1{self._lock}"  # noqa: S608  # our own names
                [(until,)] = execute(select, limit.key)
                times[limit] = max(int(until), now) + limit.interval
            wait = max(time - now - each.at_once * each.interval for each, time in times.items())
            if wait > 0:
                return wait
            for limit, time in times.items():
                update = f"UPDATE {self._guesses} SET until = $1 WHERE key = $2"  # noqa: S608  # our own names
                execute(update, time, limit.key)
            return 0

        return self._write(work)

    def refund(self, limits: Sequence[GuessLimit]) -> None:
        """Take back one guess of each limit: it was none."""

        def work(execute: Execute) -> None:
            for limit in sorted(limits):
                update = f"UPDATE {self._guesses} SET until = until - $1 WHERE key = $2"  # noqa: S608  # our own names
                execute(update, limit.interval, limit.key)

        self._write(work)

    def forget(self, key: str) -> None:
        """Forget the guesses of a limit."""
        delete = f"DELETE FROM {self._guesses} WHERE key = $1"  # noqa: S608  # our own names
        self._write(lambda execute: execute(delete, key))

    def purge(self, now: int, begun: int, seen: int) -> None:
        """Remove what expired: sessions begun or last used before these times, links, limits."""

        def work(execute: Execute) -> None:
            execute(f"DELETE FROM {self._guesses} WHERE until < $1", now)  # noqa: S608  # our own names
            execute(f"DELETE FROM {self._links} WHERE expires < $1", now)  # noqa: S608  # our own names
            expired = f"DELETE FROM {self._sessions} WHERE created < $1 OR seen < $2"  # noqa: S608  # our own names
            execute(expired, begun, seen)

        self._write(work)


def _account(row: Sequence[Any]) -> Account:
    name, full_name, mail, role, state, password, subject, created, changed = row
    return Account(
        name=name,
        full_name=full_name,
        mail=mail,
        role=role,
        state=state,
        password=password,
        subject=subject or "",
        created=created,
        changed=changed,
    )


def _row(account: Account) -> tuple[object, ...]:
    name, full_name, mail, role, state, password, subject, created, changed = astuple(account)
    key = mail_key(mail) or None
    return name, full_name, mail, role, state, password, subject or None, created, changed, key


def _link(row: Sequence[Any]) -> AccountLink:
    digest, kind, account, role, mail, made_by, created, expires = row
    return AccountLink(
        digest=digest,
        kind=kind,
        account=account,
        role=role,
        mail=mail,
        made_by=made_by,
        created=created,
        expires=expires,
    )


def _is_administrator(account: Account) -> bool:
    return account.is_active and account.role == ADMINISTRATOR
