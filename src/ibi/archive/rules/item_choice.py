"""Which items a list has: by the words of their descriptions, by state, and by date."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ibi.metadata.dublin_core import elements
from ibi.model.item import Item, State
from ibi.model.metadata_record import MetadataRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChoice:
    """Which items are wanted; an empty or zero field does not restrict them."""

    words: tuple[str, ...] = ()
    """Texts that all occur in the description or the labels, folded by `folded`."""
    state: State | None = None
    since: int = 0
    """The earliest time of creation, in nanoseconds of POSIX time."""
    before: int = 0
    """The time that items must be older than, in nanoseconds of POSIX time."""

    def wants(self, item: Item, record: MetadataRecord | None) -> bool:
        """Return whether an item with this description is wanted."""
        if self.state is not None and item.state is not self.state:
            return False
        if item.created < self.since or (self.before and item.created >= self.before):
            return False
        if not self.words:
            return True
        text = folded("\n".join(_texts(item, record)))
        return all(word in text for word in self.words)


EVERY_ITEM: Final = ItemChoice()


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, folded."""
    return tuple(map(folded, text.split()))


def folded(text: str) -> str:
    """Return a text without case and accents: `relatorio` finds `Relatório`."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _texts(item: Item, record: MetadataRecord | None) -> Iterator[str]:
    yield from (name.spelling for name in item.names)
    if record is not None:
        yield from (text.value for _, text in elements(record))
