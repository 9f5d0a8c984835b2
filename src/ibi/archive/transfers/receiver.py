"""The receiving side of transfers: it pulls offered items and decides when they are accepted.

A message may arrive late or twice: the answer is the same, and nothing is done a second time.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Final, TypeAlias

from ibi.archive.archive import Archive
from ibi.archive.copies.pull import ItemPuller, PulledItem, Report
from ibi.archive.ports.maintenance import PeerArchive, TransferRecord
from ibi.archive.rules import transfer
from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.archive.transfers import item_pair as pairs
from ibi.archive.transfers.item_pair import Pair, digest_of, pair_of
from ibi.errors import (
    ArchiveRequestError,
    ArchiveUnreachableError,
    IbiError,
    InProgressError,
    Sentence,
    StateError,
    StorageError,
    StorageFullError,
    shown,
)
from ibi.identifier.label import parse
from ibi.model.item import State
from ibi.model.label_pair import Forms
from ibi.wire.addresses import is_web_address

OpenSource: TypeAlias = Callable[[str, str], PeerArchive]
"""Connects to the archive at an address, with a read ticket."""

_ID: Final = re.compile("[0-9a-f]{32}")
_LONGEST_TICKET: Final = 200
_UNDONE: Final = "The other archive undid it."
_ANEW: Final = "The other archive began anew."


class TransferReceiver:
    """Receives Originals of other archives."""

    def __init__(
        self, archive: Archive, address: str, service: Forms, open_source: OpenSource
    ) -> None:
        """Receive for the archive with this service label and address."""
        self._archive = archive
        self._copies = archive.catalogue.copies
        self._transfers = archive.catalogue.transfers
        self._address = address
        self._service = service
        self._open_source = open_source
        self._puller = ItemPuller(archive)

    def hear(self, message: Message) -> TransferReply:
        """Answer a sender's message, once the effect of the message is durable."""
        if _ID.fullmatch(message.id) is None:
            msg = Sentence("%(id)s is not the id of a transfer.", id=shown(message.id))
            raise ArchiveRequestError(msg)
        with self._archive.changing():
            self._archive.settle()
            pair = pair_of(self._archive, parse(message.label))
            match message:
                case TransferOffer():
                    return self._offered(message, pair)
                case Commit():
                    return self._committed(message, pair)
                case Undo():
                    return self._undone(message, pair, _UNDONE)

    def _offered(self, offer: TransferOffer, pair: Pair) -> TransferReply:
        standing = transfer.standing(pair.item, offer.id)
        if standing is not None:
            return replace(standing, digest=digest_of(self._archive, pair))
        row = self._transfers.get(offer.id)
        if row is not None and (row.role, row.state) != ("receiving", "open"):
            return TransferReply(state="refused", reason=row.fault or "This transfer has ended.")
        wanted = TransferRecord(
            id=offer.id,
            label=parse(offer.label).canonical,
            role="receiving",
            peer=offer.source.lower().rstrip("/"),
            secret=offer.ticket,
            since=self._archive.clock.wall() if row is None else row.since,
            fault="" if row is None else row.fault,
        )
        pair = self._replaced(wanted, pair)
        try:
            self._check(wanted, pair)
        except StateError as refusal:
            return self._refuse(wanted, str(refusal))
        if wanted != row:
            self._transfers.keep(wanted)
        return TransferReply(state="copying")

    def _replaced(self, wanted: TransferRecord, pair: Pair) -> Pair:
        """Release an item that waits for an earlier transfer of the same sender.

        A sender offers an item again only after it has taken the item back.
        """
        known = None if pair.item is None else pair.item.transfer
        if known is None or not transfer.is_replaced(known, wanted.id, wanted.peer):
            return pair
        label = parse(wanted.label)
        self._undone(Undo(id=known.id, label=wanted.label), pair, _ANEW)
        return pair_of(self._archive, label)

    def _check(self, wanted: TransferRecord, pair: Pair) -> None:
        ticket = wanted.secret
        if not is_web_address(wanted.peer) or not ticket.isascii() or not ticket.isprintable():
            msg = Sentence("The offer makes no sense: it names no archive to read from.")
            raise StateError(msg)
        if len(ticket) > _LONGEST_TICKET:
            msg = Sentence("The offer makes no sense: its ticket is too long.")
            raise StateError(msg)
        if wanted.peer == self._address:
            msg = Sentence(
                "%(peer)s is this archive itself: nothing is transferred here from there.",
                peer=wanted.peer,
            )
            raise StateError(msg)
        transfer.check_receivable(pair.item, wanted.id)

    def _refuse(self, exchange: TransferRecord, reason: str) -> TransferReply:
        """End a transfer; its record stays, so that no late message opens it again."""
        ended = replace(exchange, state="undone", fault=reason, secret="")
        self._transfers.keep(ended)
        return TransferReply(state="refused", reason=reason)

    def _committed(self, commit: Commit, pair: Pair) -> TransferReply:
        self._check_receipt(commit.receipt)
        answer = transfer.answer_to_commit(pair.item, commit.id, commit.receipt)
        if answer.state == "accepted":
            self._accept(commit.id, pair)
        return answer

    def _check_receipt(self, receipt: str) -> None:
        """Raise unless the receipt was issued by this archive: only its own can be answered for."""
        if receipt.rpartition("@")[2] != self._service.label.canonical:
            msg = Sentence(
                "This receipt is not of this archive: another one answers at its address now."
            )
            raise StateError(msg)

    def _accept(self, id_: str, pair: Pair) -> None:
        if pair.item is not None and id_ not in pair.item.custody:
            pairs.make(
                self._archive, "accept", pair, lambda each: transfer.accepted(each, id_), id_
            )
        if pair.item is not None:
            self._copies.drop(pair.item.forms.label.canonical)
        self._end(id_, "done")

    def _forget(self, undo: Undo, reason: str) -> None:
        """End a transfer that was undone; its offer may still arrive, later than the undo."""
        if self._transfers.get(undo.id) is None:
            self._refuse(
                TransferRecord(
                    id=undo.id,
                    label=parse(undo.label).canonical,
                    role="receiving",
                    peer="",
                    secret="",
                    since=self._archive.clock.wall(),
                ),
                reason,
            )
        self._end(undo.id, "undone", reason)

    def _end(self, id_: str, state: transfer.EndState, fault: str = "") -> None:
        row = self._transfers.get(id_)
        if row is not None and row.state == "open":
            self._transfers.keep(replace(row, state=state, fault=fault, secret=""))

    def _undone(self, undo: Undo, pair: Pair, reason: str, who: str = pairs.WHO) -> TransferReply:
        if undo.receipt:
            self._check_receipt(undo.receipt)
        answer = transfer.answer_to_undo(pair.item, undo.id, undo.receipt)
        if answer.state == "accepted":
            self._accept(undo.id, pair)
            return answer
        if transfer.standing(pair.item, undo.id) is not None:
            assert pair.item is not None  # noqa: S101  # it says so
            stays = transfer.released(pair.item, undo.id) is not None
            pairs.make(
                self._archive,
                "take back" if stays else "drop",
                pair,
                lambda each: transfer.released(each, undo.id),
                undo.id,
                who=who,
                reason=reason,
            )
        self._forget(undo, reason)
        return answer

    def undo(self, exchange: TransferRecord, who: str) -> None:
        """Undo a transfer; raise StateError if the item was accepted already."""
        message = Undo(id=exchange.id, label=exchange.label)
        with self._archive.changing():
            self._archive.settle()
            pair = pair_of(self._archive, parse(exchange.label))
            if self._undone(message, pair, f"{who} undid it.", who).state == "accepted":
                msg = Sentence(
                    "It is too late: %(label)s is the Original here by this transfer.",
                    label=exchange.label,
                )
                raise StateError(msg)

    def go_on(self, exchange: TransferRecord, report: Report) -> None:
        """Pull the offered item until it is ready; refuse the transfer after a permanent failure.

        Raises errors that another attempt may mend, and whatever `report` raises.
        """
        with self._archive.changing():
            self._archive.settle()
            pair = pair_of(self._archive, parse(exchange.label))
            standing = transfer.standing(pair.item, exchange.id)
            if standing is not None:
                if standing.state == "accepted":
                    self._accept(exchange.id, pair)
                return
        try:
            with closing(self._open_source(exchange.peer, exchange.secret)) as source:
                pulled = self._puller.pull(source, parse(exchange.label), report=report)
            self._be_ready(exchange, pulled)
        except StorageFullError as full:
            self._give_up(exchange, str(full))
        except (ArchiveUnreachableError, InProgressError, StorageError):
            raise
        except IbiError as fault:
            self._give_up(exchange, str(fault))

    def _give_up(self, exchange: TransferRecord, reason: str) -> None:
        with self._archive.changing():
            self._end(exchange.id, "undone", reason)

    def _be_ready(self, exchange: TransferRecord, pulled: PulledItem) -> None:
        id_, peer = exchange.id, exchange.peer
        main = pulled.items[0][0]
        if main.state is not State.ORIGINAL or main.forms.label.canonical != exchange.label:
            msg = Sentence(
                "%(peer)s does not have the Original of %(label)s.", peer=peer, label=exchange.label
            )
            raise StateError(msg)
        with self._archive.changing(), self._puller.sealed(pulled):
            self._archive.settle()
            row = self._transfers.get(id_)
            if row is None or row.state != "open":
                return  # the transfer was undone meanwhile
            before = [self._archive.find(item.forms) for item, _ in pulled.items]
            transfer.check_receivable(before[0], id_)
            for each in before[1:]:
                transfer.check_describing(each, id_)
            receipt = f"{secrets.token_hex(16)}@{self._service.label.canonical}"
            now = self._archive.clock.wall()
            items = [
                transfer.received(item, known, id_, peer, receipt, now)
                for (item, _), known in zip(pulled.items, before, strict=True)
            ]
            changes = self._puller.changes(pulled, items)
            detail: dict[str, object] = {"transfer": id_, "from": peer}
            label = items[0].forms.label
            self._archive.make(
                self._archive.change(
                    "receive", pairs.WHO, label, changes, now, detail=detail, deposit=pulled.deposit
                )
            )
