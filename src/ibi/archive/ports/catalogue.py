"""Protocols of the catalogue, the database of an archive, and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ibi.archive.ports.deposits import DepositStore
from ibi.archive.ports.drafts import DraftStore
from ibi.archive.ports.full_text import FullText, Pictures
from ibi.archive.ports.harvest import HarvestLog
from ibi.archive.ports.maintenance import (
    CopyStore,
    DamageStore,
    HolderStore,
    LinkStore,
    TaskStore,
    TransferStore,
)
from ibi.archive.ports.search import SearchIndex
from ibi.archive.ports.statistics import Statistics
from ibi.model.account import AccountStore
from ibi.model.change import Change
from ibi.model.figures import FigureStore
from ibi.model.item import File, Item
from ibi.model.label_pair import Forms
from ibi.model.token import TokenStore


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A line of the history; lines are added, never changed or removed."""

    number: int
    change: str
    at: int
    who: str
    act: str
    label: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChoice:
    """Which lines of the history are wanted; an empty or zero field does not restrict them."""

    label: str = ""
    """Canonical."""
    act: str = ""
    who: str = ""
    since: int = 0
    """The earliest time, in nanoseconds of POSIX time."""
    before: int = 0
    """The time that lines must be older than, in nanoseconds of POSIX time."""


WHOLE: Final = HistoryChoice()


class History(Protocol):
    """The log of all acts: what was done to which item, when, and by which user."""

    def entries(
        self, after: int, limit: int, choice: HistoryChoice = WHOLE, *, newest_first: bool = False
    ) -> list[HistoryEntry]:
        """Return lines numbered greater than `after`, the oldest first.

        With `newest_first`, return lines numbered less than `after`; from the end if it is 0.
        """
        ...

    def last(self) -> int:
        """Return the number of the newest line, quickly; 0 if there is none."""
        ...

    def acts(self, choice: HistoryChoice = WHOLE) -> dict[str, int]:
        """Return the number of lines of each act, by its name."""
        ...

    def note(self, entry: HistoryEntry) -> None:
        """Write a line of an act that changes no item; the store numbers it."""
        ...


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as the catalogue has it."""

    id: int
    version: int
    """The number of changes so far; a change names the version that it is based on."""
    item: Item


@dataclass(frozen=True, slots=True)
class ManifestItem:
    """An item as its manifest has it."""

    item: Item
    files: tuple[File, ...]
    number: int = 0
    """The number in the catalogue when the manifest was written; 0 if it does not have one."""
    version: int = 0


@dataclass(frozen=True, slots=True)
class FileTotal:
    """The number and size of the files of an item; of a part of them, if it has very many."""

    count: int
    size: int
    """Bytes."""
    is_cut: bool = False
    """Whether the item has more files than were counted."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Labels that were minted for a later item."""

    forms: Forms
    reserved: int
    who: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change that is decided, as the journal of the file store has it."""

    id: str
    at: int
    who: str
    act: str
    label: str
    detail: str
    deposit: str
    places: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    """The places that the change removes."""

    @classmethod
    def of(cls, change: Change) -> StoredChange:
        """Return what is kept of a change until it is finished."""
        places = [(each.item.forms.label.spelling, each.dropped) for each in change.items]
        return cls(
            change.id,
            change.at,
            change.who,
            change.act,
            change.label,
            change.detail,
            change.deposit,
            tuple(place for place, _ in places),
            tuple(place for place, dropped in places if dropped),
        )


class Items(Protocol):
    """Items and their files, by any of their names."""

    def find(self, name: str) -> StoredItem | None:
        """Return the item that has this name, in its canonical spelling."""
        ...

    def find_all(self, names: Sequence[str]) -> dict[str, StoredItem]:
        """Return the items that have these names, by name; at most 1000 names are asked for."""
        ...

    def page(
        self, after: int, limit: int, kind: str = "", *, newest_first: bool = False
    ) -> list[StoredItem]:
        """Return items numbered greater than `after`, in the order of their numbers.

        With `newest_first`, return items numbered less than `after`; from the end if it is 0.
        """
        ...

    def numbered(self, numbers: Sequence[int]) -> list[StoredItem]:
        """Return the items that have these numbers, in this order; at most 100 are asked for."""
        ...

    def count(self) -> int:
        """Return the number of items of data that are not deleted."""
        ...

    def count_files(self) -> tuple[int, int]:
        """Return the number of all files, and the sum of their sizes in bytes."""
        ...

    def file(self, item: int, path: str) -> File | None:
        """Return one file."""
        ...

    def files(self, item: int, after: str = "", limit: int = 0) -> list[File]:
        """Return files with paths after `after`, in order; all of them if `limit` is 0."""
        ...

    def with_content(
        self, sha256: str, after: tuple[int, str], limit: int
    ) -> list[tuple[StoredItem, str]]:
        """Return the items and paths of files with these bytes, in the order of both.

        `after` is the number of the item and the path of the last one on the page before.
        """
        ...

    def file_totals(self, items: Sequence[int], most: int = ...) -> dict[int, FileTotal]:
        """Return number and size of at most `most` files of each of 100 items, if it has any."""
        ...

    def apply(self, change: Change, decide: Callable[[Change], None]) -> None:
        """Write a change in one transaction, whose last step is `decide`.

        `decide` is called with the change and the number of each item. Raises StateError, and
        writes nothing, if an item has another version than the change says, or if a name belongs
        to another item. A change that was applied before is neither applied nor decided again.
        """
        ...

    def restore(
        self,
        stored: StoredChange,
        items: Sequence[ManifestItem],
        dropped: Sequence[str] = (),
    ) -> None:
        """Overwrite items with the state after a change; the history has the change once.

        The items whose canonical labels are `dropped` are removed.
        """
        ...


class ReservationStore(Protocol):
    """Labels that are reserved for later items."""

    def add(self, reservations: Sequence[Reservation]) -> None:
        """Store reservations."""
        ...

    def find(self, name: str) -> Reservation | None:
        """Return the reservation of a name; None if there is none or an item has the name."""
        ...

    def page(self, after: str, limit: int) -> list[Reservation]:
        """Return reservations without an item after the name `after`, in the order of names."""
        ...


class RebuildStore(Protocol):
    """Gathers the items and reserved labels of a new catalogue, invisible until `finish`.

    A rebuild that is interrupted before `finish` leaves the catalogue as it was. One that is
    interrupted in `finish` leaves the catalogue unusable and the gathered data complete: calling
    `finish` again completes it.
    """

    is_whole: bool
    """Whether an interrupted rebuild gathered everything, so that only `finish` is left."""

    def put(self, items: Sequence[ManifestItem]) -> list[str]:
        """Add items; return for each why it cannot be added, or an empty string."""
        ...

    def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Add reserved labels, without those that an item has."""
        ...

    def finish(self) -> None:
        """Replace the items and reservations of the catalogue.

        History, tokens, settings, links and tasks stay, and the statistics of remaining items.
        """
        ...


