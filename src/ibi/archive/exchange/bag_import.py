"""Imports items of another archive, with their labels, from a bag.

    open  ->  receive files, like those of any deposit  ->  complete

An item is imported as a Copy, or as the Original if a signed hand-over says so. Each item is
imported by one change of its own: a fault of one does not affect the others. The same item gets the
same deposit id when it is offered again, so that an interrupted import can be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.copies.pull import named_deposit
from ibi.archive.deposits.deposits import Deposits
from ibi.archive.ports.catalogue import Catalogue, StoredItem
from ibi.archive.ports.file_store import Staged
from ibi.archive.ports.maintenance import CopyRecord, TransferRecord
from ibi.archive.rules import handover
from ibi.archive.rules.copies import as_copy, check_copyable, check_same
from ibi.archive.rules.handover import Paper, Verify, signing_text
from ibi.archive.rules.incoming_item import (
    PREFIX,
    IncomingItem,
    is_import,
    is_news,
    needed,
    read_incoming,
)
from ibi.errors import (
    ArchiveError,
    ArchiveRequestError,
    IbiError,
    ReadingError,
    Sentence,
    StateError,
    StorageError,
    UnknownError,
    shown,
)
from ibi.model.change import ItemChange
from ibi.model.item import File, Item
from ibi.model.label_pair import Forms
from ibi.wire.addresses import is_web_address


@dataclass(frozen=True, slots=True)
class LocalCounterpart:
    """The local item that an imported one corresponds to."""

    look: ItemWithMetadata
    files: tuple[File, ...]

    @property
    def helds(self) -> list[StoredItem]:
        """The item and its metadata item, if it has one."""
        found = (self.look.held, self.look.metadata)
        return [held for held in found if held is not None]

    @property
    def known(self) -> IncomingItem:
        """The local item in the form of an incoming one, to compare the two."""
        metadata = self.look.metadata
        return IncomingItem(self.look.item, self.files, metadata.item if metadata else None)


def counterpart_of(archive: Archive, incoming: IncomingItem) -> LocalCounterpart | None:
    """Return the local item; raise StateError if another local item has one of the names."""
    held = _held(archive.catalogue, incoming.item)
    described = incoming.metadata
    metadata = None if described is None else _held(archive.catalogue, described)
    if held is None:
        if metadata is not None:
            msg = Sentence(
                "%(label)s is here, and describes another item.", label=metadata.item.forms.label
            )
            raise StateError(msg)
        return None
    known = held.item.metadata
    if known != incoming.item.metadata or (known is not None and metadata is None):
        msg = Sentence("%(label)s is described by another item here.", label=incoming.label)
        raise StateError(msg)
    return LocalCounterpart(ItemWithMetadata(held, metadata), archive.files(held))


def _held(catalogue: Catalogue, item: Item) -> StoredItem | None:
    here: StoredItem | None = None
    for name in item.names:
        found = catalogue.items.find(name.canonical)
        if found is None:
            if catalogue.reservations.find(name.canonical) is not None:
                msg = Sentence(
                    "%(name)s is reserved in this archive, for an item that comes later.", name=name
                )
                raise StateError(msg)
        elif found.item.forms != item.forms or found.item.kind != item.kind:
            msg = Sentence(
                "%(name)s names another item here, %(label)s.",
                name=name,
                label=found.item.forms.label,
            )
            raise StateError(msg)
        else:
            check_same(found.item, item)
            here = found
    return here


def standing_of(counterpart: LocalCounterpart | None) -> str:
    """Describe the local state of an item, for people."""
    return "" if counterpart is None else f"it is here already, as {counterpart.look.item.state}"


MOST_ITEMS: Final = 1000
"""The most items of one request."""

NOTHING: Final = msgspec.Raw(b"null")

Outcome: TypeAlias = Literal["open", "here", "refused", "imported", "updated"]


class Brought(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item to import: its manifests, and the signed document of a hand-over."""

    label: str
    item: msgspec.Raw
    metadata: msgspec.Raw
    """The manifest of the metadata item; null if there is none."""
    paper: Paper | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportDecision:
    """The decision about an item to import."""

    label: str
    outcome: Outcome
    detail: str = ""
    """Why the item is refused, or its local state."""
    deposit: str = ""
    needed: tuple[str, ...] = ()
    """Paths of the files to send."""
    staged: tuple[Staged, ...] = field(default=())
    """Bytes of these files that an earlier attempt has staged."""


