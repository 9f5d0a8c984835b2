"""The sending side of transfers: it repeats its message and acts on the receiver's answer.

The row in the catalogue is written before the item changes, so that a transfer is found by its row
after a crash. The item and the row hold all state between two steps.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.ports.maintenance import CopyRecord, TransferRecord
from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.rules import transfer
from ibi.archive.rules.transfer_messages import OpenPeer, TransferOffer, TransferReply
from ibi.archive.transfers import item_pair as pairs
from ibi.archive.transfers.item_pair import Pair, pair_of
from ibi.errors import ArchiveRefusedError, ArchiveRequestError, Sentence, StateError, shown
from ibi.identifier.label import Label, parse
from ibi.model.change import Act
from ibi.model.item import Item, Transfer
from ibi.wire.addresses import is_web_address

MOST_ITEMS: Final = 1000
"""The most items of one request."""
_PASSING: Final = frozenset({408, 425, 429})
"""HTTP statuses of temporary refusals: they say nothing about the transfer."""
_SERVERS_FAULT: Final = 500


class TransferSender:
    """Sends Originals to other archives."""

    def __init__(
        self, archive: Archive, address: str, ticket_of: Callable[[str], str], open_peer: OpenPeer
    ) -> None:
        """Send for the archive at this address."""
        self._archive = archive
        self._copies = archive.catalogue.copies
        self._transfers = archive.catalogue.transfers
        self._address = address
        self._ticket_of = ticket_of
        self._open_peer = open_peer

    def offer(self, labels: list[str], to: str, token: str, who: str) -> list[TransferRecord]:
        """Begin one transfer for each item; if one item is not transferable, begin none."""
        if not 1 <= len(labels) <= MOST_ITEMS:
            msg = Sentence(
                "%(count)s items cannot be transferred at a time: 1 to %(most)s can.",
                count=len(labels),
                most=MOST_ITEMS,
            )
            raise ArchiveRequestError(msg)
        self._check_reconciled()
        peer = self._peer(to, token)
        with self._archive.changing():
            self._archive.settle()
            # An item may be named twice, by two of its labels.
            found = {self._checked(label, peer): None for label in labels}
        return [self._offer(label, peer, token, who) for label in found]

    def _check_reconciled(self) -> None:
        transfer.check_reconciled(self._archive.catalogue.settings.get(UNRECONCILED))

    def _peer(self, to: str, token: str) -> str:
        peer = to.lower().rstrip("/")
        if not is_web_address(peer):
            msg = Sentence(
                "%(to)s is not the address of an archive: expected http://host[:port].",
                to=shown(to),
            )
            raise ArchiveRequestError(msg)
        if peer == self._address:
            msg = Sentence(
                "%(to)s is this archive itself: nothing is transferred there.", to=shown(to)
            )
            raise ArchiveRequestError(msg)
        check_token(token)
        self._open_peer(peer, token).close()  # refuse a bad address now, not later in a thread
        return peer

    def _checked(self, label: str | Label, peer: str) -> Label:
        item = self._archive.get(label).item
        if not self._is_resumed(item.transfer, peer):
            transfer.check_transferable(item)
        return item.forms.label

    def _is_resumed(self, known: Transfer | None, peer: str) -> bool:
        """Return whether an open transfer to this peer lost its token with the catalogue."""
        if known is None or known.phase == "ready" or known.peer != peer:
            return False
        row = self._transfers.get(known.id)
        return row is None or not row.secret

    def _offer(self, label: Label, peer: str, token: str, who: str) -> TransferRecord:
        with self._archive.changing():  # held for one item at a time, so that others can change too
            self._archive.settle()
            self._checked(label, peer)
            return self._begin(label, peer, token, who)

    def _begin(self, label: Label, peer: str, token: str, who: str) -> TransferRecord:
        now = self._archive.clock.wall()
        pair = pair_of(self._archive, label)
        item = self._archive.get(label).item
        known = transfer.exchange_of(item)
        if known is not None:
            resumed = replace(known, secret=token, fault="")
            self._transfers.keep(resumed)
            return resumed
        exchange = TransferRecord(
            id=uuid.uuid4().hex,
            label=item.forms.label.canonical,
            role="giving",
            peer=peer,
            secret=token,
            since=now,
        )
        self._transfers.keep(exchange)
        id_ = exchange.id
        pairs.make(
            self._archive,
            "offer",
            pair,
            lambda each: transfer.offered(each, id_, peer, now),
            id_,
            who=who,
            to=peer,
        )
        return exchange

    def say(self, exchange: TransferRecord, *, undo: bool) -> TransferReply:
        """Send the next message and return the answer.

        A refusal ends the transfer only as long as the item was not handed over. An offer that was
        open when the archive was backed up is not repeated before the archive is reconciled: it may
        have been undone since, and the item given to another archive.
        """
        item = self._pair(exchange).item
        message = transfer.message(item, self._message(exchange), undo=undo)
        if isinstance(message, TransferOffer):
            self._check_reconciled()
        with closing(self._open_peer(exchange.peer, exchange.secret)) as peer:
            try:
                return peer.say(message)
            except (ArchiveRefusedError, ArchiveRequestError) as refusal:
                if not isinstance(message, TransferOffer) or not _is_final(refusal):
                    raise
                return TransferReply(state="refused", reason=str(refusal))

    def _pair(self, exchange: TransferRecord) -> Pair:
        with self._archive.changing():
            self._archive.settle()
            return pair_of(self._archive, parse(exchange.label))

    def _message(self, exchange: TransferRecord) -> TransferOffer:
        return TransferOffer(
            id=exchange.id,
            label=exchange.label,
            source=self._address,
            ticket=self._ticket_of(exchange.id),
        )

    def hear(self, exchange: TransferRecord, answer: TransferReply) -> bool:
        """Act on an answer; return whether the transfer made progress."""
        with self._archive.changing():
            pair = self._pair(exchange)
            row = self._transfers.get(exchange.id) or exchange  # it may be undone meanwhile
            is_whole = answer.state != "ready" or answer.digest == pairs.digest_of(
                self._archive, pair
            )
            step = transfer.step(pair.item, row.id, answer, is_whole)
            fault = answer.reason
            match step:
                case "hand over":
                    self._hand_over(row, pair, answer.receipt)
                case "finish":
                    self._finish(row, pair)
                case "take back":
                    fault = fault or row.fault
                    if not is_whole:
                        fault = f"What arrived at {row.peer} is not what is here."
                    self._take_back(row, pair, fault)
                case "wait" if answer.state != "copying":
                    fault = fault or row.fault
            if transfer.is_over(pair.item, row.id, answer):
                fault = fault or "It was interrupted before it began."
                self._end(row, fault, accepted=answer.state == "accepted")
                return True
            self._note(row, fault)
            return step != "wait"

    def _hand_over(self, exchange: TransferRecord, pair: Pair, receipt: str) -> None:
        id_, now = exchange.id, self._archive.clock.wall()
        pairs.make(
            self._archive,
            "hand over",
            pair,
            lambda each: transfer.handed(each, id_, receipt, now),
            id_,
            to=exchange.peer,
        )

    def _finish(self, exchange: TransferRecord, pair: Pair) -> None:
        # Before the change, so that a Copy never lacks its record.
        record = CopyRecord(label=exchange.label, checked=self._archive.clock.wall())
        self._copies.keep(record)
        id_ = exchange.id
        pairs.make(
            self._archive,
            "accept",
            pair,
            lambda each: transfer.finished(each, id_),
            id_,
            by=exchange.peer,
        )

    def _take_back(
        self, exchange: TransferRecord, pair: Pair, reason: str, who: str = pairs.WHO
    ) -> None:
        id_ = exchange.id
        pairs.make(
            self._archive,
            "take back",
            pair,
            lambda each: transfer.taken_back(each, id_),
            id_,
            who=who,
            reason=reason,
        )

    def undo(self, exchange: TransferRecord, who: str) -> None:
        """Take back an offered item; for a handed-over one, ask the receiver to release it.

        The row of a transfer that was undone before is ended, even if the receiver never answers.
        """
        with self._archive.changing():
            pair = self._pair(exchange)
            row = self._open(exchange)
            known = pair.part_in(row.id)
            reason = f"{who} undid it."
            if known is None:
                # A transfer that ended without a reason may have been accepted by the receiver.
                if row.fault:
                    self._end(row, row.fault, accepted=False)
                return
            if known.phase == "offered":
                self._take_back(row, pair, reason, who)
            self._note(row, reason)

    def renew(self, exchange: TransferRecord, token: str, to: str, who: str) -> None:
        """Continue with another token, or at another address of the same archive.

        Another archive at that address does not know the receipt, so it cannot accept the item.
        """
        with self._archive.changing():
            pair = self._pair(exchange)
            row = self._open(exchange)
            secret = token or row.secret
            peer = self._peer(to or row.peer, secret)
            renewed = replace(row, peer=peer, secret=secret, fault="")
            self._transfers.keep(renewed)
            known = pair.part_in(row.id)
            if known is not None and known.peer != peer:
                act: Act = "offer" if known.phase == "offered" else "hand over"
                become = partial(_readdressed, peer=peer)
                pairs.make(self._archive, act, pair, become, row.id, who=who, to=peer)

    def _open(self, exchange: TransferRecord) -> TransferRecord:
        """Return the current record of a transfer; raise StateError if it has ended."""
        row = self._transfers.get(exchange.id) or exchange
        if row.state != "open":
            msg = Sentence("This transfer has ended already: it is %(state)s.", state=row.state)
            raise StateError(msg)
        return row

    def _end(self, exchange: TransferRecord, fault: str, *, accepted: bool) -> None:
        ended = replace(
            exchange,
            state="done" if accepted else "undone",
            fault="" if accepted else fault,
            secret="",
        )
        self._transfers.keep(ended)

    def _note(self, exchange: TransferRecord, fault: str) -> None:
        if fault != exchange.fault:
            self._transfers.keep(replace(exchange, fault=fault))


def check_token(token: str) -> None:
    """Raise if a text cannot be the token of any archive."""
    if not token or not token.isascii() or not token.isprintable():
        msg = Sentence(
            "A token of the other archive is needed: 'ibi archive token add NAME --scope receive' "
            "makes one there."
        )
        raise ArchiveRequestError(msg)


def _readdressed(item: Item, peer: str) -> Item:
    transfer_ = item.transfer and replace(item.transfer, peer=peer)
    return replace(item, origin=peer if item.origin else "", transfer=transfer_)


def _is_final(refusal: ArchiveRefusedError | ArchiveRequestError) -> bool:
    """Return whether repeating the message could not change the answer."""
    if isinstance(refusal, ArchiveRequestError):
        return True
    return refusal.status < _SERVERS_FAULT and refusal.status not in _PASSING
