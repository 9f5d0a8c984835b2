"""A hand-over: an archive gives the Original of an item up, to another that it cannot reach.

What goes with the item is a paper, signed by the giver: from now on the archive with this service
label has the Original. The giver is a Copy before the paper is written, the recipient becomes the
Original by the paper, once, and nobody else does by it. So no two archives have the Original; until
the paper arrives none has, and the way back is another hand-over.

Pure: who signs, and who asks for the history, is told elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import msgspec

from ibi.archive.rules.transfer import check_receivable, check_transferable
from ibi.errors import ArchiveRequestError, StateError, shown
from ibi.identifier.label import Label, parse
from ibi.metadata.web_address import is_web_address
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms

VERSION: Final = 1
_TITLE: Final = f"ibi hand-over {VERSION}"
_ID: Final = re.compile("[0-9a-f]{32}")
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_KEY: Final = re.compile("[0-9a-f]{64}")
_SIGNATURE: Final = re.compile("[0-9a-f]{128}")
_TIME: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

Verify = Callable[[str, bytes, str], bool]
"""Tells whether a text has a signature by the owner of a public key."""


class HandedItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An item that is handed over."""

    label: str
    metadata: str = ""
    """The label of what describes it."""
    transfer: str
    """The id of this one hand-over of this one item, under which custody goes on."""
    digest: str
    """Of all that is said of it, and of its files."""
    at: str
    """When it was given up, in ISO 8601."""
    signature: str = ""
    """Of `signing_text`, by Ed25519, in hexadecimal."""


class HandOver(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The paper: the file `hand-over.json` of a bag."""

    version: int = VERSION
    id: str
    giver: str
    """The label of the giver's archive service."""
    address: str
    """Where the giver answers."""
    recipient: str
    """The label of the archive service of whoever is to have the Originals."""
    items: list[HandedItem]


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What of it concerns one item: each has a signature of its own, and travels by itself."""

    giver: str
    address: str
    recipient: str
    item: HandedItem


def paper_of(document: HandOver, item: HandedItem) -> Paper:
    """Return what concerns one item."""
    return Paper(
        giver=document.giver, address=document.address, recipient=document.recipient, item=item
    )


def signing_text(paper: Paper) -> bytes:
    """Return what is signed: a line for each fact, so that anybody can write it again."""
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
    """Return the id of a hand-over: the same however often it is asked for.

    Custody makes it another one each time that the Original was here.
    """
    facts = (giver.canonical, item.forms.label.canonical, recipient.canonical, *item.custody)
    return hashlib.sha256("\n".join((_TITLE, *facts)).encode()).hexdigest()[:32]


def document_id(transfers: Iterable[str]) -> str:
    """Return the id of a paper, by all hand-overs in it."""
    return hashlib.sha256("\n".join(sorted(transfers)).encode()).hexdigest()[:32]


def recipient_of(text: str, giver: Forms) -> Label:
    """Read who is to have the Original."""
    recipient = parse(text)
    if recipient in tuple(giver):
        msg = f"{recipient} is this archive: it cannot hand anything over to itself."
        raise ArchiveRequestError(msg)
    return recipient


def check_givable(item: Item, *, given: bool) -> None:
    """Refuse to give up what is not here to be given; what was given so before is given again."""
    if not given:
        check_transferable(item)
    elif item.state is not State.COPY or item.transfer is not None:
        msg = f"{item.forms.label} was handed over, and is not as it was then."
        raise StateError(msg)


def given_up(item: Item) -> Item:
    """Return an item whose Original is the recipient's from now on."""
    return replace(item, state=State.COPY)


def check_key(text: str) -> str:
    """Return a public key as it is written."""
    key = text.strip().lower()
    if _KEY.fullmatch(key) is None:
        msg = f"{shown(text)} is not a key: expected 64 hexadecimal digits ('ibi archive key')."
        raise ArchiveRequestError(msg)
    return key


def check_paper(paper: Paper, item: Item, digest: str, service: Forms, is_signed: bool) -> None:  # noqa: FBT001  # a fact
    """Refuse a paper that makes no Original here."""
    label = item.forms.label
    facts = paper.item
    fault = ""
    if not is_signed:
        fault = "its signature is not by the key that you named"
    elif _DIGEST.fullmatch(facts.digest) is None or not is_web_address(paper.address):
        fault = "it is not written as it should be"
    elif parse(paper.recipient) not in tuple(service):
        fault = f"it is for {shown(paper.recipient)}, which is not this archive"
    elif facts.label != label.spelling:
        fault = f"it is for {shown(facts.label)}"
    elif facts.metadata != (item.metadata.label.spelling if item.metadata else ""):
        fault = "it is for an item that is described otherwise"
    elif facts.digest != digest:
        fault = "what came is not what was handed over"
    if fault:
        raise StateError(f"The hand-over of {label} cannot be accepted: {fault}.")


def is_well_written(paper: Paper) -> bool:
    """Tell whether the signature can be looked at: each fact in one line, in its form."""
    item = paper.item
    texts = (item.label, item.metadata, paper.giver, paper.address, paper.recipient)
    return (
        all(text.isprintable() for text in texts)
        and _ID.fullmatch(item.transfer) is not None
        and _TIME.fullmatch(item.at) is not None
        and _SIGNATURE.fullmatch(item.signature) is not None
    )


def is_taken(held: Item | None, transfer: str) -> bool:
    """Tell whether the Original came here by this hand-over before, wherever it is now."""
    return held is not None and transfer in held.custody


def check_takable(held: Item | None) -> None:
    """Refuse what cannot become the Original here, by what is here of it."""
    check_receivable(held, "")


def taken(item: Item, held: Item | None, transfer: str) -> Item:
    """Return an item that is the Original here by a hand-over."""
    custody = () if held is None else held.custody
    return replace(
        item, state=State.ORIGINAL, origin="", transfer=None, custody=(*custody, transfer)
    )
