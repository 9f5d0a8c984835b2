"""What the page of an item shows beside the item itself: files, editions, history, where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.collections import Collections
from ibi.archive.ports.catalogue import HistoryChoice, StoredItem
from ibi.archive.rules.calendar import day_of, last_months
from ibi.archive.web.item.preview import Preview
from ibi.archive.web.item.usage import ItemUsage, item_usage
from ibi.archive.web.views import FIRST_FILES, NO_EDITIONS, Edition, Editions, PastAct
from ibi.model.clock import SECOND
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms

EACH_WAY: Final = 5
"""Editions on the page of an item, before it and after it."""
MONTHS: Final = 12
"""Months of the plot of accesses, with the present one."""
_DAY: Final = 86_400 * SECOND
MOST_ACTS: Final = 20
"""Acts on the page of an item: the newest."""

# A transfer is not public before it has succeeded; the names of users never are.
_PUBLIC_ACTS: Final = frozenset(
    {
        "deposit",
        "adopt",
        "import",
        "revise",
        "describe",
        "relate",
        "collect",
        "copy",
        "hand over",
        "accept",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContext:
    """What is read for the page of one item."""

    files: tuple[File, ...] = ()
    """The first files, one more than the page shows if there are more."""
    target: File | None = None
    editions: Editions = NO_EDITIONS
    collections: tuple[tuple[Forms, str], ...] = ()
    """The collections that it belongs to, with their titles."""
    acts: tuple[PastAct, ...] = ()
    checked: int = 0
    """When a Copy was last compared with its Original; nanoseconds of POSIX time, 0 if never."""
    preview: Preview | None = None
    usage: ItemUsage | None = None


class ItemContexts:
    """Reads from a catalogue; the number of reads does not grow with files and editions."""

    def __init__(self, archive: Archive) -> None:
        """Read the catalogue of an archive."""
        self._catalogue = archive.catalogue
        self._items = archive.catalogue.items
        self._collections = Collections(archive)
        self._clock = archive.clock

    def read(self, look: ItemWithMetadata) -> ItemContext:
        """Return what the page of an item shows; little of a deleted item."""
        item = look.item
        if item.state is State.DELETED:
            return ItemContext()
        return ItemContext(
            files=self._files(look.held),
            target=self._items.file(look.held.id, item.target) if item.target else None,
            editions=self._editions(look),
            collections=self._collections_of(item),
            acts=self._acts(item),
            checked=self._checked(item),
            usage=self._usage(look.held.id),
        )

    def _files(self, held: StoredItem) -> tuple[File, ...]:
        if not held.item.list_public:
            return ()
        return tuple(self._items.files(held.id, "", FIRST_FILES + 1))

    def _collections_of(self, item: Item) -> tuple[tuple[Forms, str], ...]:
        found = self._collections.found_among(item.collections)
        return tuple((each.item.forms, _title(each.metadata)) for each in found)

    def _acts(self, item: Item) -> tuple[PastAct, ...]:
        choice = HistoryChoice(label=item.forms.label.canonical)
        found = self._catalogue.history.entries(0, MOST_ACTS, choice, newest_first=True)
        return tuple(PastAct(each.act, each.at) for each in found if each.act in _PUBLIC_ACTS)

    def _usage(self, item: int) -> ItemUsage | None:
        """Return views and downloads of the last twelve months; None if there are none."""
        today = day_of(self._clock.wall() // _DAY)
        months = last_months(today, MONTHS)
        found = self._catalogue.statistics.usage(f"{months[0]}-01", today.isoformat(), item)
        return item_usage(months, found) if found else None

    def _checked(self, item: Item) -> int:
        if item.state is not State.COPY:
            return 0
        record = self._catalogue.copies.get(item.forms.label.canonical)
        return record.checked if record else 0

    def _editions(self, look: ItemWithMetadata) -> Editions:
        item = look.item
        if item.next_edition is None and item.previous_edition is None:
            return NO_EDITIONS
        later, is_later = self._chain(item, lambda each: each.next_edition)
        earlier, is_earlier = self._chain(item, lambda each: each.previous_edition)
        titles = self._titles([*later, *earlier])
        this = Edition(forms=item.forms, title=_title(look.metadata), created=item.created)
        return Editions(
            later=tuple(_edition(each, titles) for each in reversed(later)),
            this=this,
            earlier=tuple(_edition(each, titles) for each in earlier),
            has_later=is_later,
            has_earlier=is_earlier,
        )

    def _chain(
        self, item: Item, step: Callable[[Item], Forms | None]
    ) -> tuple[list[tuple[Forms, Item | None]], bool]:
        """Return the next editions in one direction, and whether there are more.

        The last one may be in another archive, which is not asked.
        """
        found: list[tuple[Forms, Item | None]] = []
        forms = step(item)
        while forms is not None and len(found) < EACH_WAY:
            held = self._find(forms)
            found.append((forms, held))
            forms = step(held) if held else None
        return found, forms is not None

    def _find(self, forms: Forms) -> Item | None:
        found = (self._items.find(label.canonical) for label in forms)
        return next((held.item for held in found if held is not None), None)

    def _titles(self, editions: list[tuple[Forms, Item | None]]) -> dict[str, StoredItem]:
        described = (item.metadata for _, item in editions if item and item.metadata)
        names = [metadata.label.canonical for metadata in described]
        return self._items.find_all(names) if names else {}


def _edition(found: tuple[Forms, Item | None], titles: dict[str, StoredItem]) -> Edition:
    forms, item = found
    if item is None or item.state is State.DELETED:
        return Edition(forms=forms)
    metadata = titles.get(item.metadata.label.canonical) if item.metadata else None
    return Edition(forms=forms, title=_title(metadata), created=item.created)


def _title(metadata: StoredItem | None) -> str:
    record = metadata.item.record if metadata else None
    return record.title.value if record else ""
