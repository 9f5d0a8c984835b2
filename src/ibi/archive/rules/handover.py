"""A hand-over: an archive gives up the Original of an item to an archive that it cannot reach.

The giver signs a document, which travels with the item: from now on the archive with this service
label has the Original. The giver's item becomes a Copy before the document is written; the document
makes the recipient's item the Original, once, and no other archive's. So two archives never have
the Original. Until the document arrives no archive has it, and the way back is another hand-over.

Pure: the caller signs, verifies signatures, and looks up the history.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import msgspec

from ibi.archive.rules.transfer import check_receivable, check_transferable
from ibi.errors import ArchiveRequestError, Sentence, StateError, shown
from ibi.identifier.label import Label, parse
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.wire.addresses import is_web_address

VERSION: Final = 1
_TITLE: Final = f"ibi hand-over {VERSION}"
_ID: Final = re.compile("[0-9a-f]{32}")
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_KEY: Final = re.compile("[0-9a-f]{64}")
_SIGNATURE: Final = re.compile("[0-9a-f]{128}")
_TIME: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

Verify = Callable[[str, bytes, str], bool]
"""Whether a signature of a text was made by the owner of a public key."""


class HandedItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One item of a hand-over."""

    label: str
    metadata: str = ""
    """The label of the metadata item."""
    transfer: str
    """The id of this hand-over of this item, as custody records it."""
    digest: str
    """The digest of the item, its metadata and its files."""
    at: str
    """When the giver gave up the Original, in ISO 8601."""
    signature: str = ""
    """The Ed25519 signature of `signing_text`, in hexadecimal."""


class HandOver(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The signed document: the file `hand-over.json` of a bag."""

    version: int = VERSION
    id: str
    giver: str
    """The label of the giver's archive service."""
    address: str
    """The address of the giver."""
    recipient: str
    """The label of the archive service that receives the Originals."""
    items: list[HandedItem]


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The part of a hand-over that concerns one item, with a signature of its own."""

    giver: str
    address: str
    recipient: str
    item: HandedItem


def paper_of(document: HandOver, item: HandedItem) -> Paper:
    """Return the part of a document that concerns one item."""
    return Paper(
        giver=document.giver, address=document.address, recipient=document.recipient, item=item
    )


def signing_text(paper: Paper) -> bytes:
    """Return the text to sign: one line a field, so that any verifier can reproduce it."""
    item = paper.item
    facts = (
        _TITLE,
        item.transfer,
        item.label,
        item.metadata,
        item.digest,
        paper.giver,
        paper.address,
        paper.recipient,
        item.at,
    )
    return "".join(f"{fact}\n" for fact in facts).encode()


def transfer_id(giver: Label, item: Item, recipient: Label) -> str:
    """Return the id of a hand-over; repeated calls return the same id.

    The custody of the item is part of it, so each time that the Original comes back gives a new id.
    """
    facts = (giver.canonical, item.forms.label.canonical, recipient.canonical, *item.custody)
    return hashlib.sha256("\n".join((_TITLE, *facts)).encode()).hexdigest()[:32]


def document_id(transfers: Iterable[str]) -> str:
    """Return the id of a document, made of the ids of all its hand-overs."""
    return hashlib.sha256("\n".join(sorted(transfers)).encode()).hexdigest()[:32]


def recipient_of(text: str, giver: Forms) -> Label:
    """Parse the label of the recipient; raise ArchiveRequestError if it is the giver."""
    recipient = parse(text)
    if recipient in tuple(giver):
        msg = Sentence(
            "%(recipient)s is this archive: it cannot hand anything over to itself.",
            recipient=recipient,
        )
        raise ArchiveRequestError(msg)
    return recipient


def check_givable(item: Item, *, given: bool) -> None:
    """Raise unless the Original is here, or was given up by this hand-over before."""
    if not given:
        check_transferable(item)
    elif item.state is not State.COPY or item.transfer is not None:
        msg = Sentence(
            "%(label)s was handed over, and is not as it was then.", label=item.forms.label
        )
        raise StateError(msg)


def given_up(item: Item) -> Item:
    """Return the item as a Copy, after its Original was given up."""
    return replace(item, state=State.COPY)


def check_key(text: str) -> str:
    """Return the canonical spelling of a public key, or raise ArchiveRequestError."""
    key = text.strip().lower()
    if _KEY.fullmatch(key) is None:
        msg = Sentence(
            "%(text)s is not a key: expected 64 hexadecimal digits ('ibi archive key').",
            text=shown(text),
        )
        raise ArchiveRequestError(msg)
    return key


def check_paper(paper: Paper, item: Item, digest: str, service: Forms, is_signed: bool) -> None:  # noqa: FBT001  # a fact
    """Raise StateError unless the document makes this archive's item the Original."""
    label = item.forms.label
    facts = paper.item
    fault = ""
    if not is_signed:
        fault = Sentence("its signature is not by the key that you named")
    elif _DIGEST.fullmatch(facts.digest) is None or not is_web_address(paper.address):
        fault = Sentence("it is not written as it should be")
    elif parse(paper.recipient) not in tuple(service):
        fault = Sentence(
            "it is for %(recipient)s, which is not this archive", recipient=shown(paper.recipient)
        )
    elif facts.label != label.spelling:
        fault = Sentence("it is for %(label)s", label=shown(facts.label))
    elif facts.metadata != (item.metadata.label.spelling if item.metadata else ""):
        fault = Sentence("it is for an item that is described otherwise")
    elif facts.digest != digest:
        fault = Sentence("what came is not what was handed over")
    if fault:
        raise StateError(
            Sentence(
                "The hand-over of %(label)s cannot be accepted: %(fault)s.",
                label=label,
                fault=fault,
            )
        )


def is_well_written(paper: Paper) -> bool:
    """Return whether every signed field has its form, so that the signing text is unambiguous."""
    item = paper.item
    texts = (item.label, item.metadata, paper.giver, paper.address, paper.recipient)
    return (
        all(text.isprintable() for text in texts)
        and _ID.fullmatch(item.transfer) is not None
        and _TIME.fullmatch(item.at) is not None
        and _SIGNATURE.fullmatch(item.signature) is not None
    )


def is_taken(held: Item | None, transfer: str) -> bool:
    """Return whether this archive received the Original by this hand-over before."""
    return held is not None and transfer in held.custody


def check_takable(held: Item | None) -> None:
    """Raise if the item's local state forbids that it becomes the Original."""
    check_receivable(held, "")


def taken(item: Item, held: Item | None, transfer: str) -> Item:
    """Return the item as the Original that a hand-over made it."""
    custody = () if held is None else held.custody
    return replace(
        item,
        state=State.ORIGINAL,
        origin="",
        transfer=None,
        custody=(*custody, transfer),
        collections=item.collections if held is None else held.collections,
    )
