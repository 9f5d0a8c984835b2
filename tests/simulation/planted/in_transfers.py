"""Bugs planted in transfers and copies between archives."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ibi.archive.ports.maintenance import TransferRecord
from ibi.archive.rules import copies, transfer
from ibi.archive.rules.transfer_messages import TransferOffer, TransferReply
from ibi.archive.transfers import item_pair as pairs
from ibi.archive.transfers.item_pair import Pair
from ibi.archive.transfers.receiver import TransferReceiver
from ibi.archive.transfers.sender import TransferSender
from ibi.identifier.label import parse
from ibi.model.item import Item, State
from tests.simulation.planted.mutation import Mutation

_handed: Final = transfer.handed
_accepted: Final = transfer.accepted
_as_copy: Final = copies.as_copy


def _still_original(item: Item, id_: str, receipt: str, now: int) -> Item:
    return replace(_handed(item, id_, receipt, now), state=State.ORIGINAL)


def _forgetful(item: Item, id_: str) -> Item:
    return replace(_accepted(item, id_), custody=())


def _accept_again(self: TransferReceiver, id_: str, pair: Pair) -> None:
    archive = self._archive
    pairs.make(archive, "accept", pair, lambda each: _once_more(each, id_), id_)
    self._end(id_, "done")


def _once_more(item: Item, id_: str) -> Item:
    custody = (*item.custody, id_)
    return replace(item, state=State.ORIGINAL, origin="", transfer=None, custody=custody)


def _undone_anyway(item: Item | None, id_: str, receipt: str) -> TransferReply:
    del item, id_
    return TransferReply(state="undone", receipt=receipt)


def _undo_alone(self: TransferSender, exchange: TransferRecord, who: str) -> None:
    with self._archive.changing():
        pair = self._pair(exchange)
        row = self._open(exchange)
        if pair.part_in(row.id) is not None:
            self._take_back(row, pair, f"{who} undid it.", who)


def _offered_late(self: TransferReceiver, offer: TransferOffer, pair: Pair) -> TransferReply:
    """Open a transfer for a late offer although it has ended."""
    standing = transfer.standing(pair.item, offer.id)
    if standing is not None:
        return replace(standing, digest=pairs.digest_of(self._archive, pair))
    wanted = TransferRecord(
        id=offer.id,
        label=parse(offer.label).canonical,
        role="receiving",
        peer=offer.source,
        secret=offer.ticket,
        since=self._archive.clock.wall(),
    )
    self._transfers.keep(wanted)
    return TransferReply(state="copying")


def _copied_as_original(item: Item, origin: str, before: Item | None) -> Item:
    return replace(_as_copy(item, origin, before), state=State.ORIGINAL)


def _copyable(before: Item | None) -> None:
    del before


IN_TRANSFERS: Final = (
    Mutation(
        "an archive answers Original after it handed over",
        {"ibi.archive.rules.transfer.handed": _still_original},
    ),
    Mutation(
        "a receiver forgets that it accepted",
        {"ibi.archive.rules.transfer.accepted": _forgetful},
    ),
    Mutation(
        "a receiver accepts a second time",
        {"ibi.archive.transfers.receiver.TransferReceiver._accept": _accept_again},
        within=90,
    ),
    Mutation(
        "a receiver answers that it undid what it accepted",
        {"ibi.archive.rules.transfer.answer_to_undo": _undone_anyway},
    ),
    Mutation(
        "a late offer reopens an ended transfer",
        {"ibi.archive.transfers.receiver.TransferReceiver._offered": _offered_late},
    ),
    Mutation(
        "a sender takes back without asking",
        {"ibi.archive.transfers.sender.TransferSender.undo": _undo_alone},
    ),
    Mutation(
        "a Copy is stored as Original",
        {"ibi.archive.copies.copies.as_copy": _copied_as_original},
    ),
    Mutation(
        "a Copy replaces the Original",
        {"ibi.archive.copies.copies.check_copyable": _copyable},
    ),
)
