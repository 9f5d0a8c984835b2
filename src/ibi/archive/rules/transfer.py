"""The transfer of an Original to another archive: what each side says, and becomes by it.

The giving archive drives, the receiving one decides. In between no archive has the Original: the
giver is a Copy before it asks the receiver to be the Original, and becomes the Original again only
if the receiver says that it is not, nor ever will be by this receipt. Pure: everything that affects
who answers `Original` stands in this file, and is explored whole by a test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from ibi.archive.ports.maintenance import TransferRecord
from ibi.archive.rules.manifest import manifest
from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.errors import DeletedError, StateError
from ibi.model.item import File, Item, State, Transfer

Step: TypeAlias = Literal["wait", "hand over", "finish", "take back"]
EndState: TypeAlias = Literal["done", "undone"]


def digest(items: Iterable[tuple[Item, Iterable[File]]]) -> str:
    """Return the digest of all that must be alike on both sides: what is said, and every file."""
    found = hashlib.sha256()
    for item, files in items:
        # Whose it is differs, and when a file was written is a matter of each disk.
        alike = replace(item, state=State.ORIGINAL, origin="", transfer=None, custody=())
        in_order = sorted(files, key=lambda file: file.path)
        found.update(manifest(alike, [replace(file, modified=0) for file in in_order]))
    return found.hexdigest()


# --- the giver ------------------------------------------------------------------------------------


def check_transferable(item: Item) -> None:
    """Refuse an item that cannot be offered to another archive."""
    label = item.forms.label
    if item.kind == "service":
        msg = "The archive service's own item is never transferred."
        raise StateError(msg)
    if item.kind == "metadata":
        msg = f"{label} describes another item, and is transferred with it."
        raise StateError(msg)
    if item.state is State.DELETED:
        raise DeletedError(str(label))
    if item.transfer is not None:
        msg = f"{label} is being transferred {_direction(item.transfer)} already."
        raise StateError(msg)
    if item.state is State.COPY:
        msg = f"{label} is a Copy here: its Original is transferred where it is."
        raise StateError(msg)
    if not item.transferable:
        msg = f"{label} is not transferable."
        raise StateError(msg)


def offered(item: Item, id_: str, peer: str, now: int) -> Item:
    """Return an item that is offered: still the Original, and not to be changed meanwhile."""
    return replace(item, transfer=Transfer(id=id_, peer=peer, phase="offered", since=now))


def message(item: Item | None, offer: TransferOffer, *, undo: bool = False) -> Message:
    """Return what the giver has to say next.

    If the item knows nothing of the transfer any more, or not yet, nothing comes of it unless the
    receiver knows better.
    """
    transfer = _transfer(item, offer.id)
    if transfer is None:
        return Undo(id=offer.id, label=offer.label)
    if transfer.phase == "offered":
        return offer
    if undo:
        return Undo(id=offer.id, label=offer.label, receipt=transfer.receipt)
    return Commit(id=offer.id, label=offer.label, receipt=transfer.receipt)


def step(item: Item | None, id_: str, answer: TransferReply, is_whole: bool) -> Step:  # noqa: FBT001  # a fact
    """Return what the giver does when it hears an answer.

    An answer may be late. Once the item was handed over, only one that names its very receipt
    brings it back: by that receipt the receiver never becomes the Original then.
    """
    transfer = _transfer(item, id_)
    if transfer is None:
        return "wait"
    if answer.state == "accepted":
        return "finish"
    if transfer.phase == "offered":
        if answer.state == "ready":
            return "hand over" if is_whole else "take back"
        return "wait" if answer.state == "copying" else "take back"
    ended = answer.state in {"refused", "undone"} and answer.receipt == transfer.receipt
    return "take back" if ended else "wait"


def is_over(item: Item | None, id_: str, answer: TransferReply) -> bool:
    """Tell whether the giver need not speak of a transfer any more, once it did that step.

    What was handed over and comes back is told to the receiver, which may be ready anew.
    """
    transfer = _transfer(item, id_)
    if answer.state == "accepted":
        return True
    if transfer is not None and transfer.phase == "handed":
        return False
    return answer.state in {"refused", "undone"} and not answer.receipt


def handed(item: Item, id_: str, receipt: str, now: int) -> Item:
    """Return an item that waits to be accepted: a Copy, for whatever happens next."""
    transfer = _known(item, id_)
    if transfer.phase != "offered":
        msg = f"{item.forms.label} was handed over already."
        raise StateError(msg)
    return replace(
        item,
        state=State.COPY,
        origin=transfer.peer,
        transfer=replace(transfer, phase="handed", receipt=receipt, since=now),
    )


def finished(item: Item, id_: str) -> Item:
    """Return an item whose Original the receiver has."""
    peer = _known(item, id_).peer
    return replace(item, state=State.COPY, origin=peer, transfer=None)


def taken_back(item: Item, id_: str) -> Item:
    """Return an item whose transfer was undone: the Original, as if nothing had been."""
    if _known(item, id_).phase == "ready":
        msg = f"{item.forms.label} comes from elsewhere: there it is taken back."
        raise StateError(msg)
    return replace(item, state=State.ORIGINAL, origin="", transfer=None)


# --- the receiver ---------------------------------------------------------------------------------


def standing(item: Item | None, id_: str) -> TransferReply | None:
    """Return how far a transfer has come by what the item says; None if it says nothing of it."""
    if item is not None and id_ in item.custody:
        return TransferReply(state="accepted")
    transfer = _transfer(item, id_)
    if transfer is not None and transfer.phase == "ready":
        return TransferReply(state="ready", receipt=transfer.receipt)
    return None


def check_receivable(item: Item | None, id_: str) -> None:
    """Refuse what cannot come here, by what is here of it."""
    if item is None:
        return
    label = item.forms.label
    if item.kind != "data":
        msg = f"{label} is not an item that is transferred here: its kind is {item.kind}."
        raise StateError(msg)
    if item.state is State.DELETED:
        raise DeletedError(str(label))
    if item.transfer is not None and item.transfer.id != id_:
        msg = f"{label} is being transferred {_direction(item.transfer)} already."
        raise StateError(msg)
    if item.state is State.ORIGINAL:
        msg = f"{label} is the Original in this archive already."
        raise StateError(msg)


def is_replaced(known: Transfer, id_: str, peer: str) -> bool:
    """Tell whether a readiness is in vain, as its own giver offers the item by another transfer."""
    return known.phase == "ready" and known.peer == peer and known.id != id_


def check_describing(metadata: Item | None, id_: str) -> None:
    """Refuse to put metadata in the place of what is here, unless that is a Copy of them."""
    if metadata is not None:
        check_receivable(replace(metadata, kind="data"), id_)
        if metadata.kind != "metadata":
            raise StateError(f"{metadata.forms.label} does not describe anything here.")


def received(  # noqa: PLR0913, PLR0917  # what it is, and the facts of the transfer
    pulled: Item, before: Item | None, id_: str, peer: str, receipt: str, now: int
) -> Item:
    """Return an item that is here whole: a Copy, ready to be the Original.

    The receipt is made up for this one time: who undoes the readiness undoes what it is good for.
    """
    return replace(
        pulled,
        state=State.COPY,
        origin=peer,
        custody=() if before is None else before.custody,
        transfer=Transfer(
            id=id_,
            peer=peer,
            phase="ready",
            since=now,
            receipt=receipt,
            was_here=before is not None,
        ),
    )


def answer_to_commit(item: Item | None, id_: str, receipt: str) -> TransferReply:
    """Return the answer; `accepted` holds once the item is so, as `accepted` makes it.

    `refused` holds for ever: nothing is ready by a receipt again that it is not ready by now.
    """
    found = standing(item, id_)
    if found is not None and (found.state == "accepted" or found.receipt == receipt):
        return TransferReply(state="accepted")
    reason = "It is not ready for this any more: the transfer was undone."
    return TransferReply(state="refused", receipt=receipt, reason=reason)


def accepted(item: Item, id_: str) -> Item:
    """Return an item that is the Original from now on; the same one if it was accepted before."""
    if id_ in item.custody:
        return item
    if _known(item, id_).phase != "ready":
        msg = f"{item.forms.label} goes elsewhere: it is accepted there."
        raise StateError(msg)
    return replace(
        item, state=State.ORIGINAL, origin="", transfer=None, custody=(*item.custody, id_)
    )


def answer_to_undo(item: Item | None, id_: str, receipt: str) -> TransferReply:
    """Return the answer; `undone` holds once the item is so, as `released` makes it."""
    if item is not None and id_ in item.custody:
        return TransferReply(state="accepted")
    return TransferReply(state="undone", receipt=receipt)


def released(item: Item, id_: str) -> Item | None:
    """Return an item that does not wait to be the Original; None if it was not here before."""
    transfer = _known(item, id_)
    if transfer.phase != "ready":
        msg = f"{item.forms.label} goes elsewhere: here it is taken back."
        raise StateError(msg)
    return replace(item, transfer=None) if transfer.was_here else None


# --- both -----------------------------------------------------------------------------------------


def check_droppable(item: Item) -> None:
    """Refuse to let go of a Copy on which others may still rely.

    A giver that heard nothing asks again whether its Original was accepted, for years if need be;
    only the item can tell, also when the Original has gone on to a third archive.
    """
    if item.transfer is not None:
        msg = f"{item.forms.label} is being transferred {_direction(item.transfer)}: undo it first."
        raise StateError(msg)
    if item.custody:
        msg = f"The Original of {item.forms.label} was here once: its Copy stays, as a proof of it."
        raise StateError(msg)


def exchange_of(item: Item) -> TransferRecord | None:
    """Return what a catalogue that was lost knew of an item's transfer; its secret is gone."""
    transfer = item.transfer
    if transfer is None or item.kind != "data":
        return None
    receiving = transfer.phase == "ready"
    return TransferRecord(
        id=transfer.id,
        label=item.forms.label.canonical,
        role="receiving" if receiving else "giving",
        peer=transfer.peer,
        secret="",
        since=transfer.since,
        fault="" if receiving else "The token for the other archive was lost: give it again.",
    )


def _transfer(item: Item | None, id_: str) -> Transfer | None:
    transfer = None if item is None else item.transfer
    return transfer if transfer is not None and transfer.id == id_ else None


def _known(item: Item, id_: str) -> Transfer:
    transfer = _transfer(item, id_)
    if transfer is None:
        msg = f"{item.forms.label} has no part in the transfer {id_} any more."
        raise StateError(msg)
    return transfer


def _direction(transfer: Transfer) -> str:
    return f"{'from' if transfer.phase == 'ready' else 'to'} {transfer.peer}"
