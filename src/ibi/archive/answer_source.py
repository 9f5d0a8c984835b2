"""Items of the catalogue, as the answer to one request needs them (`relations.ItemSource`)."""

from __future__ import annotations

from ibi.archive.ports.catalogue import Items, StoredItem
from ibi.identifier.label import Label
from ibi.model.item import Item


class ItemLookup:
    """Looks each item up once, for the duration of one request."""

    def __init__(self, items: Items) -> None:
        """Read from a catalogue."""
        self._find = items.find
        self._file = items.file
        self._seen: dict[str, StoredItem | None] = {}

    def held(self, label: Label) -> StoredItem | None:
        """Return the stored item with a label."""
        name = label.canonical
        if name not in self._seen:
            found = self._seen[name] = self._find(name)
            if found is not None:  # a reference may use any of the item's labels
                self._seen.update((each.canonical, found) for each in found.item.forms)
        return self._seen[name]

    def find(self, label: Label) -> Item | None:
        """Return the item with a label."""
        held = self.held(label)
        return None if held is None else held.item

    def has_file(self, item: Item, path: str) -> bool:
        """Return whether an item has a file."""
        held = self.held(item.forms.label)
        return held is not None and self._file(held.id, path) is not None
