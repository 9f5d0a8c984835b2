"""The transfer of an Original to another archive, as a state machine of both sides.

The sender drives, the receiver decides. In between no archive has the Original: the sender's item
becomes a Copy before it asks the receiver to accept, and becomes the Original again only if the
receiver answers that its own item is not the Original and never will be by this receipt. Everything
that affects which side answers `Original` is in this file; a test explores all its states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from ibi.archive.ports.maintenance import TransferRecord
from ibi.archive.rules.manifest import manifest
from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.errors import DeletedError, Sentence, StateError, UnreconciledError
from ibi.model.item import File, Item, State, Transfer

Step: TypeAlias = Literal["wait", "hand over", "finish", "take back"]
EndState: TypeAlias = Literal["done", "undone"]


def digest(items: Iterable[tuple[Item, Iterable[File]]]) -> str:
    """Return the digest of everything that must be equal on both sides: items and files."""
    found = hashlib.sha256()
    for item, files in items:
        # State and origin differ between the sides, and so do the times of files on each disk; to
        # which collections it belongs is a matter of each archive.
        alike = replace(
            item, state=State.ORIGINAL, origin="", transfer=None, custody=(), collections=()
        )
        in_order = sorted(files, key=lambda file: file.path)
        found.update(manifest(alike, [replace(file, modified=0) for file in in_order]))
    return found.hexdigest()


# --- the sender -----------------------------------------------------------------------------------


def check_reconciled(moment: str) -> None:
    """Raise UnreconciledError if there is the time of a backup that is not reconciled.

    Another archive may have an Original that was given away since.
    """
    if moment:
        raise UnreconciledError(moment)


def check_transferable(item: Item) -> None:
    """Raise if an item cannot be offered to another archive."""
    label = item.forms.label
    if item.kind == "service":
        msg = Sentence("The archive service's own item is never transferred.")
        raise StateError(msg)
    if item.kind == "metadata":
        msg = Sentence("%(label)s describes another item, and is transferred with it.", label=label)
        raise StateError(msg)
    if item.state is State.DELETED:
        raise DeletedError(str(label))
    if item.transfer is not None:
        msg = Sentence(
            "%(label)s is being transferred %(direction)s already.",
            label=label,
            direction=_direction(item.transfer),
        )
        raise StateError(msg)
    if item.state is State.COPY:
        msg = Sentence(
            "%(label)s is a Copy here: its Original is transferred where it is.", label=label
        )
        raise StateError(msg)
    if not item.transferable:
        msg = Sentence(
            "%(label)s is marked as not transferable: its Original stays in this archive. Lift the "
            "mark first: ibi archive describe %(label)s --transferable",
            label=label,
        )
        raise StateError(msg)


def offered(item: Item, id_: str, peer: str, now: int) -> Item:
    """Return the item as offered: still the Original, and closed to changes."""
    return replace(item, transfer=Transfer(id=id_, peer=peer, phase="offered", since=now))


def message(item: Item | None, offer: TransferOffer, *, undo: bool = False) -> Message:
    """Return the next message of the sender.

    If the item has no record of the transfer, the sender undoes it, unless the receiver has
    accepted it already.
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
    """Return the step of the sender after an answer of the receiver.

    An answer may be late. After the item was handed over, only an answer with the same receipt
    reverts that: by this receipt the receiver will never accept.
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
    """Return whether the sender has no more messages to send after that step.

    If the item was handed over and comes back, the receiver still gets an undo: it may have become
    ready again.
    """
    transfer = _transfer(item, id_)
    if answer.state == "accepted":
        return True
    if transfer is not None and transfer.phase == "handed":
        return False
    return answer.state in {"refused", "undone"} and not answer.receipt


def handed(item: Item, id_: str, receipt: str, now: int) -> Item:
    """Return the item as handed over: a Copy that waits for the receiver to accept."""
    transfer = _known(item, id_)
    if transfer.phase != "offered":
        msg = Sentence("%(label)s was handed over already.", label=item.forms.label)
        raise StateError(msg)
    return replace(
        item,
        state=State.COPY,
        origin=transfer.peer,
        transfer=replace(transfer, phase="handed", receipt=receipt, since=now),
    )


def finished(item: Item, id_: str) -> Item:
    """Return the item after the receiver accepted the Original."""
    peer = _known(item, id_).peer
    return replace(item, state=State.COPY, origin=peer, transfer=None)


def taken_back(item: Item, id_: str) -> Item:
    """Return the item after an undone transfer: the Original, as before."""
    if _known(item, id_).phase == "ready":
        msg = Sentence(
            "%(label)s comes from elsewhere: there it is taken back.", label=item.forms.label
        )
        raise StateError(msg)
    return replace(item, state=State.ORIGINAL, origin="", transfer=None)


# --- the receiver ---------------------------------------------------------------------------------


def standing(item: Item | None, id_: str) -> TransferReply | None:
    """Return the progress that the item records of a transfer; None if it records none."""
    if item is not None and id_ in item.custody:
        return TransferReply(state="accepted")
    transfer = _transfer(item, id_)
    if transfer is not None and transfer.phase == "ready":
        return TransferReply(state="ready", receipt=transfer.receipt)
    return None


def check_receivable(item: Item | None, id_: str) -> None:
    """Raise if the item's local state forbids receiving it."""
    if item is None:
        return
    label = item.forms.label
    if item.kind != "data":
        msg = Sentence(
            "%(label)s is not an item that is transferred here: its kind is %(kind)s.",
            label=label,
            kind=item.kind,
        )
        raise StateError(msg)
    if item.state is State.DELETED:
        raise DeletedError(str(label))
    if item.transfer is not None and item.transfer.id != id_:
        msg = Sentence(
            "%(label)s is being transferred %(direction)s already.",
            label=label,
            direction=_direction(item.transfer),
        )
        raise StateError(msg)
    if item.state is State.ORIGINAL:
        msg = Sentence("%(label)s is the Original in this archive already.", label=label)
        raise StateError(msg)


