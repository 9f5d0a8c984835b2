"""What the archive needs of the world: a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ibi.archive.ports.maintenance import CopyStore, DamageStore, TaskStore, TransferStore
from ibi.archive.ports.statistics import Statistics
from ibi.model.change import Change
from ibi.model.item import File, Item
from ibi.model.label_pair import Forms
from ibi.model.token import TokenStore


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A line of the history, which only grows."""

    number: int
    change: str
    at: int
    who: str
    act: str
    label: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChoice:
    """Which lines of the history are wanted; what is empty or 0 leaves none out."""

    label: str = ""
    """Canonical."""
    act: str = ""
    who: str = ""
    since: int = 0
    before: int = 0
    """Nanoseconds of POSIX time."""


WHOLE: Final = HistoryChoice()


class History(Protocol):
    """Who did what."""

    def entries(
        self, after: int, limit: int, choice: HistoryChoice = WHOLE, *, newest_first: bool = False
    ) -> list[HistoryEntry]:
        """Return what was done, the oldest first, numbered later than `after`.

        The newest first: numbered earlier than `after`, or from the end if it is 0.
        """
        ...

    def acts(self, choice: HistoryChoice = WHOLE) -> dict[str, int]:
        """Return how often each act was done, by its name."""
        ...

    def note(self, entry: HistoryEntry) -> None:
        """Write a line of history of what touches no item; its number is the next."""
        ...


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as the catalogue has it."""

    id: int
    version: int
    """How often it was changed: whoever changes it says which version they saw."""
    item: Item


@dataclass(frozen=True, slots=True)
class ManifestItem:
    """An item as its manifest has it."""

    item: Item
    files: tuple[File, ...]
    number: int = 0
    """That of the catalogue when it was written; 0 if nobody wrote it down."""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Deposit:
    """Files on their way in: to a new item, or to one that is there."""

    id: str
    opened: int
    who: str
    request: str
    """What is to become of them, as JSON."""
    completed: str = ""
    """The label of the item that they went to; empty while the deposit is open."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Labels that were minted for an item that comes later."""

    forms: Forms
    reserved: int
    who: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change that is decided, and perhaps not finished."""

    id: str
    at: int
    who: str
    act: str
    label: str
    detail: str
    deposit: str
    places: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    """Those of the places where nothing is afterwards."""

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

    def page(self, after: int, limit: int, kind: str = "") -> list[StoredItem]:
        """Return items in the order in which they came, those numbered later than `after`."""
        ...

    def count(self) -> int:
        """Return how many items of data there are, without those that were deleted."""
        ...

    def file(self, item: int, path: str) -> File | None:
        """Return one file."""
        ...

    def files(self, item: int, after: str = "", limit: int = 0) -> list[File]:
        """Return files in the order of their paths, later than `after`; all if no limit."""
        ...

    def apply(self, change: Change, decide: Callable[[Change], None]) -> None:
        """Write a change, in one transaction that `decide` is the last step of.

        It is told the change with the number of each item. StateError, and nothing is written, if
        an item has another version than the change says, or a name belongs to somebody else. A
        change that was applied before is not applied again, nor decided.
        """
        ...

    def restore(
        self,
        stored: StoredChange,
        items: Sequence[ManifestItem],
        dropped: Sequence[str] = (),
    ) -> None:
        """Write items as a change left them, whatever stands there; history gets it once.

        Those whose canonical labels are `dropped` are not there afterwards.
        """
        ...


class DepositStore(Protocol):
    """Deposits, open and completed."""

    def open(self, deposit: Deposit) -> None:
        """Keep an open deposit."""
        ...

    def get(self, id: str) -> Deposit | None:  # noqa: A002  # what it is called everywhere
        """Return a deposit, open or completed."""
        ...

    def open_before(self, before: int) -> list[Deposit]:
        """Return open deposits, those opened before a moment."""
        ...

    def drop(self, id: str) -> bool:  # noqa: A002
        """Forget an open deposit; False if there is none."""
        ...


class ReservationStore(Protocol):
    """Labels that wait for an item."""

    def add(self, reservations: Sequence[Reservation]) -> None:
        """Keep labels for later."""
        ...

    def find(self, name: str) -> Reservation | None:
        """Return the reservation that has this name, unless an item has it by now."""
        ...

    def page(self, after: str, limit: int) -> list[Reservation]:
        """Return labels that still wait for an item, in the order of their names."""
        ...


class RebuildStore(Protocol):
    """Items, their names, files and reserved labels, gathered; nobody sees them until `finish`.

    Whoever is interrupted before that leaves the catalogue as it was. Whoever is interrupted in
    `finish` leaves it unfit for use, and a renewal that is whole: `finish` completes it.
    """

    is_whole: bool
    """Whether it was gathered by somebody who was interrupted later: there is nothing to add."""

    def put(self, items: Sequence[ManifestItem]) -> list[str]:
        """Take items, and say of each why it cannot be taken; nothing if it was."""
        ...

    def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Take labels that wait for an item, but for those that an item has."""
        ...

    def finish(self) -> None:
        """Put all of it in the place of what the catalogue has.

        History, tokens, settings, links and tasks stay, and statistics of items that stay.
        """
        ...


class DigestState(NamedTuple):
    """How far the log of names has come."""

    epoch: str
    """32 hexadecimal digits; others after all was written anew."""
    last: int
    """The number of its last row; 0 if there is none."""
    whole: bool
    """Whether it names all that is held; not before what was there before it was written down."""


class NameChange(NamedTuple):
    """A row of the log of names."""

    number: int
    """Each greater than the one before, by how much nobody can tell."""
    names: bytes
    """The fingerprints of the names of an item, one after the other."""
    held: bool
    """Whether the item is here since then, or no more."""


class NameLog(Protocol):
    """Which names are held, as a log: every change of an item is written there with it."""

    def state(self) -> DigestState:
        """Return how far it has come."""
        ...

    def has(self, number: int) -> bool:
        """Tell whether there is a row of that number."""
        ...

    def changes(self, after: int, last: int, limit: int) -> list[NameChange]:
        """Return rows in their order, those after one number and up to another."""
        ...

    def fill(self) -> bool:
        """Write down some items that were there before the log; False if none is left."""
        ...


class SettingStore(Protocol):
    """Values that an archive keeps once for all, by name."""

    def get(self, name: str) -> str:
        """Return what was kept under a name; empty if nothing was."""
        ...

    def keep(self, name: str, value: str) -> str:
        """Keep a value unless there is one, and return what stands there."""
        ...


class LinkStore(Protocol):
    """The resolvers that an archive is linked to."""

    def all(self) -> dict[str, str]:
        """Return what is kept of each resolver, as JSON."""
        ...

    def keep(self, resolver: str, document: str) -> None:
        """Keep it, in the place of what was kept before."""
        ...

    def drop(self, resolver: str) -> None:
        """Forget a resolver."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The database of an archive, by parts. What a method writes is durable when it returns.

    Every method raises StorageError when the database does not answer.
    """

    items: Items
    history: History
    deposits: DepositStore
    reservations: ReservationStore
    statistics: Statistics
    tasks: TaskStore
    transfers: TransferStore
    copies: CopyStore
    damages: DamageStore
    digest: NameLog
    tokens: TokenStore
    settings: SettingStore
    links: LinkStore
    rebuild: Callable[[], RebuildStore]
    """Begins to write all items anew, or finds what was begun and could not be finished."""
    close: Callable[[], None]
    """Lets go of the database."""
    quick: bool
    """Whether a point read is quick enough to be made in the thread of an event loop."""
