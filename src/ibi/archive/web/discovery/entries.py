"""Entries of lists of items: what a result of a search and a recent item show of an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.ports.catalogue import FileTotal
from ibi.archive.rules.collections.membership import is_collection
from ibi.archive.rules.item_languages import record_for
from ibi.archive.rules.search.document import facets_of
from ibi.archive.rules.search.passage import Passage
from ibi.archive.rules.search.snippet import Highlighter, Part
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, Text

MOST_PEOPLE: Final = 6
"""Creators in an entry, before it counts the others."""
PLAIN: Final = Highlighter(())
"""Marks nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An item in a list."""

    item: Item
    title: tuple[Part, ...]
    """Empty if the item has no description."""
    title_language: str = ""
    type: str = ""
    year: str = ""
    language: str = ""
    people: tuple[Agent, ...] = ()
    """The first creators."""
    other_people: int = 0
    """The number of creators after these."""
    snippet: tuple[Part, ...] = ()
    snippet_language: str = ""
    file: str = ""
    """The path of a file that has words which the description lacks."""
    file_snippet: tuple[Part, ...] = ()
    licence: str = ""
    files: FileTotal | None = None
    """Number and size of its files; None if it has none, or if their list is not public."""
    is_collection: bool = False

    @property
    def forms(self) -> Forms:
        """The labels of the item."""
        return self.item.forms


class Entries:
    """Makes entries of items, with one request to the catalogue for all of them."""

    def __init__(self, archive: Archive) -> None:
        """Read the catalogue of an archive."""
        self._items = archive.catalogue.items

    def of(
        self,
        looks: Sequence[ItemWithMetadata],
        preference: LanguagePreference,
        highlighter: Highlighter = PLAIN,
        passages: Mapping[int, Passage] = MappingProxyType({}),
    ) -> tuple[Entry, ...]:
        """Return the entries of items, in the language that a reader prefers of each.

        `passages` are those of files, by the number of the item.
        """
        totals = self._items.file_totals([each.held.id for each in looks if each.item.list_public])
        entries = []
        for each in looks:
            entry = _entry(each, preference, highlighter, totals.get(each.held.id))
            passage = passages.get(each.held.id)
            if passage is not None:
                parts = highlighter.snippet(passage.text)
                entry = replace(entry, file=passage.path, file_snippet=parts)
            entries.append(entry)
        return tuple(entries)


def _entry(
    look: ItemWithMetadata,
    preference: LanguagePreference,
    highlighter: Highlighter,
    files: FileTotal | None,
) -> Entry:
    record = record_for(look.metadata.item if look.metadata else None, preference)
    if record is None:
        return Entry(item=look.item, title=(), files=files)
    facets = facets_of(look.item, record)
    # The words may be in another language than the one that the reader prefers.
    others = look.record.descriptions if look.record else ()
    snippet, language = _snippet((*record.descriptions, *others), highlighter)
    return Entry(
        item=look.item,
        title=highlighter.parts(record.title.value),
        title_language=record.title.language,
        type=record.types[0] if record.types else "",
        year=next(iter(facets["year"]), ""),
        language=next(iter(facets["language"]), ""),
        people=record.named_creators[:MOST_PEOPLE],
        other_people=max(0, len(record.named_creators) - MOST_PEOPLE),
        snippet=snippet,
        snippet_language=language,
        licence=record.licence,
        files=files,
        is_collection=is_collection(look.item, record),
    )


def _snippet(
    descriptions: Sequence[Text], highlighter: Highlighter
) -> tuple[tuple[Part, ...], str]:
    """Return the part of a description that has the words, else of the first; and its language."""
    snippets = [(highlighter.snippet(each.value), each.language) for each in descriptions]
    with_hits = (each for each in snippets if any(part.is_hit for part in each[0]))
    return next(with_hits, snippets[0] if snippets else ((), ""))
