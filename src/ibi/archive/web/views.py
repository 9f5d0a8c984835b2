"""What each page shows, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.errors import MetadataError
from ibi.metadata.dates import read_date
from ibi.metadata.formats import FORMATS
from ibi.model.item import File, Item, Tombstone
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MOST_FILES: Final = 1_000
"""On one page of a list of files."""
FIRST_FILES: Final = 20
"""On the page of an item, before it refers to the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """The page of an item, which is also the free form of its metadata."""

    item: Item
    """The item, or its metadata if it is that which was asked for."""
    record: MetadataRecord | None = None
    """What is said of the item; by default what the item itself says, if it is metadata."""
    files: tuple[File, ...] = ()
    """Of the item described: all of them or the first ones; none if the list is not public."""
    file_count: int = 0
    """How many there are in all; 0 if nobody counted."""
    list_address: str = ""
    """Where all of them are listed; empty if nowhere."""
    last_edition: Forms | None = None
    formats: tuple[str, ...] = tuple(FORMATS)
    described: Tombstone | None = None
    """The tombstone of the item described, if that was deleted."""

    @property
    def about(self) -> MetadataRecord | None:
        """The metadata shown."""
        return self.record or self.item.record

    @property
    def subject(self) -> Forms:
        """The item that is described and cited: of metadata, not itself."""
        return self.item.describes or self.item.forms

    @property
    def title(self) -> str:
        """The title, or the label of what has none."""
        return self.about.title.value if self.about else self.subject.short.spelling

    @property
    def publication_date(self) -> str:
        """The first date that is one, without its time; empty if there is none."""
        for text in self.about.dates if self.about else ():
            try:
                return read_date(text)[0].day_text
            except MetadataError:
                continue
        return ""

    @property
    def first_files(self) -> tuple[File, ...]:
        """The files that the page itself shows."""
        return self.files[:FIRST_FILES]

    @property
    def may_have_more_files(self) -> bool:
        """Whether a page full of files may be the first of several, and nobody counted."""
        return not self.file_count and len(self.files) >= FIRST_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class FileListView:
    """A page of the list of files of an item."""

    forms: Forms
    files: tuple[File, ...]
    title: str = ""
    more: bool = False
    """Whether there are files after these; more than a page holds are more in any case."""
    limited: bool = False
    """Whether not everybody may read them."""

    @property
    def shown(self) -> tuple[File, ...]:
        """The files of this page."""
        return self.files[:MOST_FILES]

    @property
    def last(self) -> str:
        """The path after which the next page begins; empty if there is none."""
        goes_on = self.more or len(self.files) > MOST_FILES
        return self.shown[-1].path if goes_on and self.shown else ""

    @property
    def folders(self) -> dict[str, list[File]]:
        """The files by folder, in the order in which they came."""
        folders: dict[str, list[File]] = {}
        for file in self.shown:
            folders.setdefault(file.path.rpartition("/")[0], []).append(file)
        return folders


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedListView:
    """The page that says that the list of files is not public."""

    forms: Forms
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedView:
    """The page that says that the files of an item are for readers in other networks."""

    forms: Forms
    title: str = ""
    metadata: Forms | None = None
    """What is said of it, which everybody may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneView:
    """What stays of an item that was deleted; never its files."""

    forms: Forms
    tombstone: Tombstone
    title: str = ""
    metadata: Forms | None = None
    """What was said of it, if that is still here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """The front page of the archive."""

    items: int
    service: Forms | None = None
    """The archive service itself."""
