"""What the resolver needs of the world: its records, archives to ask, mail and the domain names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from ibi.identifier.label import Label
from ibi.model.conflict import Conflict
from ibi.model.registration import RegisteredArchive
from ibi.ports.minting import TokenStore
from ibi.wire.requests import Acknowledgment, UrlRequest
from ibi.wire.url_list import UrlList


@dataclass(frozen=True, slots=True)
class Answer:
    """What an archive said of an item."""

    archive: str
    """The id of the archive."""
    listed: UrlList | None
    """None: it does not have the item."""
    seconds: float = 0.0
    """How long it took."""
    fault: str = ""
    """What of the answer was set aside, in a sentence: a URL that is not the archive's own."""
    personal: bool = False
    """Whether it is for the client of the request alone: another may get another."""


@dataclass(frozen=True, slots=True)
class Silence:
    """An archive that did not answer, or not as an archive does."""

    archive: str
    reason: str
    """In a few words, of ours: nothing that a stranger said is repeated."""
    seconds: float = 0.0
    asked: bool = True
    """Whether it was asked at all: one that is down is not."""
    alive: bool = False
    """Whether this is not for want of an answer: it refused."""


Heard: TypeAlias = Answer | Silence

NO_PLACE: Final = "too much is asked of it at once"
"""Why an archive was not asked: that is no silence of its own."""


class ArchiveClient(Protocol):
    """Speaks to archives; never raises for what an archive does, and never waits for long."""

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Heard:
        """Send urlRequest to an included archive; an answer, or why there is none, in that time."""
        ...

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Send inclusionConfirmationRequest; empty if it was confirmed, else why not."""
        ...

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Send an acknowledgment; empty if the archive took notice, else why not."""
        ...

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Return what stands at http://host/path, a short text; ProofError says why it cannot."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class TextRecords(Protocol):
    """The domain name system, as far as it holds texts."""

    async def texts(self, name: str, seconds: float) -> list[str]:
        """Return the TXT records of a name; ProofError if they cannot be had."""
        ...


class Mailer(Protocol):
    """Sends messages to administrators."""

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Send one; MailError if the mail server does not take it."""
        ...


@dataclass(frozen=True, slots=True)
class Owner:
    """Which archive has the Original of an item, as far as this resolver has seen."""

    archive: str
    since: int
    """In nanoseconds of POSIX time."""
    settled: bool = False
    """Whether the operator said so: then no rival claim counts any more."""


@dataclass(frozen=True, slots=True)
class PendingAcknowledgment:
    """Accesses that an archive is still to be told of."""

    id: int
    """0 before it is kept."""
    archive: str
    request: str
    """The query of the urlRequest that finds the URL again, for a fresh key."""
    acknowledgment: str
    """What is said, as JSON; once it has a key, no other is ever sent in its place."""
    count: int
    since: int
    """In nanoseconds of POSIX time."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A registration that waits for proof of control of a domain name."""

    token: str
    service: str
    host: str
    administrator: str
    made: int
    until: int


@dataclass(frozen=True, slots=True)
class RegistryEvent:
    """A line of the history of a resolver, which only grows."""

    number: int
    """0 before it is kept."""
    at: int
    who: str
    act: str
    archive: str
    detail: str = ""


class RegistryStore(Protocol):
    """Registered archives, and what happened to them."""

    def archives(self) -> list[RegisteredArchive]:
        """Return all, by id."""
        ...

    def keep_archive(self, archive: RegisteredArchive, event: RegistryEvent | None) -> None:
        """Keep an archive in the place of what was kept of it, and the event with it."""
        ...

    def drop_archive(self, id: str, event: RegistryEvent) -> bool:  # noqa: A002  # as it is called
        """Forget an archive; False if there was none."""
        ...

    def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history from a number on."""
        ...

    def keep_challenge(self, challenge: Challenge) -> None:
        """Keep a challenge."""
        ...

    def take_challenge(self, token: str) -> Challenge | None:
        """Return a challenge and forget it."""
        ...

    def challenge(self, token: str) -> Challenge | None:
        """Return a challenge."""
        ...

    def forget_challenges(self, before: int) -> int:
        """Forget those that ended before a time; return how many are left."""
        ...


class ConflictStore(Protocol):
    """Rival claims."""

    def conflicts(self, after: int, limit: int, *, only_open: bool) -> list[Conflict]:
        """Return conflicts by number, those later than `after`."""
        ...

    def conflict_of(self, label: str) -> Conflict | None:
        """Return the newest conflict about a label."""
        ...

    def keep_conflict(self, conflict: Conflict) -> Conflict:
        """Keep it, in the place of the one of its number; return it with its number."""
        ...

    def count_conflicts(self) -> int:
        """Return how many are open."""
        ...


class OwnerStore(Protocol):
    """Who has which Original."""

    def owner(self, label: str) -> Owner | None:
        """Return the owner of an item by its canonical label."""
        ...

    def keep_owners(self, owners: Sequence[tuple[str, Owner]]) -> None:
        """Keep owners, in the place of those before, in one step.

        One that was settled gives way only to another that is settled.
        """
        ...


class AcknowledgmentStore(Protocol):
    """Acknowledgments that are still to be sent."""

    def pending(self, after: int, limit: int) -> list[PendingAcknowledgment]:
        """Return them by number, those later than `after`."""
        ...

    def keep_pending(self, pending: Sequence[PendingAcknowledgment]) -> list[int]:
        """Keep new ones (number 0), or in the place of those of their number; return numbers."""
        ...

    def drop_pending(self, ids: Sequence[int]) -> None:
        """Forget those that were sent, or given up."""
        ...

    def count_pending(self) -> int:
        """Return how many accesses wait."""
        ...


class ResolverStore(
    RegistryStore, ConflictStore, OwnerStore, AcknowledgmentStore, TokenStore, Protocol
):
    """The database of a resolver. Whatever a method writes is durable when it returns.

    Every method raises StorageError when the database does not answer.
    """

    quick: bool
    """Whether a point read is quick enough to be made in the thread of an event loop."""

    def close(self) -> None:
        """Let go of the database."""
        ...
