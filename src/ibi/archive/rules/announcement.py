"""When an archive asks its resolvers to include or exclude it (004, section 5.2), or notifies them.

The rule is a function of a link, the time and the last request sent: nothing here waits or sends.
Times are nanoseconds of POSIX time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from ipaddress import AddressValueError, IPv6Address
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from ibi.errors import ArchiveRequestError, IbiError, Sentence, StorageError, shown
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff
from ibi.wire.requests import DEFAULT_SERVICE, ExclusionRequest, InclusionRequest

AGAIN: Final = 3600 * SECOND
"""Nanoseconds between two inclusion requests of an included archive.

The repetition reaches a resolver that was restored from an old backup."""
FIRST_RETRY: Final = 5 * SECOND
LONGEST_RETRY: Final = 300 * SECOND
FIRST_RETRY_REFUSED: Final = 60 * SECOND
"""Nanoseconds before a refused request is repeated.

The operator may not have registered the key yet; resolvers block clients that try keys quickly."""
LONGEST_RETRY_REFUSED: Final = 3600 * SECOND
_RETRY: Final = Backoff(FIRST_RETRY, LONGEST_RETRY)
_RETRY_REFUSED: Final = Backoff(FIRST_RETRY_REFUSED, LONGEST_RETRY_REFUSED)

KEY_DIGITS: Final = 39
"""Digits of a registration key: as hard to guess as 128 bits."""

LinkState: TypeAlias = Literal[
    "pending", "included", "unconfirmed", "refused", "excluded", "unreachable", "leaving"
]


@dataclass(frozen=True, slots=True)
class Link:
    """The relationship of an archive with one resolver."""

    resolver: str
    """The resolver's base URL as `resolver_address` writes it; it identifies the link."""
    key: RegistrationKey
    resolver_service: Label = DEFAULT_SERVICE
    """The label of the resolver's own service."""
    state: LinkState = "pending"
    """`unconfirmed`: included, but the resolver could not reach the archive. `leaving`: to be
    removed as soon as the resolver has excluded the archive."""
    since: int = 0
    """When the link entered this state."""
    failures: int = 0
    """The number of failed attempts in a row."""
    next_try: int = 0
    reason: str = ""
    """The last failure, as a sentence; empty if there was none."""
    secret: str = field(default="", repr=False)
    """The secret by which the resolver proves counts of accesses; empty if it gave none, if it
    refuses the archive, and if the archive leaves it."""


@dataclass(frozen=True, slots=True)
class Included:
    """The resolver included the archive; `confirmed` if it also reached the archive."""

    confirmed: bool
    secret: str = field(default="", repr=False)
    """The secret of the link; empty if the resolver gave none."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """The resolver excluded the archive."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The resolver refused: the archive is not registered, or not with this key."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The resolver gave no answer, no valid answer, or a temporary failure."""

    reason: str


Outcome: TypeAlias = Included | Excluded | Refused | Unreachable
LinkRequest: TypeAlias = InclusionRequest | ExclusionRequest


def due(
    link: Link, now: int, *, on: bool, record: ArchiveRecord, said: LinkRequest | None
) -> LinkRequest | None:
    """Return the request that is due now; `said` is the last one that this process sent.

    A request that differs from the last one is due at once: after the start, after a change of the
    address, when the archive is switched off. The same request is repeated when its time comes, but
    not while the archive is switched off.
    """
    wanted = _wanted(link, on=on, record=record)
    again = on and is_time(link, now)
    return wanted if wanted != said or again else None


def is_time(link: Link, now: int) -> bool:
    """Return whether the next attempt is due; a clock that was set back does not delay it."""
    return not now < link.next_try <= now + AGAIN


def _wanted(link: Link, *, on: bool, record: ArchiveRecord) -> LinkRequest | None:
    if on and link.state != "leaving":
        return InclusionRequest(record, link.key)
    # A resolver that refused or excluded the archive needs no exclusion request.
    if not on and link.state in {"refused", "excluded"}:
        return None
    return ExclusionRequest(record, link.key)


def after(link: Link, outcome: Outcome, now: int, jitter: float) -> Link | None:
    """Return the link after an attempt; None if the link is to be removed.

    `jitter` is a random number between 0 and 1 that spreads the attempts of many archives.
    """
    if link.state == "leaving" and isinstance(outcome, Excluded | Refused):
        # Refused: the archive is not registered, and repeating the request would not help.
        return None
    if isinstance(outcome, Included) and outcome.secret:
        link = replace(link, secret=outcome.secret)
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
            return _failed(_without_secret(link), "refused", reason, now, wait)
        case Unreachable(reason=reason):
            state: LinkState = "leaving" if link.state == "leaving" else "unreachable"
            wait = _RETRY.jittered(link.failures, jitter)
            return _failed(link, state, reason, now, wait)


def leaving(link: Link, now: int) -> Link:
    """Return the link in the state that leads to its removal.

    The resolver may never answer, so that the removal has no end: its secret ends now.
    """
    moved = _moved(_without_secret(link), "leaving", now)
    return replace(moved, failures=0, next_try=now, reason="")


def _without_secret(link: Link) -> Link:
    return replace(link, secret="")


def _settled(link: Link, state: LinkState, now: int) -> Link:
    return replace(_moved(link, state, now), failures=0, next_try=now + AGAIN, reason="")


def _failed(link: Link, state: LinkState, reason: str, now: int, wait: int) -> Link:
    moved = _moved(link, state, now)
    return replace(moved, failures=link.failures + 1, next_try=now + wait, reason=reason)


def _moved(link: Link, state: LinkState, now: int) -> Link:
    return link if link.state == state else replace(link, state=state, since=now)


def new_registration_key(randbelow: Callable[[int], int]) -> RegistrationKey:
    """Return a new registration key; `randbelow` is `secrets.randbelow` except in tests."""
    return RegistrationKey(f"{randbelow(10**KEY_DIGITS):0{KEY_DIGITS}}")


# The base URL of section 4.1 has a host and perhaps a port: RFC 3986, hostport.
_RESOLVER: Final = re.compile(
    r"(https?)://((?:[a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/?"
)
_LONGEST_ADDRESS: Final = 300
_USUAL_PORTS: Final = {"http": 80, "https": 443}
_LAST_PORT: Final = 65535


def resolver_address(text: str) -> str:
    """Return the canonical spelling of a resolver's base URL, or raise ArchiveRequestError."""
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
        Sentence(
            "%(text)s is not the address of a resolver: expected http:// or https://, a host and "
            "perhaps a port, such as http://urlib.net, and nothing else.",
            text=shown(text),
        )
    )


