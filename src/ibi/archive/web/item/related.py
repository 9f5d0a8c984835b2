"""Editions and translations of an item, as far as this archive knows them.

Editions are a chain, in which each item names its neighbours. A page shows those around one item,
and reads no more of the chain than it shows and the way to the next page: it costs the same in a
chain of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.catalogue import Items, StoredItem
from ibi.archive.rules.item_languages import own_languages
from ibi.archive.web.views import (
    FIRST_LANGUAGES,
    NO_EDITIONS,
    Edition,
    EditionListView,
    Editions,
    Translation,
    TranslationListView,
    publication_date,
)
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

EACH_WAY: Final = 5
"""Editions on the page of an item, before it and after it."""
HALF_PAGE: Final = 25
"""Editions on a page of their list, before the one that it is about and after it; more on one side
if there are fewer on the other."""
MOST_TRANSLATIONS: Final = 50
"""Translations on a page of their list."""

_Found: TypeAlias = tuple[Forms, Item | None]
"""A related item; None if another archive has it."""


class RelatedItems:
    """Reads editions and translations from a catalogue."""

    def __init__(self, items: Items) -> None:
        """Read these items."""
        self._items = items

    def editions(self, look: ItemWithMetadata) -> Editions:
        """Return the nearest editions of an item."""
        item = look.item
        if item.next_edition is None and item.previous_edition is None:
            return NO_EDITIONS
        later = list(islice(self._later(item), EACH_WAY + 1))
        earlier = list(islice(self._earlier(item), EACH_WAY + 1))
        titles = self._titles([*later, *earlier])
        return Editions(
            later=_editions(reversed(later[:EACH_WAY]), titles),
            this=_this(look),
            earlier=_editions(iter(earlier[:EACH_WAY]), titles),
            has_later=len(later) > EACH_WAY,
            has_earlier=len(earlier) > EACH_WAY,
        )

    def newer_translation(self, item: Item) -> Forms | None:
        """Return a translation of which there is a newer edition, if the item has no editions."""
        if item.next_edition is not None or item.previous_edition is not None:
            return None
        forms = [each for _, each in item.translations[:FIRST_LANGUAGES]]
        held = self._items.find_all([each.label.canonical for each in forms])
        found = ((each, _there(each, held)[1]) for each in forms)
        return next(
            (
                each
                for each, other in found
                if other and other.next_edition and other.state is not State.DELETED
            ),
            None,
        )

    def gone(self, item: Item) -> frozenset[Forms]:
        """Return the first translations that were deleted here."""
        forms = [each for _, each in item.translations[:FIRST_LANGUAGES]]
        held = self._items.find_all([each.label.canonical for each in forms])
        found = ((each, _there(each, held)[1]) for each in forms)
        return frozenset(each for each, other in found if other and other.state is State.DELETED)

    def edition_list(self, look: ItemWithMetadata, title: str) -> EditionListView:
        """Return the page of the list of editions that is about an item with this title."""
        to_later, to_earlier = self._later(look.item), self._earlier(look.item)
        later = list(islice(to_later, 2 * HALF_PAGE))
        earlier = list(islice(to_earlier, 2 * HALF_PAGE))
        after = HALF_PAGE + max(0, HALF_PAGE - len(earlier))
        before = HALF_PAGE + max(0, HALF_PAGE - len(later))
        # The next page begins where this one ends: the item that it is about is half a page on.
        later += islice(to_later, max(0, after + HALF_PAGE + 1 - len(later)))
        earlier += islice(to_earlier, max(0, before + HALF_PAGE + 1 - len(earlier)))
        titles = self._titles([*later[:after], *earlier[:before]])
        return EditionListView(
            forms=look.item.forms,
            title=title,
            editions=Editions(
                later=_editions(reversed(later[:after]), titles),
                this=_this(look),
                earlier=_editions(iter(earlier[:before]), titles),
                has_later=len(later) > after,
                has_earlier=len(earlier) > before,
            ),
            later_page=_farthest(later[: after + HALF_PAGE + 1]) if len(later) > after else None,
            earlier_page=(
                _farthest(earlier[: before + HALF_PAGE + 1]) if len(earlier) > before else None
            ),
        )

    def translation_list(
        self, item: Item, forms: Forms, title: str, after: str = ""
    ) -> TranslationListView:
        """Return a page of translations of an item or of its metadata, sorted by language.

        `forms` and `title` are those of the item; languages up to `after` are on earlier pages.
        """
        known = dict(item.translations)
        for language in own_languages(item):
            if language is not None:
                known[language] = item.forms
        wanted = sorted((each for each in known if str(each) > after), key=str)
        shown = wanted[:MOST_TRANSLATIONS]
        held = self._items.find_all([known[each].label.canonical for each in shown])
        found = {each: _there(known[each], held) for each in shown}
        titles = self._titles(list(found.values()))
        return TranslationListView(
            forms=forms,
            title=title,
            is_metadata=item.kind == "metadata",
            translations=tuple(
                Translation(
                    language=language,
                    forms=each[0],
                    title=_title(each[1], titles),
                    is_current=each[0].names(item.forms),
                )
                for language, each in found.items()
            ),
            count=len(known),
            last=str(shown[-1]) if len(wanted) > len(shown) else "",
        )

    def _later(self, item: Item) -> Iterator[_Found]:
        return self._chain(item, lambda each: each.next_edition)

    def _earlier(self, item: Item) -> Iterator[_Found]:
        return self._chain(item, lambda each: each.previous_edition)

    def _chain(self, item: Item, step: Callable[[Item], Forms | None]) -> Iterator[_Found]:
        """Yield the editions in one direction; the last may be in another archive, not asked."""
        forms = step(item)
        while forms is not None:
            held = self._find(forms)
            yield forms, held
            forms = step(held) if held else None

    def _find(self, forms: Forms) -> Item | None:
        found = (self._items.find(label.canonical) for label in forms)
        return next((held.item for held in found if held is not None), None)

    def _titles(self, found: Sequence[_Found]) -> dict[str, StoredItem]:
        described = (item.metadata for _, item in found if item and item.metadata)
        names = [metadata.label.canonical for metadata in described]
        return self._items.find_all(names) if names else {}


def title_of(metadata: StoredItem | None) -> str:
    """Return the title that metadata give an item; empty if they do not."""
    record = metadata.item.record if metadata else None
    return record.title.value if record else ""


def _this(look: ItemWithMetadata) -> Edition:
    item = look.item
    return Edition(
        forms=item.forms, title=title_of(look.metadata), published=publication_date(look.record)
    )


def _editions(found: Iterator[_Found], titles: dict[str, StoredItem]) -> tuple[Edition, ...]:
    return tuple(_edition(each, titles) for each in found)


def _edition(found: _Found, titles: dict[str, StoredItem]) -> Edition:
    forms, item = found
    if item is None or item.state is State.DELETED:
        return Edition(forms=forms)
    record = _record(item, titles)
    return Edition(
        forms=forms,
        title=record.title.value if record else "",
        published=publication_date(record),
    )


def _there(forms: Forms, held: Mapping[str, StoredItem]) -> _Found:
    found = held.get(forms.label.canonical)
    return forms, None if found is None else found.item


def _title(item: Item | None, titles: Mapping[str, StoredItem]) -> str:
    if item is None or item.state is State.DELETED:
        return ""
    record = _record(item, titles)
    return record.title.value if record else ""


def _record(item: Item, titles: Mapping[str, StoredItem]) -> MetadataRecord | None:
    if item.record is not None or item.metadata is None:
        return item.record
    metadata = titles.get(item.metadata.label.canonical)
    return metadata.item.record if metadata else None


def _farthest(found: Sequence[_Found]) -> Forms | None:
    """Return the last item that has a page in this archive."""
    for forms, item in reversed(found):
        if item is not None and item.metadata is not None and item.state is not State.DELETED:
            return forms
    return None
