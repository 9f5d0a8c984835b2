"""The messages of a transfer between two archives, and the read ticket that an offer carries.

Each message may arrive late, twice or never, and so may each answer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from ibi.model.item import Item

TICKET_SETTING: Final = "tickets"
"""The name of the catalogue's setting with the secret that tickets are made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOffer:
    """The sender offers an item; a repeated offer asks for the progress."""

    id: str
    label: str
    source: str
    """The address of the sender."""
    ticket: str
    """A secret that lets the receiver read the item at the sender, whoever may read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The sender's item is a Copy now: the receiver is to become the Original."""

    id: str
    label: str
    receipt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """The transfer is cancelled."""

    id: str
    label: str
    """The item's label: it finds the receiver's record even after its catalogue was rebuilt."""
    receipt: str = ""


Message: TypeAlias = TransferOffer | Commit | Undo


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReply:
    """The receiver's answer to any message."""

    state: Literal["copying", "ready", "accepted", "refused", "undone"]
    receipt: str = ""
    """The receipt of a ready item, or of the message that was refused or undone."""
    digest: str = ""
    """The digest of the received item, once it is ready."""
    done: int = 0
    total: int = 0
    """Bytes received so far, while the receiver is copying."""
    reason: str = ""


class ReadTickets:
    """The read tickets of one archive, derived from a secret: none is stored.

    A ticket is a secret with which the receiver of a transfer reads the offered item.
    """

    def __init__(self, secret: bytes) -> None:
        """Derive tickets from a secret."""
        self._secret = secret

    def of(self, transfer: str) -> str:
        """Return the ticket of a transfer."""
        return hmac.new(self._secret, transfer.encode(), hashlib.sha256).hexdigest()

    def opens(self, item: Item, secret: str) -> bool:
        """Return whether a secret is the ticket of the open transfer of an item."""
        known = item.transfer
        if known is None or known.phase == "ready":
            return False
        given = secret.encode("utf-8", "surrogateescape")
        return hmac.compare_digest(self.of(known.id).encode(), given)


class Peer(Protocol):
    """The archive on the other side of a transfer.

    Methods raise ArchiveUnreachableError without an answer and ArchiveRefusedError after a refusal;
    neither says anything about the state of the transfer.
    """

    def say(self, message: Message) -> TransferReply:
        """Send a message and return the answer."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


OpenPeer: TypeAlias = Callable[[str, str], Peer]
"""Connects to the archive at an address, with a token."""
