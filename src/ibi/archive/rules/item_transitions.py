"""State transitions of items: the effect of each act; the time is an argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.deposit_request import NewItem
from ibi.errors import ArchiveRequestError, DeletedError, Sentence, StateError, shown
from ibi.identifier.label import Label
from ibi.model.item import Item, State, Tombstone
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

METADATA_TARGET: Final = "metadata"
"""The target of a metadata item: a page; `?choice=` and a format select another form."""

_LONGEST_REASON: Final = 2000


def new_items(
    forms: Forms, metadata: Forms, description: NewItem, target: tuple[str, bool], now: int
) -> tuple[Item, Item]:
    """Return a new item and its metadata item; `target` as `target_of` returns it."""
    item = Item(
        forms=forms,
        further_names=tuple(name for name in description.further_names if name not in tuple(forms)),
        language=description.language,
        target=target[0],
        target_chosen=target[1],
        runs_at=description.runs_at,
        created=now,
        updated=now,
        metadata=metadata,
        list_public=description.list_public,
        readers=description.readers,
        transferable=description.transferable,
    )
    # What a depositor writes of an item without naming a language is in that of the item.
    described_in = replace(
        describing(item, metadata, description.record, now), language=description.language
    )
    return item, described_in


def describing(item: Item, forms: Forms, record: MetadataRecord, now: int) -> Item:
    """Return a new metadata item that describes the item."""
    return Item(
        forms=forms,
        kind="metadata",
        target=METADATA_TARGET,
        created=now,
        updated=now,
        describes=item.forms,
        record=record,
    )


def service_items(
    forms: Forms, metadata: Forms, record: MetadataRecord, now: int
) -> tuple[Item, Item]:
    """Return the archive service's own item, an Original that is never transferred (004, 3.2)."""
    service = Item(
        forms=forms,
        kind="service",
        transferable=False,
        created=now,
        updated=now,
        metadata=metadata,
        list_public=False,
    )
    return service, describing(service, metadata, record, now)


def check_editable(item: Item) -> None:
    """Raise unless this archive has the Original and no transfer of it is open."""
    if item.state is State.DELETED:
        raise DeletedError(str(item.forms.label))
    if item.state is State.COPY:
        msg = Sentence(
            "%(label)s is a Copy here: it is changed where its Original is.", label=item.forms.label
        )
        raise StateError(msg)
    check_at_rest(item)


def check_at_rest(item: Item) -> None:
    """Raise if the item is being transferred: the receiver must get what was offered."""
    if item.transfer is not None:
        msg = Sentence(
            "%(label)s is being transferred to %(peer)s: wait, or undo it.",
            label=item.forms.label,
            peer=item.transfer.peer,
        )
        raise StateError(msg)


def is_editable(item: Item) -> bool:
    """Return whether this archive may change the item."""
    return item.state is State.ORIGINAL


def revised(item: Item, target: tuple[str, bool], now: int) -> Item:
    """Return the item after a change of its files; `target` as `target_of` returns it."""
    return replace(item, target=target[0], target_chosen=target[1], updated=now)


def deleted(item: Item, who: str, reason: str, replaced_by: Forms | None, now: int) -> Item:
    """Return the deleted item: its names stay, with a tombstone that records the deletion."""
    check_editable(item)
    if item.kind == "service":
        msg = Sentence("The archive service's own item cannot be deleted.")
        raise StateError(msg)
    text = reason.strip()
    if not text or len(text) > _LONGEST_REASON or not text.isprintable():
        msg = Sentence(
            "A deletion needs a reason, of at most %(longest)s characters in one line.",
            longest=_LONGEST_REASON,
        )
        raise ArchiveRequestError(msg)
    if replaced_by is not None and replaced_by.names(item.forms):
        msg = Sentence(
            "%(label)s cannot be replaced by itself.", label=shown(item.forms.label.spelling)
        )
        raise StateError(msg)
    return replace(
        item,
        state=State.DELETED,
        target="",
        target_chosen=True,
        runs_at="",
        updated=now,
        tombstone=Tombstone(now, who, text, replaced_by),
    )


def silenced(metadata: Item) -> Item:
    """Return a deleted metadata item without its record."""
    return replace(metadata, record=None)


class Draft:
    """The items that an act changes, with the state of each before the act."""

    def __init__(self, hold: Callable[[Forms], StoredItem | None], now: int) -> None:
        """Look up stored items by `hold`; `now` is the time of the change."""
        self._hold = hold
        self._now = now
        self._held: dict[str, StoredItem] = {}
        self._items: dict[str, Item] = {}
        """Items by each of their names in canonical spelling: a reference may use any of them."""

    def add(self, item: Item) -> None:
        """Add a new item."""
        self._items |= {label.canonical: item for label in item.names}

    def find(self, forms: Forms) -> Item | None:
        """Return the item that has one of these labels, as the act leaves it."""
        for label in forms:
            if label.canonical in self._items:
                return self._items[label.canonical]
        held = self._hold(forms)
        if held is None:
            return None
        if held.item.forms.label.canonical not in self._items:
            self._held[held.item.forms.label.canonical] = held
            self.add(held.item)
        return self._items[held.item.forms.label.canonical]

    def forms_of(self, label: Label) -> Forms:
        """Return both label forms of an item if this archive has it, else the one given."""
        found = self.find(Forms.of(label))
        return Forms.of(label) if found is None else found.forms

    def editable(self, forms: Forms) -> Item | None:
        """Return the item that has one of these labels, if this archive may change it."""
        item = self.find(forms)
        return item if item is not None and is_editable(item) else None

    def put(self, item: Item) -> None:
        """Replace an item by its new state; its time of update changes if the state differs."""
        before = self.find(item.forms)
        if item != before:
            check_at_rest(item)
            self.add(replace(item, updated=self._now))

    def mark(self, item: Item) -> None:
        """Replace an item by its new state, without a new time of update."""
        if item != self.find(item.forms):
            check_at_rest(item)
            self.add(item)

    def changed(self) -> list[tuple[StoredItem, Item]]:
        """Return the existing items that differ from before, each with its stored state."""
        pairs = ((held, self._items[name]) for name, held in self._held.items())
        return [(held, item) for held, item in pairs if _differ(held.item, item)]


def _differ(one: Item, other: Item) -> bool:
    """Return whether two items differ in anything but their time of update."""
    return replace(other, updated=one.updated) != one
