"""Items as a change will leave them, before it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ibi.archive import acts
from ibi.model.forms import Forms
from ibi.model.item import Item
from ibi.ports import Held


class Draft:
    """What an act makes of the items that it touches; the first state of each is remembered."""

    def __init__(self, hold: Callable[[Forms], Held | None], now: int) -> None:
        """Take who knows the items as they are, and the time of the change."""
        self._hold = hold
        self._now = now
        self._held: dict[str, Held] = {}
        self._items: dict[str, Item] = {}
        """By every name in its canonical spelling, as those who refer to it may know one only."""

    def add(self, item: Item) -> None:
        """Take a new item."""
        self._items |= {label.canonical: item for label in item.names}

    def find(self, forms: Forms) -> Item | None:
        """Return the item that has one of these labels, as it will be."""
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

    def editable(self, forms: Forms) -> Item | None:
        """Return it if it may be changed here."""
        item = self.find(forms)
        return item if item is not None and acts.is_editable(item) else None

    def put(self, item: Item) -> None:
        """Say how an item will be; it is updated by that, if it is another."""
        before = self.find(item.forms)
        if item != before:
            acts.check_at_rest(item)
            self.add(replace(item, updated=self._now))

    def changed(self) -> list[tuple[Held, Item]]:
        """Return the items that were there and will be different."""
        pairs = ((held, self._items[name]) for name, held in self._held.items())
        return [(held, item) for held, item in pairs if _differ(held.item, item)]


def _differ(one: Item, other: Item) -> bool:
    """Tell whether items differ; what was changed and changed back does not."""
    return replace(other, updated=one.updated) != one
