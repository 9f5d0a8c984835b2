"""A list of the items of an archive, page by page, with their descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.item_choice import EVERY_ITEM, ItemChoice

_AT_ONCE: Final = 500
"""Items that are read from the catalogue at once."""
_MOST_SEEN: Final = 5000
"""Items that one page looks at: after these the caller asks for the next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """What one page of a list has."""

    limit: int
    kind: str = ""
    choice: ItemChoice = EVERY_ITEM
    newest_first: bool = False


def list_items(archive: Archive, page: ItemPage, after: int) -> tuple[list[ItemWithMetadata], str]:
    """Return the wanted items after a number, and the number to continue after; empty at the end.

    A page has fewer items than its limit, or none, if few of the items it looks at are wanted.
    """
    found: list[ItemWithMetadata] = []
    items = archive.catalogue.items
    size = min(_AT_ONCE, page.limit) if page.choice == EVERY_ITEM else _AT_ONCE
    for _ in range(0, _MOST_SEEN, size):
        held = items.page(after, size, page.kind, newest_first=page.newest_first)
        for look in described(archive, held):
            after = look.held.id
            if page.choice.wants(look.item, look.record):
                found.append(look)
                if len(found) == page.limit:
                    return found, str(after)
        if len(held) < size:
            return found, ""
    return found, str(after)


def described(archive: Archive, held: Sequence[StoredItem]) -> list[ItemWithMetadata]:
    """Return items with their metadata items, which one request to the catalogue finds."""
    names = [each.item.metadata.label.canonical for each in held if each.item.metadata is not None]
    metadata = archive.catalogue.items.find_all(names)
    return [ItemWithMetadata(each, _metadata_of(each, metadata)) for each in held]


def _metadata_of(held: StoredItem, metadata: dict[str, StoredItem]) -> StoredItem | None:
    if held.item.kind == "metadata":
        return held
    forms = held.item.metadata
    return None if forms is None else metadata.get(forms.label.canonical)