class BagImporter:
    """Imports items into one archive; threads may share it."""

    def __init__(
        self, archive: Archive, deposits: Deposits, service: Forms, verify: Verify
    ) -> None:
        """Import for the archive with this service label; `is_signed` verifies signatures."""
        self._archive = archive
        self._deposits = deposits
        self._service = service
        self._verify = verify
        self._copies = archive.catalogue.copies
        self._deposits_store = archive.catalogue.deposits
        self._transfers = archive.catalogue.transfers
        self._staging = archive.store.staging

    def open(self, brought: Sequence[Brought], key: str, who: str) -> list[ImportDecision]:
        """Decide about each item, and open a deposit for those to import."""
        if not 1 <= len(brought) <= MOST_ITEMS:
            msg = Sentence(
                "%(count)s items cannot be imported at a time: 1 to %(most)s can.",
                count=len(brought),
                most=MOST_ITEMS,
            )
            raise ArchiveRequestError(msg)
        checked = handover.check_key(key) if key else ""
        self._archive.settle()
        return [self._received(each, checked, who) for each in brought]

    def _received(self, brought: Brought, key: str, who: str) -> ImportDecision:
        try:
            return self._open(brought, key, who)
        except StorageError:
            raise
        except (ArchiveError, ReadingError) as fault:
            return _refused(brought.label, fault)

    def _open(self, brought: Brought, key: str, who: str) -> ImportDecision:
        incoming = _read(brought)
        if brought.paper is not None:
            self._check_paper(brought.paper, incoming, key)
        here = counterpart_of(self._archive, incoming)
        if self._is_done(incoming, here, brought.paper):
            return ImportDecision(label=brought.label, outcome="here", detail=standing_of(here))
        missing = needed(incoming, None if here is None else here.known)
        id_ = self._opened(brought, incoming, here, who)
        return ImportDecision(
            label=brought.label,
            outcome="open",
            deposit=id_,
            needed=tuple(file.path for file in missing),
            staged=tuple(self._staging.staged(id_)),
        )

    def _check_paper(self, paper: Paper, incoming: IncomingItem, key: str) -> None:
        if not key:
            msg = Sentence(
                "Whoever brings a signed hand-over has to name the key that it is signed by."
            )
            raise ArchiveRequestError(msg)
        is_signed = handover.is_well_written(paper) and self._verify(
            key, signing_text(paper), paper.item.signature
        )
        handover.check_paper(paper, incoming.item, incoming.digest, self._service, is_signed)

    @staticmethod
    def _is_done(
        incoming: IncomingItem, here: LocalCounterpart | None, paper: Paper | None
    ) -> bool:
        """Return whether there is nothing to do; raise if the item cannot be imported."""
        held = None if here is None else here.look.item
        if paper is not None:
            if handover.is_taken(held, paper.item.transfer):
                return True
            handover.check_takable(held)
            return False
        if here is None:
            return False
        for each in here.helds:
            check_copyable(each.item)
        return not is_news(incoming, here.known)

    def _opened(
        self, brought: Brought, incoming: IncomingItem, here: LocalCounterpart | None, who: str
    ) -> str:
        """Return the deposit of an item, begun before or new."""
        version = 0 if here is None else here.look.held.version
        transfer = "" if brought.paper is None else brought.paper.item.transfer
        facts = f"{incoming.label.canonical} {version} {incoming.digest} {transfer}"
        with self._archive.changing():
            return named_deposit(self._archive, PREFIX, facts, who, msgspec.json.encode(brought))

    def complete(self, id_: str, contents: Mapping[str, bytes], who: str) -> ImportDecision:
        """Import an item from its staged files, and from small files that come with this call."""
        deposit = self._deposits_store.get(id_) if is_import(id_) else None
        if deposit is None:
            raise UnknownError("import", id_)
        brought = msgspec.json.decode(deposit.request, type=Brought)
        try:
            return self._complete(id_, brought, contents, who)
        except StorageError:
            raise
        except IbiError as fault:
            return _refused(brought.label, fault)

    def _complete(
        self, id_: str, brought: Brought, contents: Mapping[str, bytes], who: str
    ) -> ImportDecision:
        incoming = _read(brought)
        if not self._deposits.get(id_).completed:
            for path, content in contents.items():
                with self._deposits.receive(id_, path, 0) as sink:
                    sink.write(content)
                    sink.finish()
        with self._archive.changing(), self._staging.sealed(id_):
            self._archive.settle()
            if self._deposits.get(id_).completed:
                return ImportDecision(label=brought.label, outcome="imported", deposit=id_)
            self._deposits.check_whole(id_)
            here = counterpart_of(self._archive, incoming)
            if self._is_done(incoming, here, brought.paper):
                return ImportDecision(label=brought.label, outcome="here", detail=standing_of(here))
            self._make(id_, incoming, here, brought.paper, who)
        outcome: Outcome = "imported" if here is None else "updated"
        return ImportDecision(label=brought.label, outcome=outcome, deposit=id_)

    def _make(
        self,
        id_: str,
        incoming: IncomingItem,
        here: LocalCounterpart | None,
        paper: Paper | None,
        who: str,
    ) -> None:
        archive = self._archive
        helds = [None, None] if here is None else [*here.helds, None]
        changes = []
        for (item, files), held in zip(incoming.items, helds, strict=False):
            known = None if held is None else held.item
            becomes = (
                as_copy(item, _origin(item), known)
                if paper is None
                else handover.taken(item, known, paper.item.transfer)
            )
            changes.append(self._change(id_, becomes, files, held))
        detail: dict[str, object] = {"origin": changes[0].item.origin}
        if paper is not None:
            detail = {"from": paper.giver, "transfer": paper.item.transfer}
        now = archive.clock.wall()
        label = incoming.label
        archive.make(archive.change("import", who, label, changes, now, detail=detail, deposit=id_))
        self._remember(label.canonical, paper, now)

    def _change(
        self, id_: str, item: Item, files: Sequence[File], held: StoredItem | None
    ) -> ItemChange:
        """Return the change that stores an item with its staged and its existing files."""
        staged = self._staging.staged(id_) if item.kind == "data" else []
        new = {each.path: each.file for each in staged if each.file is not None}
        here = {} if held is None else {file.path: file for file in self._archive.files(held)}
        wanted = {file.path for file in files}
        for path in new:
            if path not in wanted:
                raise StateError(
                    Sentence(
                        "%(path)s came, and is no file of %(label)s.",
                        path=shown(path),
                        label=item.forms.label,
                    )
                )
        return ItemChange(
            item=item,
            files=tuple(
                _matching(file, new.get(file.path) or here.get(file.path)) for file in files
            ),
            version=0 if held is None else held.version,
            adopted=id_ if held is None and new else "",
            put=tuple(new) if held is not None else (),
            removed=tuple(path for path in here if path not in wanted),
        )

    def _remember(self, label: str, paper: Paper | None, now: int) -> None:
        if paper is None:
            self._copies.keep(CopyRecord(label=label, checked=now))
            return
        self._copies.drop(label)
        self._transfers.keep(
            TransferRecord(
                id=paper.item.transfer,
                label=label,
                role="receiving",
                peer=paper.giver,
                secret="",
                since=now,
                state="done",
            )
        )


def _read(brought: Brought) -> IncomingItem:
    metadata = bytes(brought.metadata)
    return read_incoming(
        brought.label, bytes(brought.item), None if metadata == bytes(NOTHING) else metadata
    )


def _origin(item: Item) -> str:
    """Return the address of a Copy's source, if it is a valid one."""
    return item.origin if is_web_address(item.origin) else ""


def _refused(label: str, fault: IbiError) -> ImportDecision:
    return ImportDecision(label=label, outcome="refused", detail=str(fault))


def _matching(file: File, found: File | None) -> File:
    """Return the file to store; raise if the staged one differs from the manifest."""
    facts = (file.size, file.sha256, file.sha512)
    if found is None or (found.size, found.sha256, found.sha512) != facts:
        raise StateError(
            Sentence(
                "%(path)s has not come, or is not as its manifest says.", path=shown(file.path)
            )
        )
    return replace(found, media_type=file.media_type)
