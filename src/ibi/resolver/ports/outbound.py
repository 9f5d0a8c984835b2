"""Protocols of the network that a resolver needs: archives, mail, and the DNS."""

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
    """The answer of an archive to a question for an item."""

    archive: str
    """The id of the archive."""
    listed: UrlList | None
    """None if the archive does not have the item."""
    seconds: float = 0.0
    """Seconds that the answer took."""
    fault: str = ""
    """The part of the answer that was rejected, in a sentence: a URL that is not the archive's
    own."""
    personal: bool = False
    """Whether the answer is for the client of the request only: another client may get another."""


@dataclass(frozen=True, slots=True)
class NoReply:
    """An archive that did not answer, or not as the protocol requires."""

    archive: str
    reason: str
    """The reason in a few words of our own: nothing that the archive sent is repeated."""
    seconds: float = 0.0
    asked: bool = True
    """Whether the archive was asked at all: one that is down is not."""
    alive: bool = False
    """Whether the archive answered, and refused the request."""


Reply: TypeAlias = ArchiveReply | NoReply

NO_SLOT: Final = "too much is asked of it at once"
"""The reason if too many requests to an archive are open; it does not count as its silence."""


class ArchiveClient(Protocol):
    """Sends requests to archives; no fault of an archive raises, and every call has a deadline."""

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Send urlRequest to an included archive; return its answer, or why there is none."""
        ...

    async def confirm(self, address: str, service: Label, seconds: float) -> str:
        """Send inclusionConfirmationRequest; return "" if it was confirmed, else the reason."""
        ...

    async def denies(self, address: str, service: Label, seconds: float) -> bool:
        """Send inclusionConfirmationRequest; return whether it was answered, and not confirmed."""
        ...

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Send an acknowledgment; return "" if the archive accepted it, else the reason."""
        ...

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Fetch the changes after a cursor, "" and 0 for all; None if there is no digest."""
        ...

    async def challenge(self, host: str, path: str, seconds: float) -> str:
        """Return the short text at http://host/path; raise ProofError, with the reason."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class TextRecords(Protocol):
    """Reads TXT records from the DNS."""

    async def texts(self, name: str, seconds: float) -> list[str]:
        """Return the TXT records of a name; raise ProofError if that fails."""
        ...


class Mailer(Protocol):
    """Sends messages to administrators."""

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Send a message; raise MailError if the mail server does not accept it."""
        ...
