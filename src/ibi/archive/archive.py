"""The archive: each act is one atomic change of catalogue and files.

The rules of the acts are pure: see `rules.item_transitions`, `rules.amendment` and
`rules.deposit_request`. Threads may share an archive: a lock orders their changes.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Final

import msgspec

from ibi.archive.ports.catalogue import Catalogue, HistoryEntry, Reservation, StoredItem
from ibi.archive.ports.file_store import FileStore
from ibi.archive.rules import item_transitions
from ibi.archive.rules.amendment import Amendment, amended, describe, relate
from ibi.archive.rules.harvest.publication import subjects
from ibi.archive.rules.item_transitions import Draft
from ibi.archive.rules.manifest import read_kept
from ibi.archive.rules.reserved_labels import reserved_text
from ibi.errors import (
    ArchiveRequestError,
    DeletedError,
    Sentence,
    StorageError,
    StorageFullError,
    UnknownError,
)
from ibi.identifier.label import Label, parse
from ibi.model.change import Act, Change, ItemChange
from ibi.model.clock import Clock
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MAX_RESERVED: Final = 1000
"""The most labels that one request reserves."""
LONGEST_NOTE: Final = 2000
_MOST_DATES: Final = 3
"""How often a change is dated again, because it became visible in a later second."""

_RELATIONS: Final = frozenset({"next_edition", "previous_edition", "translations"})


@dataclass(frozen=True, slots=True)
class ItemWithMetadata:
    """An item and its metadata item, if this archive has it."""

    held: StoredItem
    metadata: StoredItem | None

    @property
    def item(self) -> Item:
        """The item."""
        return self.held.item

    @property
    def record(self) -> MetadataRecord | None:
        """The metadata record of the item."""
        return None if self.metadata is None else self.metadata.item.record


class Archive:
    """One archive, on a catalogue and a file store."""

    def __init__(
        self,
        catalogue: Catalogue,
        store: FileStore,
        mint: Callable[[int], Sequence[Forms]],
        clock: Clock,
    ) -> None:
        """Open an archive on its stores, and finish changes that were decided before."""
        self.catalogue = catalogue
        self.store = store
        self.mint = mint
        self.clock = clock
        self.made: Counter[Act] = Counter()
        """How many changes of each kind this process has made."""
        self._changing = RLock()
        self._unsettled = True
        # On a full disk the archive can be read; the next act completes the changes.
        with suppress(StorageFullError):
            self.settle()

    def changing(self) -> AbstractContextManager[object]:
        """Hold the lock for changes."""
        return self._changing

    def settle(self) -> None:
        """Bring changes that the file store has decided to the catalogue."""
        if self._unsettled:  # otherwise there is no need to wait for the lock
            with self._changing:
                self._settle()

    def _settle(self) -> None:
        if self._unsettled:
            for stored in self.store.decided():
                kept = (place for place in stored.places if place not in stored.dropped)
                manifests = [read_kept(self.store.manifest(place)) for place in kept]
                dropped = [parse(place, strict=True).canonical for place in stored.dropped]
                self.catalogue.items.restore(stored, manifests, dropped)
                self._date([*subjects(each.item for each in manifests), *dropped], stored.at)
                self.store.finish(stored.id)
            self._unsettled = False

    def make(self, change: Change) -> None:
        """Make a change durable; if this raises, nothing was changed.

        The exception is a storage that fails after the decision: then the next act, or the next
        start of the archive, completes the change.
        """
        with self._changing:
            self.settle()
            try:
                # Preparing may take long: it holds neither the database nor the lock of `settle`.
                self.store.prepare(change)
                self._unsettled = True
                self.catalogue.items.apply(change, self.store.decide)
            except StorageError:
                self._unsettled = True
                self.settle()
                if not self._is_made(change):
                    raise
                self.made[change.act] += 1
                return
            self.made[change.act] += 1
            # The change is durable; a failed clean-up is repeated before the next act.
            with suppress(StorageError):
                self._date([*subjects(each.item for each in change.items)], change.at)
                self.store.finish(change.id)
                self._unsettled = False

    def _date(self, labels: Sequence[str], since: int) -> None:
        """Date a change for harvesters by the second in which it became visible.

        A harvester asks next time from the second of its last answer on: a change that this answer
        could not show has no earlier date.
        """
        for _ in range(_MOST_DATES):
            now = self.clock.wall()
            if not self.catalogue.harvest.renew(labels, since, now):
                return
            since = now

    def _is_made(self, change: Change) -> bool:
        first = change.items[0]
        found = self.catalogue.items.find(first.item.forms.label.canonical)
        return found is None if first.dropped else found is not None and found.item == first.item

    def change(  # noqa: PLR0913  # what a line of history says
        self,
        act: Act,
        who: str,
        label: Label,
        items: Iterable[ItemChange],
        now: int,
        *,
        detail: dict[str, object] | None = None,
        deposit: str = "",
    ) -> Change:
        """Return a change with an id of its own."""
        return Change(
            id=uuid.uuid4().hex,
            at=now,
            who=who,
            act=act,
            label=label.canonical,
            items=tuple(items),
            detail=msgspec.json.encode(detail).decode() if detail else "",
            deposit=deposit,
        )

    def get(self, label: Label | str) -> StoredItem:
        """Return the item with a label, deleted or not; raise UnknownError if there is none."""
        read = parse(label) if isinstance(label, str) else label
        held = self.catalogue.items.find(read.canonical)
        if held is None:
            raise UnknownError("item", str(label))
        return held

    def find(self, forms: Forms) -> Item | None:
        """Return the item that has one of these labels; None if this archive has none."""
        held = self._held(forms)
        return None if held is None else held.item

    def draft(self, now: int) -> Draft:
        """Begin a draft of a change."""
        return Draft(self._held, now)

    def _held(self, forms: Forms) -> StoredItem | None:
        found = (self.catalogue.items.find(label.canonical) for label in forms)
        return next((held for held in found if held is not None), None)

    def get_described(self, label: Label | str) -> ItemWithMetadata:
        """Return an item with its metadata item; a metadata label gives the described item."""
        held = self.get(label)
        if held.item.kind == "metadata" and held.item.describes is not None:
            data = self.catalogue.items.find(held.item.describes.label.canonical)
            return ItemWithMetadata(data or held, held)
        metadata = held.item.metadata
        return ItemWithMetadata(
            held, None if metadata is None else self.catalogue.items.find(metadata.label.canonical)
        )

    def replacement(self, item: Item) -> ItemWithMetadata | None:
        """Return the item that replaces a deleted one; None if this archive does not have it."""
        forms = item.tombstone.replaced_by if item.tombstone else None
        held = self._held(forms) if forms else None
        return self.get_described(held.item.forms.label) if held else None

    def get_itself(self, label: Label | str) -> ItemWithMetadata:
        """Return an item with its metadata item, which is the item itself if it is metadata."""
        held = self.get(label)
        if held.item.kind == "metadata":
            return ItemWithMetadata(held, held)
        return self.get_described(label)

    def create_service(self, record: MetadataRecord, who: str) -> Item:
        """Create the archive service's own item, once."""
        with self._changing:
            for held in self.catalogue.items.page(0, 1, "service"):
                return held.item
            now = self.clock.wall()
            forms, metadata = self.mint(2)
            service, describing = item_transitions.service_items(forms, metadata, record, now)
            items = (ItemChange(item=service), ItemChange(item=describing))
            self.make(self.change("found", who, forms.label, items, now))
            return service

    def reserve(self, count: int, who: str, note: str = "") -> list[Reservation]:
        """Mint labels for items that come later."""
        if not 1 <= count <= MAX_RESERVED:
            msg = Sentence(
                "%(count)s labels cannot be reserved at a time: 1 to %(most)s can.",
                count=count,
                most=MAX_RESERVED,
            )
            raise ArchiveRequestError(msg)
        if len(note) > LONGEST_NOTE or not note.isprintable():
            msg = Sentence(
                "A note has at most %(longest)s characters, in one line.",
                longest=LONGEST_NOTE,
            )
            raise ArchiveRequestError(msg)
        now = self.clock.wall()
        reserved = [Reservation(forms, now, who, note) for forms in self.mint(count)]
        # Stored twice: the labels may be in print when the catalogue is lost.
        self.store.keep_reservations(reserved_text(reserved))
        self.catalogue.reservations.add(reserved)
        self.note("reserve", who, {"labels": [str(each.forms) for each in reserved]})
        return reserved

    def note(self, act: str, who: str, detail: dict[str, object]) -> None:
        """Add an act to the history that changes no item."""
        text = msgspec.json.encode(detail).decode()
        entry = HistoryEntry(0, uuid.uuid4().hex, self.clock.wall(), who, act, "", text)
        self.catalogue.history.note(entry)

    def amend(self, label: Label | str, amendment: Amendment, who: str) -> ItemWithMetadata:
        """Change the metadata, the settings and the relations of an item.

        Settings and relations belong to the item that has the label: to the metadata item, if the
        label is that of metadata.
        """
        with self._changing:
            self.settle()
            look = self.get_itself(label)
            now = self.clock.wall()
            draft = self.draft(now)
            has_file = partial(self._has_file, look.held.id)
            draft.put(amended(look.item, amendment, has_file))
            relate(draft, look.item.forms, amendment)
            if look.metadata is not None:
                describe(draft, look.metadata.item.forms, amendment)
            elif amendment.metadata or amendment.texts:
                raise UnknownError("metadata of", str(look.item.forms.label))
            changes = self.drafted(draft)
            if changes:
                detail = msgspec.to_builtins(amendment)
                if "metadata" in detail:
                    detail["metadata"] = "changed"
                if "texts" in detail:
                    detail["texts"] = list(detail["texts"])
                act: Act = "relate" if _RELATIONS & detail.keys() else "describe"
                main = look.item.forms.label
                self.make(self.change(act, who, main, changes, now, detail=detail))
            return self.get_itself(look.item.forms.label)

    def _has_file(self, item: int, path: str) -> bool:
        return self.catalogue.items.file(item, path) is not None

    def drafted(self, draft: Draft) -> list[ItemChange]:
        """Return the changes that a draft makes of existing items."""
        return [
            ItemChange(item=item, files=self.files(held), version=held.version)
            for held, item in draft.changed()
        ]

    def files(self, held: StoredItem) -> tuple[File, ...]:
        """Return all files of an item."""
        return tuple(self.catalogue.items.files(held.id))

    def delete(
        self,
        label: Label | str,
        who: str,
        reason: str,
        replaced_by: str = "",
        *,
        with_metadata: bool = False,
    ) -> ItemWithMetadata:
        """Delete an item: its files are removed, its tombstone and optionally its metadata stay."""
        with self._changing:
            self.settle()
            if self.get(label).item.kind == "metadata":
                msg = Sentence("Metadata are deleted with the item that they describe, not alone.")
                raise ArchiveRequestError(msg)
            look = self.get_described(label)
            now = self.clock.wall()
            forms = self._known(replaced_by)
            changes = [
                ItemChange(
                    item=item_transitions.deleted(look.item, who, reason, forms, now),
                    version=look.held.version,
                    cleared=True,
                )
            ]
            if with_metadata and look.metadata is not None:
                buried = item_transitions.silenced(
                    item_transitions.deleted(look.metadata.item, who, reason, forms, now)
                )
                version = look.metadata.version
                changes.append(ItemChange(item=buried, version=version, cleared=True))
            detail: dict[str, object] = {"reason": reason, "replaced_by": replaced_by}
            main = look.item.forms.label
            self.make(self.change("delete", who, main, changes, now, detail=detail))
            return self.get_described(main)

    def _known(self, text: str) -> Forms | None:
        if not text:
            return None
        forms = Forms.of(parse(text))
        held = self._held(forms)
        return forms if held is None else held.item.forms

    def get_live(self, label: Label | str) -> StoredItem:
        """Return the item with a label; raise DeletedError if it was deleted."""
        held = self.get(label)
        if held.item.state is State.DELETED:
            raise DeletedError(str(held.item.forms.label))
        return held
