"""What two archives say to each other while an Original goes from one to the other.

Each message may come late, twice or never, and so may each answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOffer:
    """The giver would have the receiver take an item; said again, it asks how far that is."""

    id: str
    label: str
    source: str
    """The address of the giver."""
    ticket: str
    """With which the receiver reads the item there, whoever else may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The giver is a Copy: the receiver is to be the Original."""

    id: str
    label: str
    receipt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """Nothing is to come of it."""

    id: str
    label: str
    """By which a receiver finds what it knows of the transfer, even if its catalogue was lost."""
    receipt: str = ""


Message: TypeAlias = TransferOffer | Commit | Undo


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReply:
    """What the receiver says to any of them."""

    state: Literal["copying", "ready", "accepted", "refused", "undone"]
    receipt: str = ""
    """Of one that is ready, and of the message that is refused or that undid it."""
    digest: str = ""
    """Of what a receiver that is ready has."""
    done: int = 0
    total: int = 0
    """Bytes, while it is copying."""
    reason: str = ""


class Peer(Protocol):
    """The archive on the other side.

    ArchiveUnreachableError if it does not answer, ArchiveRefusedError if it will not hear of it:
    neither says anything of the transfer.
    """

    def say(self, message: Message) -> TransferReply:
        """Say something, and return what it answers."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


OpenPeer: TypeAlias = Callable[[str, str], Peer]
"""Returns the archive at an address, for somebody with a token."""
