"""The values that each page shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from ibi.archive.ports.catalogue import FileTotal
from ibi.archive.ports.maintenance import HolderRecord
from ibi.archive.web.citations import Citation
from ibi.archive.web.item.preview import Preview
from ibi.archive.web.item.usage import ItemUsage
from ibi.errors import MetadataError
from ibi.foundation.pages.templates import ProblemView
from ibi.identifier.language import Language
from ibi.metadata.cited_work import CitedWork
from ibi.metadata.dates import read_date
from ibi.metadata.formats import FORMATS
from ibi.model.item import File, Item, Tombstone
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MOST_FILES: Final = 100
"""Files on one page of a list of files: with their checksums some 70 kB."""
FIRST_FILES: Final = 20
"""Files on the page of an item, before it refers to the list."""
FIRST_LANGUAGES: Final = 12
"""Translations on the page of an item, before it refers to the list."""
NO_JSON_LD: Final = Markup()
"""The data block of a page that has none."""


class PastAct(NamedTuple):
    """A line of the public history of an item."""

    act: str
    at: int
    """Nanoseconds of POSIX time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """An edition in a timeline; of one in another archive only the labels are known."""

    forms: Forms
    title: str = ""
    published: str = ""
    """The date of publication in its description; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Editions:
    """The editions before and after an item, each from the newest on."""

    later: tuple[Edition, ...] = ()
    this: Edition | None = None
    """The item itself; None if it is the only edition."""
    earlier: tuple[Edition, ...] = ()
    has_later: bool = False
    """Whether there are editions after those."""
    has_earlier: bool = False


NO_EDITIONS: Final = Editions()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionListView:
    """A page of the list of editions: those around one of them."""

    forms: Forms
    title: str = ""
    editions: Editions
    later_page: Forms | None = None
    """The edition whose page of the list has later ones; None if no page here has."""
    earlier_page: Forms | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A translation in a list; of one in another archive only the labels are known."""

    language: Language
    forms: Forms
    title: str = ""
    is_current: bool = False
    """Whether it is the item that the list is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationListView:
    """A page of the list of translations of an item or its metadata, which are among them."""

    forms: Forms
    """The item, also if the list is about its metadata."""
    title: str = ""
    is_metadata: bool = False
    translations: tuple[Translation, ...]
    count: int
    """The number of languages in all."""
    last: str = ""
    """The language after which the next page begins; empty if there is none."""


def _is_part(general: str, exact: str) -> bool:
    """Return whether a language tag is another one, or its beginning (RFC 4647, 3.3.1)."""
    return f"{exact}-".lower().startswith(f"{general}-".lower())


def folders_of(files: Iterable[File]) -> dict[str, list[File]]:
    """Return files by folder, in the given order."""
    folders: dict[str, list[File]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    return folders


def publication_date(record: MetadataRecord | None) -> str:
    """Return the first valid date of a record, without its time; empty if there is none."""
    for text in record.dates if record else ():
        try:
            return read_date(text)[0].day_text
        except MetadataError:
            continue
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """The page of an item, which is also the free form of its metadata."""

    item: Item
    """The item, or its metadata item if that was requested."""
    record: MetadataRecord | None = None
    """The metadata of the item; by default those of the item itself, if it is metadata."""
    files: tuple[File, ...] = ()
    """Files of the described item: all or the first ones; none if the list is not public."""
    file_count: int = 0
    """The number of all files; 0 if they were not counted."""
    may_change: bool = False
    """Whether the person who is signed in may change the item."""
    gone: frozenset[Forms] = frozenset()
    """Translations that were deleted."""
    total: FileTotal | None = None
    """Number and size of the files that can be downloaded together; None if there are none."""
    list_address: str = ""
    """The URL of the list of all files; empty if there is none."""
    formats: tuple[str, ...] = tuple(FORMATS)
    other_languages: tuple[Language, ...] = ()
    """Languages other than the one shown, in which the metadata have texts."""
    other_metadata: tuple[tuple[Language, Forms], ...] = ()
    """Metadata in other languages that have labels of their own."""
    described: Tombstone | None = None
    """The tombstone of the item described, if that was deleted."""
    replacement: MetadataRecord | None = None
    """The description of the item that replaces it, if this archive has it."""
    target: File | None = None
    """The file that the label leads to."""
    editions: Editions = NO_EDITIONS
    newer_translation: Forms | None = None
    """A translation of which there is a newer edition, if the item has no editions."""
    collections: tuple[tuple[Forms, str], ...] = ()
    """The collections that it belongs to, with their titles."""
    is_collection: bool = False
    acts: tuple[PastAct, ...] = ()
    """The newest acts of its history."""
    checked: int = 0
    """When a Copy was last compared with its Original; nanoseconds of POSIX time, 0 if never."""
    missing: int = 0
    """Since when the Original of a Copy is not found; nanoseconds of POSIX time, 0 if it is."""
    holders: tuple[HolderRecord, ...] = ()
    """Other archives that hold the item; for a Copy, the one that it came from first."""
    now: int = 0
    """Nanoseconds of POSIX time."""
    usage: ItemUsage | None = None
    """Views and downloads of the last months; None if there are none."""
    pictured: frozenset[str] = frozenset()
    """The SHA-256 of PDF files whose first page can be shown."""
    preview: Preview | None = None
    """What the page shows of one of the files."""
    to_cite: MetadataRecord | None = None
    """The description by which the item is cited: in its own language, whatever is shown."""
    citations: tuple[Citation, ...] = ()
    """How to cite the item, in every style; none without metadata."""
    page: str = ""
    """The URL of this page, in no particular language; empty if it has no place yet."""
    work: CitedWork | None = None
    """The item as citation managers see it; None of a deleted item."""
    json_ld: Markup = NO_JSON_LD
    """The description for search engines, escaped for a data block; empty of a deleted item."""

    @property
    def about(self) -> MetadataRecord | None:
        """The metadata shown."""
        return self.record or self.item.record

    @property
    def subject(self) -> Forms:
        """The item that is described and cited; never the metadata item."""
        return self.item.describes or self.item.forms

    @property
    def title(self) -> str:
        """The title, or the label if there is no title."""
        return self.about.title.value if self.about else self.subject.short.spelling

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the item, each once: as the metadata or the item itself say it.

        A more exact tag replaces a general one: `pt-BR` of the item replaces `pt` of the metadata.
        """
        named = self.about.languages if self.about else ()
        own = str(self.item.language or "")
        if not own or any(_is_part(own, each) for each in named):
            return named
        return (own, *(each for each in named if not _is_part(each, own)))

    @property
    def publication_date(self) -> str:
        """The first valid date, without its time; empty if there is none."""
        return publication_date(self.about)

    @property
    def first_translations(self) -> tuple[tuple[Language, Forms], ...]:
        """The translations that the page itself shows."""
        first = self.item.translations[:FIRST_LANGUAGES]
        return tuple(each for each in first if each[1] not in self.gone)

    @property
    def has_more_translations(self) -> bool:
        """Whether the page itself does not show all translations."""
        return len(self.item.translations) > FIRST_LANGUAGES

    @property
    def first_metadata(self) -> tuple[tuple[Language, Forms], ...]:
        """The metadata in other languages that the page itself shows."""
        return self.other_metadata[:FIRST_LANGUAGES]

    @property
    def first_files(self) -> tuple[File, ...]:
        """The files that the page itself shows."""
        return self.files[:FIRST_FILES]

    @property
    def folders(self) -> dict[str, list[File]]:
        """The files that the page itself shows, by folder; those in none come first."""
        folders = folders_of(self.first_files)
        return {"": folders.pop("", []), **folders}

    @property
    def has_all_files(self) -> bool:
        """Whether the page itself shows all files."""
        shown = len(self.first_files)
        return self.file_count == shown if self.file_count else shown < FIRST_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class FileListView:
    """A page of the list of files of an item."""

    forms: Forms
    files: tuple[File, ...]
    title: str = ""
    target: str = ""
    """The path of the main file; empty if there is none."""
    page: str = ""
    """Path of the page of the item, which shows previews; empty if there are none."""
    more: bool = False
    """Whether there are files after these; implied if there are more than a page shows."""
    limited: bool = False
    """Whether the files are restricted to some readers."""
    pictured: frozenset[str] = frozenset()
    """The SHA-256 of PDF files whose first page can be shown."""

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
        """The files by folder, in the given order."""
        return folders_of(self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedListView:
    """The page of an item whose list of files is not public."""

    forms: Forms
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedView:
    """The page of an item whose files are for readers in other networks."""

    forms: Forms
    title: str = ""
    metadata: Forms | None = None
    """The metadata of the item, which are public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFoundView(ProblemView):
    """The page of an address at which there is nothing."""

    item: Forms | None = None
    """The item of the address, if it is here, but not what the address names of it."""
    suggestions: tuple[str, ...] = ()
    """Labels that may have been meant."""
    elsewhere: str = ""
    """Where a resolver explains the label; empty if the archive has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneView:
    """The page of a deleted item, which never shows its files."""

    forms: Forms
    tombstone: Tombstone
    record: MetadataRecord | None = None
    """The description of the item, if it is still here."""
    metadata: Forms | None = None
    """The metadata of the item, if they are still here."""
    replacement: MetadataRecord | None = None
    """The description of the item that replaces it, if this archive has it."""

    @property
    def title(self) -> str:
        """The title of the item; empty if it is not known."""
        return self.record.title.value if self.record else ""
