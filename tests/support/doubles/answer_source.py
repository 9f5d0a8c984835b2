"""Items in memory from which the answers of an archive are derived."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from ibi.identifier.label import Label
from ibi.model.archive_record import UrlKey
from ibi.model.item import Item
from ibi.wire.responses import Related

KEY: Final = UrlKey("1426387214-9164566186556927")


class MemoryAnswerSource:
    """Items by their labels, and the files that they have beside their target files."""

    def __init__(self, *items: Item, files: Mapping[Item, Collection[str]] | None = None) -> None:
        """Put the items on it."""
        self._items = {label: item for item in items for label in item.names}
        self._files = files or {}

    def find(self, label: Label) -> Item | None:
        """Return the item that has the label."""
        return self._items.get(label)

    def has_file(self, item: Item, path: str) -> bool:
        """Tell whether the item has the file."""
        return path == item.target or path in self._files.get(item, ())

    def lands_on_page(self, item: Item) -> bool:
        """Tell whether people land on a page: for all that is no HTML."""
        return not item.target.endswith(".html")


def issue_key(urls: Sequence[Related]) -> UrlKey:
    """Give out the same key every time, but never for nothing."""
    assert urls
    assert all(related.url for related in urls)
    return KEY


def nanoseconds(timestamp: str) -> int:
    """Return the moment that ISO 8601 writes."""
    return int(datetime.fromisoformat(timestamp).timestamp()) * 1_000_000_000
