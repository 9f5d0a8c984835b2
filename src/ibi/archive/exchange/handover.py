"""The giving side of hand-overs: Originals become Copies, and a signed document says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.ports.catalogue import HistoryChoice, HistoryEntry, StoredItem
from ibi.archive.ports.maintenance import CopyRecord, TransferRecord
from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.rules import handover, transfer
from ibi.archive.rules.handover import HandedItem, HandOver, Paper, paper_of, signing_text
from ibi.errors import ArchiveRequestError, Sentence
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.model.change import ItemChange
from ibi.model.clock import SECOND
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms

MOST_ITEMS: Final = 1000
"""The most items of one request."""
_ACT: Final = "hand over"
_PAGE: Final = 100


class HandoverIssuer:
    """Hands Originals over to another archive."""

    def __init__(
        self, archive: Archive, service: Forms, address: str, sign: Callable[[bytes], str]
    ) -> None:
        """Hand over for the archive with this service label, address and signing key."""
        self._archive = archive
        self._service = service
        self._address = address
        self._sign = sign

    def check(self, labels: Sequence[str], recipient: str, *, leave_copies: bool = False) -> None:
        """Raise what `give` would raise, without giving anything up."""
        transfer.check_reconciled(self._archive.catalogue.settings.get(UNRECONCILED))
        to = self._recipient(labels, recipient)
        for label in self._given_or_here(labels, to, leave_copies=leave_copies):
            item = self._archive.get_described(label).item
            handover.check_givable(item, given=self._given(item, to) is not None)

    def _recipient(self, labels: Sequence[str], recipient: str) -> Label:
        if not 1 <= len(labels) <= MOST_ITEMS:
            msg = Sentence(
                "%(count)s items cannot be handed over at a time: 1 to %(most)s can.",
                count=len(labels),
                most=MOST_ITEMS,
            )
            raise ArchiveRequestError(msg)
        return handover.recipient_of(recipient, self._service)

    def _given_or_here(self, labels: Sequence[str], to: Label, *, leave_copies: bool) -> list[str]:
        """Return the named items, without Copies if `leave_copies`."""
        if not leave_copies:
            return list(labels)
        items = ((label, self._archive.get_described(label).item) for label in labels)
        return [
            label
            for label, item in items
            if item.state is not State.COPY or self._given(item, to) is not None
        ]

    def give(
        self, labels: Sequence[str], recipient: str, who: str, *, leave_copies: bool = False
    ) -> HandOver:
        """Give up Originals and return the signed document; a repeated call returns the same."""
        to = self._recipient(labels, recipient)
        with self._archive.changing():
            self._archive.settle()
            self.check(labels, recipient, leave_copies=leave_copies)
            meant = self._given_or_here(labels, to, leave_copies=leave_copies)
            items = [self._give(label, to, who) for label in meant]
        document = HandOver(
            id=handover.document_id(item.transfer for item in items),
            giver=self._service.label.spelling,
            address=self._address,
            recipient=to.spelling,
            items=items,
        )
        signed = [self._signed(paper_of(document, item)) for item in items]
        return msgspec.structs.replace(document, items=signed)

    def _give(self, label: str, to: Label, who: str) -> HandedItem:
        """Give up one Original, unless that was done before; afterwards the item is a Copy."""
        look = self._archive.get_described(label)
        entry = self._given(look.item, to)
        id_ = handover.transfer_id(self._service.label, look.item, to)
        given = self._archive.clock.wall() if entry is None else entry.at
        if entry is None:
            self._make(look, id_, to, who, given)
        self._remember(look.item, id_, to, given)
        return HandedItem(
            label=look.item.forms.label.spelling,
            metadata=look.item.metadata.label.spelling if look.item.metadata else "",
            transfer=id_,
            digest=transfer.digest(self._contents(look)),
            at=Instant(given // SECOND).iso8601,
        )

    def _make(self, look: ItemWithMetadata, id_: str, to: Label, who: str, now: int) -> None:
        archive = self._archive
        changes = [
            ItemChange(
                item=handover.given_up(held.item), files=archive.files(held), version=held.version
            )
            for held in _helds(look)
        ]
        detail: dict[str, object] = {"to": to.spelling, "transfer": id_}
        label = look.item.forms.label
        change = archive.change(_ACT, who, label, changes, now, detail=detail)
        # The id of the change is that of the hand-over: the history records it once, as a proof.
        archive.make(replace(change, id=id_))

    def _remember(self, item: Item, id_: str, to: Label, given: int) -> None:
        catalogue, label = self._archive.catalogue, item.forms.label.canonical
        catalogue.transfers.keep(
            TransferRecord(
                id=id_,
                label=label,
                role="giving",
                peer=to.spelling,
                secret="",
                since=given,
                state="done",
            )
        )
        if catalogue.copies.get(label) is None:
            catalogue.copies.keep(CopyRecord(label=label, checked=given))

    def _given(self, item: Item, to: Label) -> HistoryEntry | None:
        """Return when an item was handed over to an archive, since its Original was here last."""
        id_ = handover.transfer_id(self._service.label, item, to)
        choice = HistoryChoice(label=item.forms.label.canonical, act=_ACT)
        after = 0
        while page := self._archive.catalogue.history.entries(after, _PAGE, choice):
            found = next((entry for entry in page if entry.change == id_), None)
            if found is not None or len(page) < _PAGE:
                return found
            after = page[-1].number
        return None

    def _contents(self, look: ItemWithMetadata) -> list[tuple[Item, tuple[File, ...]]]:
        return [(held.item, self._archive.files(held)) for held in _helds(look)]

    def _signed(self, paper: Paper) -> HandedItem:
        return msgspec.structs.replace(paper.item, signature=self._sign(signing_text(paper)))


def _helds(look: ItemWithMetadata) -> list[StoredItem]:
    return [look.held] if look.metadata is None else [look.held, look.metadata]
