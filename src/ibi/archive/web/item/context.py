"""What the page of an item shows beside the item itself: files, editions, history, where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.collections import Collections
from ibi.archive.copies.known_holders import KnownHolders
from ibi.archive.ports.catalogue import FileTotal, HistoryChoice, StoredItem
from ibi.archive.ports.maintenance import HolderRecord
from ibi.archive.rules.calendar import day_of, last_months
from ibi.archive.web.item.preview import Preview
from ibi.archive.web.item.related import RelatedItems
from ibi.archive.web.item.usage import ItemUsage, item_usage
from ibi.archive.web.views import FIRST_FILES, NO_EDITIONS, Editions, PastAct
from ibi.model.clock import SECOND
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms

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
    total: FileTotal | None = None
    """Number and size of the files that can be downloaded together; None if there are none."""
    target: File | None = None
    editions: Editions = NO_EDITIONS
    newer_translation: Forms | None = None
    """A translation of which there is a newer edition, if the item has no editions."""
    gone: frozenset[Forms] = frozenset()
    """Translations that were deleted here, to which no reader is led."""
    collections: tuple[ItemWithMetadata, ...] = ()
    """The collections that it belongs to."""
    acts: tuple[PastAct, ...] = ()
    checked: int = 0
    """When a Copy was last compared with its Original; nanoseconds of POSIX time, 0 if never."""
    holders: tuple[HolderRecord, ...] = ()
    """Other archives that hold the item; for a Copy, the one that it came from first."""
    missing: int = 0
    """Since when the Original of a Copy is not found; nanoseconds of POSIX time, 0 if it is."""
    pictured: frozenset[str] = frozenset()
    """The SHA-256 of PDF files whose first page can be shown."""
    preview: Preview | None = None
    may_change: bool = False
    """Whether the person who is signed in may change the item."""
    replacement: ItemWithMetadata | None = None
    """The item that replaces a deleted one, if this archive has it."""
    usage: ItemUsage | None = None


class ItemContexts:
    """Reads from a catalogue; the number of reads does not grow with files and editions."""

    def __init__(self, archive: Archive) -> None:
        """Read the catalogue of an archive."""
        self._archive = archive
        self._catalogue = archive.catalogue
        self._items = archive.catalogue.items
        self._collections = Collections(archive)
        self._holders = KnownHolders(archive)
        self._related = RelatedItems(archive.catalogue.items)
        self._clock = archive.clock

    def read(self, look: ItemWithMetadata) -> ItemContext:
        """Return what the page of an item shows; little of a deleted item."""
        item = look.item
        if item.state is State.DELETED:
            return ItemContext(replacement=self._archive.replacement(item))
        copy = self._holders.copy(item)
        return ItemContext(
            files=self._files(look.held),
            total=self._total(look.held),
            target=self._items.file(look.held.id, item.target) if item.target else None,
            editions=self._related.editions(look),
            newer_translation=self._related.newer_translation(item),
            gone=self._related.gone(item),
            collections=tuple(self._collections.found_among(item.collections)),
            acts=self._acts(item),
            checked=copy.checked,
            missing=copy.missing,
            holders=self._holders.of(item, copy),
            pictured=self._catalogue.pictures.made(look.held.id),
            usage=self._usage(look.held.id),
        )

    def _files(self, held: StoredItem) -> tuple[File, ...]:
        if not held.item.list_public:
            return ()
        return tuple(self._items.files(held.id, "", FIRST_FILES + 1))

    def _total(self, held: StoredItem) -> FileTotal | None:
        if not held.item.list_public or held.item.runs_at:
            return None
        return self._items.file_totals([held.id]).get(held.id)

    def _acts(self, item: Item) -> tuple[PastAct, ...]:
        choice = HistoryChoice(label=item.forms.label.canonical)
        found = self._catalogue.history.entries(0, MOST_ACTS, choice, newest_first=True)
        return tuple(PastAct(each.act, each.at) for each in found if each.act in _PUBLIC_ACTS)

    def _usage(self, item: int) -> ItemUsage:
        """Return views and downloads of the last twelve months."""
        today = day_of(self._clock.wall() // _DAY)
        months = last_months(today, MONTHS)
        found = self._catalogue.statistics.usage(f"{months[0]}-01", today.isoformat(), item)
        return item_usage(months, found)
