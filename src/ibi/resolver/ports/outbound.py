"""What the resolver needs of the world beside its records: archives, mail, the domain names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from ibi.identifier.label import Label
from ibi.model.registration import RegisteredArchive
from ibi.wire.digest import DigestPage
from ibi.wire.requests import Acknowledgment, UrlRequest
from ibi.wire.url_list import UrlList


@dataclass(frozen=True, slots=True)
class ArchiveReply:
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
class NoReply:
    """An archive that did not answer, or not as an archive does."""

    archive: str
    reason: str
    """In a few words, of ours: nothing that a stranger said is repeated."""
    seconds: float = 0.0
    asked: bool = True
    """Whether it was asked at all: one that is down is not."""
    alive: bool = False
    """Whether this is not for want of an answer: it refused."""


Reply: TypeAlias = ArchiveReply | NoReply

NO_SLOT: Final = "too much is asked of it at once"
"""Why an archive was not asked: that is no silence of its own."""


class ArchiveClient(Protocol):
    """Speaks to archives; never raises for what an archive does, and never waits for long."""

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
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

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Fetch what changed after a cursor, "" and 0 for all; None if it publishes no digest."""
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
