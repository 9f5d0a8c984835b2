"""When an archive says to its resolvers that it is on or off (004, section 5.2).

The rule is a function of a link, of the time, and of what was said last: nothing here waits or
sends. Times are nanoseconds of POSIX time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv6Address
from typing import Final, Literal, TypeAlias

import msgspec

from ibi.errors import ArchiveRequestError, IbiError, StorageError, shown
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.pace import Backoff
from ibi.wire.requests import ExclusionRequest, InclusionRequest
from ibi.wire.service_labels import DEFAULT_SERVICE

SECOND: Final = 1_000_000_000
AGAIN: Final = 3600 * SECOND
"""An archive that is included says so again this often: the resolver may have lost its memory."""
FIRST_RETRY: Final = 5 * SECOND
LONGEST_RETRY: Final = 300 * SECOND
FIRST_RETRY_REFUSED: Final = 60 * SECOND
"""A key that the operator has not registered yet: resolvers shut out who tries keys quickly."""
LONGEST_RETRY_REFUSED: Final = 3600 * SECOND
_RETRY: Final = Backoff(FIRST_RETRY, LONGEST_RETRY)
_RETRY_REFUSED: Final = Backoff(FIRST_RETRY_REFUSED, LONGEST_RETRY_REFUSED)

KEY_DIGITS: Final = 39
"""As hard to guess as 128 bits."""

LinkState: TypeAlias = Literal[
    "pending", "included", "unconfirmed", "refused", "excluded", "unreachable", "leaving"
]


@dataclass(frozen=True, slots=True)
class Link:
    """What an archive knows of its standing with one resolver."""

    resolver: str
    """Its base URL, as `resolver_address` writes it: the link's name."""
    key: RegistrationKey
    resolver_service: Label = DEFAULT_SERVICE
    """The label of the resolver's own service."""
    state: LinkState = "pending"
    """`unconfirmed` is included too, but the resolver could not reach the archive; `leaving` waits
    to be excluded and then forgotten."""
    since: int = 0
    """When it came into this state."""
    failures: int = 0
    """How many attempts in a row failed."""
    next_try: int = 0
    reason: str = ""
    """What the last failure was, in a sentence; empty if there was none."""


@dataclass(frozen=True, slots=True)
class Included:
    """The resolver counts the archive in; whether it could reach it is another question."""

    confirmed: bool


@dataclass(frozen=True, slots=True)
class Excluded:
    """The resolver counts the archive out."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The resolver said no: it does not know the archive, or not by this key."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The resolver did not answer, not as a resolver does, or not now."""

    reason: str


Outcome: TypeAlias = Included | Excluded | Refused | Unreachable
LinkRequest: TypeAlias = InclusionRequest | ExclusionRequest


def due(
    link: Link, now: int, *, on: bool, record: ArchiveRecord, said: LinkRequest | None
) -> LinkRequest | None:
    """Return what to say to a resolver now; `said` is what was said to it last, by this process.

    Whatever has not been said is due at once: after the start, after a change of the address, when
    the archive is switched off. The same thing is said again when its time comes, unless the
    archive is off: then there is no time.
    """
    wanted = _wanted(link, on=on, record=record)
    again = on and is_time(link, now)
    return wanted if wanted != said or again else None


def is_time(link: Link, now: int) -> bool:
    """Tell whether it is time to try again; nobody waits longer because a clock was set back."""
    return not now < link.next_try <= now + AGAIN


def _wanted(link: Link, *, on: bool, record: ArchiveRecord) -> LinkRequest | None:
    if on and link.state != "leaving":
        return InclusionRequest(record, link.key)
    # To one that refused the archive there is nothing to take back.
    if not on and link.state in {"refused", "excluded"}:
        return None
    return ExclusionRequest(record, link.key)


