"""Rules of accounts: names, passwords and addresses that are accepted, and lifetimes.

They are pure: values in, values out, the time is an argument.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from ibi.errors import FieldError, Sentence, shown
from ibi.model.account import ROLES, Account, GuessLimit, RoleScopes, Session
from ibi.model.clock import SECOND
from ibi.wire.addresses import is_mail_address

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

SESSION_IDLE: Final = 12 * HOUR
"""Nanoseconds without a request after which a session ends."""
SESSION_LONGEST: Final = 14 * DAY
"""Nanoseconds after which a session ends, however much it is used."""
SEEN_AGAIN: Final = 5 * MINUTE
"""Nanoseconds after which the use of a session is recorded again."""
INVITATION_LIFE: Final = 7 * DAY
"""Nanoseconds in which an invitation can be accepted."""
RESET_LIFE: Final = HOUR
"""Nanoseconds in which a password can be set by a link that was sent by mail."""
ADMINISTRATORS_RESET_LIFE: Final = DAY
"""Nanoseconds in which a password can be set by a link that an administrator passes on."""

SHORTEST_PASSWORD: Final = 12
"""Characters; length protects better than rules of composition (NIST SP 800-63B, 3.1.1)."""
LONGEST_PASSWORD: Final = 256
"""Characters: more only costs the time of hashing."""
_LEAST_DIFFERENT: Final = 5
"""Different characters that a password has at least."""
LONGEST_NAME: Final = 40
LONGEST_FULL_NAME: Final = 100
LONGEST_MAIL: Final = 254
"""Characters of an e-mail address (RFC 5321, 4.5.3.1.3)."""
LONGEST_AGENT: Final = 200
"""Characters of the name of a browser that are kept."""

NAME: Final = r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?"
_NAME: Final = re.compile(NAME)


def checked_name(text: str) -> str:
    """Return the name of an account in lower case; FieldError if it cannot be one."""
    name = text.strip().lower()
    if _NAME.fullmatch(name) is None:
        raise FieldError(
            "name",
            Sentence(
                "A name has 1 to %(most)s letters a to z, digits, and . _ or - between them.",
                most=LONGEST_NAME,
            ),
        )
    return name


def checked_full_name(text: str) -> str:
    """Return the name of a person on one line; FieldError if it is not fit to be shown."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise FieldError("full_name", Sentence("Write the name by which others know you."))
    if len(name) > LONGEST_FULL_NAME or not name.isprintable():
        raise FieldError(
            "full_name",
            Sentence("A name is one line of at most %(most)s characters.", most=LONGEST_FULL_NAME),
        )
    return name


def checked_mail(text: str, *, required: bool = False) -> str:
    """Return an e-mail address; FieldError if it is none, or missing and required."""
    mail = text.strip()
    if not mail and not required:
        return ""
    if len(mail) > LONGEST_MAIL or not is_mail_address(mail) or ".." in mail:
        raise FieldError(
            "mail", Sentence("This is not an e-mail address. Example: ana@example.org")
        )
    return mail


def mail_key(mail: str) -> str:
    """Return a mail address as it is compared with others."""
    return mail.strip().lower()


def normal_password(text: str) -> str:
    """Return a password as it is hashed: the same, whatever keyboard composed its letters."""
    return unicodedata.normalize("NFKC", text)


def checked_password(text: str, repeated: str, *own: str) -> str:
    """Return a new password; FieldError if it is too weak, or not the same both times.

    `own` are the name and the address of its owner, which anyone would try.
    """
    password = normal_password(text)
    if len(password) < SHORTEST_PASSWORD:
        raise FieldError(
            "password",
            Sentence("A password has at least %(least)s characters.", least=SHORTEST_PASSWORD),
        )
    if len(password) > LONGEST_PASSWORD:
        raise FieldError(
            "password",
            Sentence("A password has at most %(most)s characters.", most=LONGEST_PASSWORD),
        )
    plain = password.casefold()
    left = plain
    for each in sorted(filter(None, own), key=len, reverse=True):
        left = left.replace(each.casefold(), "")
    if len(set(plain)) < _LEAST_DIFFERENT or len(left) < _LEAST_DIFFERENT or _is_row(plain):
        raise FieldError(
            "password", Sentence("This password is easy to guess: take four words, for example.")
        )
    if password != normal_password(repeated):
        raise FieldError("repeated", Sentence("This is not the same password."))
    return password


def _is_row(text: str) -> bool:
    """Return whether each character follows the one before, in the alphabet or on a keyboard."""
    rows = ("abcdefghijklmnopqrstuvwxyz", "0123456789", "qwertyuiopasdfghjklzxcvbnm")
    steps = {each[i : i + 2] for row in rows for each in (row * 2, row[::-1] * 2)
             for i in range(len(each) - 1)}  # fmt: skip
    return sum(text[i : i + 2] in steps for i in range(len(text) - 1)) >= len(text) - 3


def checked_role(role: str, roles: RoleScopes) -> str:
    """Return a role; FieldError if the program has no such role."""
    if role not in roles:
        raise FieldError(
            "role",
            Sentence(
                "%(role)s is not a role: expected %(roles)s.",
                role=shown(role),
                roles=", ".join(each for each in ROLES if each in roles),
            ),
        )
    return role


def is_current(session: Session, account: Account, now: int) -> bool:
    """Return whether a session still authorizes requests of its account."""
    return (
        account.is_active
        and session.created <= now + MINUTE
        and now < session.created + SESSION_LONGEST
        and now < session.seen + SESSION_IDLE
    )


def is_seen_again(session: Session, now: int) -> bool:
    """Return whether the use of a session should be recorded."""
    return now - session.seen >= SEEN_AGAIN


def guess_limits(name: str, network: str) -> tuple[GuessLimit, ...]:
    """Return the limits of guesses at one account, and at any account from one network.

    The name is the one that was typed: whether there is such an account makes no difference.
    """
    return (
        GuessLimit(f"account {name}", 20, 2 * MINUTE),
        GuessLimit(f"network {network}", 30, 20 * SECOND),
        GuessLimit(f"account {name} network {network}", 10, MINUTE),
    )


def link_limits(network: str) -> tuple[GuessLimit, ...]:
    """Return the limits of guesses of links."""
    return (GuessLimit(f"link {network}", 30, 20 * SECOND),)


def mail_limits(mail: str, network: str) -> tuple[GuessLimit, ...]:
    """Return the limits of messages to one address, and on request from one network."""
    return (
        GuessLimit(f"mail {mail}", 3, 10 * MINUTE),
        GuessLimit(f"mail from {network}", 10, MINUTE),
    )


def is_own_path(text: str) -> bool:
    """Return whether a text is a path of this site, to which a browser may be led.

    Browsers take two slashes, or a backslash in the place of one, as the beginning of a host, and
    leave out tabs and line ends.
    """
    return (
        text.startswith("/")
        and not text.startswith("//")
        and "\\" not in text
        and all("!" <= each <= "~" for each in text)
    )