class DigestState(NamedTuple):
    """The state of the log of names."""

    epoch: str
    """32 hexadecimal digits; new ones after the log was rewritten."""
    last: int
    """The number of its last row; 0 if there is none."""
    whole: bool
    """Whether the log names all items; not before items older than the log are added to it."""


class NameChange(NamedTuple):
    """A row of the log of names."""

    number: int
    """Greater than the number of the row before; numbers may be skipped."""
    names: bytes
    """The concatenated fingerprints of the names of an item."""
    held: bool
    """Whether the item was added; False if it was removed."""


class NameLog(Protocol):
    """The log of held names; a change of an item is logged in the same transaction."""

    def state(self) -> DigestState:
        """Return the state of the log."""
        ...

    def has(self, number: int) -> bool:
        """Return whether there is a row of that number."""
        ...

    def changes(self, after: int, last: int, limit: int) -> list[NameChange]:
        """Return rows numbered greater than `after` and up to `last`, in order."""
        ...

    def fill(self) -> bool:
        """Log some items that are older than the log; return False if none is left."""
        ...


class SettingStore(Protocol):
    """Values by name, each of which stays until it is dropped."""

    def get(self, name: str) -> str:
        """Return the value of a name; empty if there is none."""
        ...

    def keep(self, name: str, value: str) -> str:
        """Store a value unless there is one; return the stored value."""
        ...

    def drop(self, name: str) -> None:
        """Remove the value of a name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The database of an archive, in parts. What a method writes is durable when it returns.

    Every method raises StorageError if the database fails.
    """

    items: Items
    history: History
    deposits: DepositStore
    drafts: DraftStore
    reservations: ReservationStore
    statistics: Statistics
    tasks: TaskStore
    transfers: TransferStore
    copies: CopyStore
    holders: HolderStore
    damages: DamageStore
    digest: NameLog
    harvest: HarvestLog
    search: SearchIndex
    full_text: FullText
    pictures: Pictures
    tokens: TokenStore
    figures: FigureStore
    accounts: AccountStore
    settings: SettingStore
    links: LinkStore
    rebuild: Callable[[], RebuildStore]
    """Begins a rebuild of all items, or returns the one that was interrupted."""
    close: Callable[[], None]
    """Closes the database."""
    quick: bool
    """Whether reading one row is quick enough for the thread of an event loop."""
