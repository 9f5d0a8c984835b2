"""Accounts of people, their sessions and one-time links, and the interface of their storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

VIEWER: Final = "viewer"
DEPOSITOR: Final = "depositor"
CURATOR: Final = "curator"
ADMINISTRATOR: Final = "administrator"
ROLES: Final = (VIEWER, DEPOSITOR, CURATOR, ADMINISTRATOR)
"""The roles, the weakest first. A program maps each role that it has to a scope."""

RoleScopes: TypeAlias = Mapping[str, str]
"""The scope of each role that a program has, by the name of the role."""

ACTIVE: Final = "active"
INACTIVE: Final = "inactive"
REMOVED: Final = "removed"
"""The state of an account whose personal data was erased; its name is never given again."""

INVITATION: Final = "invitation"
RESET: Final = "reset"

OWNER_MARK: Final = "@"
"""Begins the names of accounts in histories; no name of a token begins with it or contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account of a person."""

    name: str
    """The name for signing in, in lower case; it never changes."""
    full_name: str
    mail: str = ""
    role: str
    state: str = ACTIVE
    password: str = ""
    """A salted hash; empty if the person signs in elsewhere, or not yet."""
    subject: str = ""
    """Issuer and subject at an OpenID provider, separated by a space; empty if there is none."""
    created: int
    changed: int
    """When the password or the role was changed last, in nanoseconds of POSIX time."""

    @property
    def actor(self) -> str:
        """The name in histories and logs, which cannot be mistaken for that of a token."""
        return actor_of(self.name)

    @property
    def is_active(self) -> bool:
        """Whether the person may sign in."""
        return self.state == ACTIVE


def actor_of(name: str) -> str:
    """Return the name of an account as histories have it."""
    return f"{OWNER_MARK}{name}"


def owner_of(actor: str) -> str:
    """Return the name of the account that an actor or a personal token belongs to; or empty."""
    if not actor.startswith(OWNER_MARK):
        return ""
    return actor.removeprefix(OWNER_MARK).partition("/")[0]


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser; only a digest of its secret is stored."""

    digest: str
    account: str
    created: int
    seen: int
    """When it was used last, exact to a few minutes, in nanoseconds of POSIX time."""
    agent: str
    """The name that the browser gives itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLink:
    """A link that can be used once, to make an account or to set a password."""

    digest: str
    """The digest of the secret in the link."""
    kind: str
    account: str = ""
    """The account whose password may be set; empty for an invitation."""
    role: str = ""
    """The role of the account that an invitation makes."""
    mail: str = ""
    """To which address an invitation was sent; empty if it is passed on otherwise."""
    made_by: str
    created: int
    expires: int

    def is_valid(self, now: int) -> bool:
        """Return whether the link has not expired at a time."""
        return now < self.expires


class GuessLimit(NamedTuple):
    """A limit of guesses: some at once, and then one after each interval."""

    key: str
    at_once: int
    interval: int
    """Nanoseconds."""


class AccountStore(Protocol):
    """Storage of accounts, sessions, links and limits of guesses."""

    def get(self, name: str) -> Account | None:
        """Return an account by its name."""
        ...

    def find(self, mail: str = "", subject: str = "") -> Account | None:
        """Return the account with a mail address, or with a subject at an OpenID provider."""
        ...

    def page(self, after: str, limit: int) -> list[Account]:
        """Return accounts whose names follow a name, in the order of names."""
        ...

    def has_administrator(self) -> bool:
        """Return whether there is an active administrator."""
        ...

    def add(self, account: Account, link: str = "") -> bool:
        """Store a new account; return False if its name, address or subject is taken.

        With the digest of a link, which is used up in the same transaction, raises NoAccountError
        if there is no such link.
        """
        ...

    def change(self, name: str, change: Callable[[Account], Account], link: str = "") -> Account:
        """Change an account in one transaction; its sessions end unless it stays active.

        Raises NoAccountError if there is none, or not the link, which is used up;
        LastAdministratorError if none would be left; FieldError if the new address is taken.
        """
        ...

    def add_session(self, session: Session, replaced: str = "") -> None:
        """Store a session; end the one with the digest `replaced`."""
        ...

    def session(self, digest: str) -> tuple[Session, Account] | None:
        """Return a session and its account, whatever their states."""
        ...

    def touch(self, digest: str, now: int) -> None:
        """Record that a session is used."""
        ...

    def sessions(self, account: str) -> list[Session]:
        """Return the sessions of an account, the one used last first."""
        ...

    def end_session(self, digest: str, account: str = "") -> bool:
        """End a session, of an account if one is named; return False if there is none."""
        ...

    def end_sessions(self, account: str, kept: str = "") -> int:
        """End the sessions of an account except one; return how many were ended."""
        ...

    def add_link(self, link: AccountLink) -> None:
        """Store a link; a link of the same kind to the same account or address ends."""
        ...

    def link(self, digest: str) -> AccountLink | None:
        """Return a link."""
        ...

    def links(self) -> list[AccountLink]:
        """Return all links, the newest first."""
        ...

    def end_link(self, digest: str) -> bool:
        """Remove a link; return False if there is none."""
        ...

    def charge(self, limits: Sequence[GuessLimit], now: int) -> int:
        """Count a guess by each limit; return 0, or the nanoseconds to wait if one is reached."""
        ...

    def refund(self, limits: Sequence[GuessLimit]) -> None:
        """Take back one guess of each limit: it was none."""
        ...

    def forget(self, key: str) -> None:
        """Forget the guesses of a limit."""
        ...

    def purge(self, now: int, begun: int, seen: int) -> None:
        """Remove what expired: sessions begun or last used before these times, links, limits."""
        ...