class _Document(msgspec.Struct):
    service: str
    key: str
    state: LinkState
    since: int
    failures: int
    next_try: int
    reason: str
    secret: str = ""


def document(link: Link) -> str:
    """Encode a link for the catalogue, with its key, which later requests carry."""
    written = _Document(
        link.resolver_service.spelling,
        link.key.text,
        link.state,
        link.since,
        link.failures,
        link.next_try,
        link.reason,
        link.secret,
    )
    return msgspec.json.encode(written).decode()


def read_document(resolver: str, text: str) -> Link:
    """Decode what `document` encoded; the message of a StorageError never repeats the text."""
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
        read.secret,
    )


SPACING: Final = SECOND
"""Nanoseconds between two notifications of one resolver: a resolver reads all changes at once."""
_RETRY_NOTICE: Final = Backoff(SECOND, 60 * SECOND)
_INCLUDED: Final[frozenset[LinkState]] = frozenset({"included", "unconfirmed"})


class LogPosition(NamedTuple):
    """The end of the log of an archive."""

    epoch: str
    last: int


class _Notified(NamedTuple):
    position: LogPosition | None
    """The position that the resolver was notified of; None if there is none."""
    next_at: int
    failures: int = 0


class Notifications:
    """Which resolver was notified that the digest has changed; it neither waits nor sends.

    A resolver that has read the digest to its end need not read it again before it is notified.
    Times are nanoseconds of a clock that cannot be set back.
    """

    def __init__(self) -> None:
        """Begin without a resolver that was notified: so each is notified after a start."""
        self._notified: dict[str, _Notified] = {}

    def due(self, links: Iterable[Link], position: LogPosition, now: int) -> list[Link]:
        """Return the links to the resolvers that are to be notified of a position now."""
        included = [link for link in links if link.state in _INCLUDED]
        self._notified = {
            link.resolver: self._notified.get(link.resolver, _Notified(None, now))
            for link in included
        }
        return [
            link
            for link in included
            if self._notified[link.resolver].position != position
            and self._notified[link.resolver].next_at <= now
        ]

    def delivered(self, resolver: str, position: LogPosition, now: int) -> None:
        """Note that a resolver was notified of a position."""
        self._notified[resolver] = _Notified(position, now + SPACING)

    def failed(self, resolver: str, now: int) -> None:
        """Note that a resolver could not be notified: it is tried again until it can."""
        before = self._notified.get(resolver, _Notified(None, now))
        wait = _RETRY_NOTICE.wait(before.failures)
        self._notified[resolver] = _Notified(before.position, now + wait, before.failures + 1)