def after(link: Link, outcome: Outcome, now: int, jitter: float) -> Link | None:
    """Return the link after an attempt; None if it is to be forgotten.

    `jitter` is a chance between 0 and 1 that keeps archives from coming back all at once.
    """
    if link.state == "leaving" and isinstance(outcome, Excluded | Refused):
        # Refused: the resolver knows of no such archive, or would not exclude it ever.
        return None
    match outcome:
        case Included(confirmed=True):
            return _settled(link, "included", now)
        case Excluded():
            return _settled(link, "excluded", now)
        case Included():
            reason = "it could not reach this archive at its address"
            wait = _RETRY.jittered(link.failures, jitter)
            return _failed(link, "unconfirmed", reason, now, wait)
        case Refused(reason=reason):
            wait = _RETRY_REFUSED.jittered(link.failures, jitter)
            return _failed(link, "refused", reason, now, wait)
        case Unreachable(reason=reason):
            state: LinkState = "leaving" if link.state == "leaving" else "unreachable"
            wait = _RETRY.jittered(link.failures, jitter)
            return _failed(link, state, reason, now, wait)


def leaving(link: Link, now: int) -> Link:
    """Return the link once its resolver is to be left."""
    return replace(_moved(link, "leaving", now), failures=0, next_try=now, reason="")


def _settled(link: Link, state: LinkState, now: int) -> Link:
    return replace(_moved(link, state, now), failures=0, next_try=now + AGAIN, reason="")


def _failed(link: Link, state: LinkState, reason: str, now: int, wait: int) -> Link:
    moved = _moved(link, state, now)
    return replace(moved, failures=link.failures + 1, next_try=now + wait, reason=reason)


def _moved(link: Link, state: LinkState, now: int) -> Link:
    return link if link.state == state else replace(link, state=state, since=now)


def new_registration_key(randbelow: Callable[[int], int]) -> RegistrationKey:
    """Make a key for a new link; `randbelow` is `secrets.randbelow` wherever it matters."""
    return RegistrationKey(f"{randbelow(10**KEY_DIGITS):0{KEY_DIGITS}}")


# The base URL of section 4.1 has a host and perhaps a port: RFC 3986, hostport.
_RESOLVER: Final = re.compile(
    r"(https?)://((?:[a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/?"
)
_LONGEST_ADDRESS: Final = 300
_USUAL_PORTS: Final = {"http": 80, "https": 443}
_LAST_PORT: Final = 65535


def resolver_address(text: str) -> str:
    """Return the one spelling of a resolver's base URL; ArchiveRequestError if it is none."""
    match = _RESOLVER.fullmatch(text.lower()) if len(text) <= _LONGEST_ADDRESS else None
    if match is None or not text.isascii():
        raise _no_resolver(text)
    scheme, host, digits = match.groups()
    port = int(digits or _USUAL_PORTS[scheme])
    if not 0 < port <= _LAST_PORT:
        raise _no_resolver(text)
    if host.startswith("["):
        try:
            host = f"[{IPv6Address(host[1:-1])}]"
        except AddressValueError:
            raise _no_resolver(text) from None
    return f"{scheme}://{host}" + (f":{port}" if port != _USUAL_PORTS[scheme] else "")


def _no_resolver(text: str) -> ArchiveRequestError:
    return ArchiveRequestError(
        f"{shown(text)} is not the address of a resolver: expected http:// or https://, a host "
        "and perhaps a port, such as http://urlib.net, and nothing else."
    )


class _Document(msgspec.Struct):
    service: str
    key: str
    state: LinkState
    since: int
    failures: int
    next_try: int
    reason: str


def document(link: Link) -> str:
    """Write a link as the catalogue keeps it: with its key, which has to be sent."""
    written = _Document(
        link.resolver_service.spelling,
        link.key.text,
        link.state,
        link.since,
        link.failures,
        link.next_try,
        link.reason,
    )
    return msgspec.json.encode(written).decode()


def read_document(resolver: str, text: str) -> Link:
    """Read what `document` wrote; the message of the StorageError repeats nothing of it."""
    try:
        read = msgspec.json.decode(text, type=_Document)
        key, service = RegistrationKey(read.key), parse(read.service, strict=True)
    except (msgspec.MsgspecError, IbiError):
        raise StorageError(f"of the link to {resolver}", "it cannot be read") from None
    return Link(
        resolver,
        key,
        service,
        read.state,
        read.since,
        read.failures,
        read.next_try,
        read.reason,
    )
