"""Sessions of people who are signed in, in the database.

A session is known by a random secret of 256 bits in a cookie, of which only a digest is stored. It
is another secret after each sign-in: what a browser had before gives no access (session fixation).
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Final

from ibi.errors import StorageError, printable
from ibi.foundation.accounts.rules import (
    HOUR,
    LONGEST_AGENT,
    SESSION_IDLE,
    SESSION_LONGEST,
    is_current,
    is_seen_again,
)
from ibi.foundation.web.tokens import digest
from ibi.model.account import Account, AccountStore, Session
from ibi.model.clock import Clock

_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Return the secret of a session or a link."""
    return secrets.token_urlsafe(_SECRET_BYTES)


class Sessions:
    """The sessions of one program."""

    def __init__(self, store: AccountStore, clock: Clock, *, is_reader: bool = False) -> None:
        """Use a store; a reader process writes nothing, so it does not record that one is used."""
        self._store = store
        self._clock = clock
        self._is_reader = is_reader
        self._purged = 0

    def begin(self, account: Account, agent: str, replaced: str = "") -> str:
        """Begin a session and return its secret; the session of the secret `replaced` ends."""
        now, secret = self._clock.wall(), new_secret()
        self._purge(now)
        name = printable(agent[:LONGEST_AGENT])
        session = Session(digest(secret), account.name, now, now, name)
        self._store.add_session(session, digest(replaced) if replaced else "")
        return secret

    def find(self, secret: str) -> Account | None:
        """Return the account of a session that authorizes requests; None if there is none."""
        found = self._store.session(digest(secret))
        if found is None:
            return None
        session, account = found
        now = self._clock.wall()
        if not is_current(session, account, now):
            return None
        if not self._is_reader and is_seen_again(session, now):
            with suppress(StorageError):  # on a full disk pages can still be read
                self._store.touch(session.digest, now)
        return account

    def of(self, account: str) -> list[Session]:
        """Return the sessions of an account that authorize requests, the one used last first."""
        owner, now = self._store.get(account), self._clock.wall()
        if owner is None:
            return []
        return [each for each in self._store.sessions(account) if is_current(each, owner, now)]

    def end(self, secret: str) -> None:
        """End a session by its secret."""
        self._store.end_session(digest(secret))

    def end_one(self, digest_: str, account: str) -> bool:
        """End a session of an account by its digest; return False if there is none."""
        return self._store.end_session(digest_, account)

    def end_all(self, account: str, kept: str = "") -> int:
        """End the sessions of an account, except that of the secret `kept`; return how many."""
        return self._store.end_sessions(account, digest(kept) if kept else "")

    def _purge(self, now: int) -> None:
        """Remove what expired, at most once an hour: it accumulates only while people sign in."""
        if not 0 <= now - self._purged < HOUR:
            self._purged = now
            self._store.purge(now, now - SESSION_LONGEST, now - SESSION_IDLE)