def is_replaced(known: Transfer, id_: str, peer: str) -> bool:
    """Return whether the same sender has replaced this transfer by another one."""
    return known.phase == "ready" and known.peer == peer and known.id != id_


def check_describing(metadata: Item | None, id_: str) -> None:
    """Raise unless the local metadata item, if there is one, is a Copy of the same."""
    if metadata is not None:
        check_receivable(replace(metadata, kind="data"), id_)
        if metadata.kind != "metadata":
            raise StateError(
                Sentence("%(label)s does not describe anything here.", label=metadata.forms.label)
            )


def received(  # noqa: PLR0913, PLR0917  # what it is, and the facts of the transfer
    pulled: Item, before: Item | None, id_: str, peer: str, receipt: str, now: int
) -> Item:
    """Return the received item: a Copy, ready to become the Original.

    The receipt is new each time, so that undoing this readiness makes it worthless.
    """
    return replace(
        pulled,
        state=State.COPY,
        origin=peer,
        custody=() if before is None else before.custody,
        collections=pulled.collections if before is None else before.collections,
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
    """Return the answer to a commit; `accepted` is true once the item is as `accepted` makes it.

    `refused` is final: an item never becomes ready again by the same receipt.
    """
    found = standing(item, id_)
    if found is not None and (found.state == "accepted" or found.receipt == receipt):
        return TransferReply(state="accepted")
    reason = "It is not ready for this any more: the transfer was undone."
    return TransferReply(state="refused", receipt=receipt, reason=reason)


def accepted(item: Item, id_: str) -> Item:
    """Return the item as the Original; the same one if it was accepted before."""
    if id_ in item.custody:
        return item
    if _known(item, id_).phase != "ready":
        msg = Sentence("%(label)s goes elsewhere: it is accepted there.", label=item.forms.label)
        raise StateError(msg)
    return replace(
        item, state=State.ORIGINAL, origin="", transfer=None, custody=(*item.custody, id_)
    )


def answer_to_undo(item: Item | None, id_: str, receipt: str) -> TransferReply:
    """Return the answer to an undo; `undone` is true once the item is as `released` makes it."""
    if item is not None and id_ in item.custody:
        return TransferReply(state="accepted")
    return TransferReply(state="undone", receipt=receipt)


def released(item: Item, id_: str) -> Item | None:
    """Return the item without its readiness; None if this archive did not have it before."""
    transfer = _known(item, id_)
    if transfer.phase != "ready":
        msg = Sentence("%(label)s goes elsewhere: here it is taken back.", label=item.forms.label)
        raise StateError(msg)
    return replace(item, transfer=None) if transfer.was_here else None


# --- both -----------------------------------------------------------------------------------------


def check_droppable(item: Item) -> None:
    """Raise if another archive may still need this Copy to finish a transfer.

    A sender that got no answer repeats its question for years if need be. Only the item can answer
    it, even after the Original has moved on to a third archive.
    """
    if item.transfer is not None:
        msg = Sentence(
            "%(label)s is being transferred %(direction)s: undo it first.",
            label=item.forms.label,
            direction=_direction(item.transfer),
        )
        raise StateError(msg)
    if item.custody:
        msg = Sentence(
            "The Original of %(label)s was here once: its Copy stays, as a proof of it.",
            label=item.forms.label,
        )
        raise StateError(msg)


def exchange_of(item: Item) -> TransferRecord | None:
    """Return the transfer record that an item implies, for a rebuilt catalogue; it has no token."""
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
        msg = Sentence(
            "%(label)s has no part in the transfer %(id)s any more.", label=item.forms.label, id=id_
        )
        raise StateError(msg)
    return transfer


def _direction(transfer: Transfer) -> str:
    if transfer.phase == "ready":
        return Sentence("from %(peer)s", peer=transfer.peer)
    return Sentence("to %(peer)s", peer=transfer.peer)
