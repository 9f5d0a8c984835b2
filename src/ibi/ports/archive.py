"""What the archive needs of the world: a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ibi.model.change import Change
from ibi.model.forms import Forms
from ibi.model.item import File, Item
from ibi.ports.minting import TokenStore
from ibi.ports.upkeep import CopyStore, DamageStore, ExchangeStore, TaskStore


@dataclass(frozen=True, slots=True)
class Held:
    """An item as the catalogue has it."""

    id: int
    version: int
    """How often it was changed: whoever changes it says which version they saw."""
    item: Item


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


class Items(Protocol):
    """Items and their files, by any of their names."""

    def find(self, name: str) -> Held | None:
        """Return the item that has this name, in its canonical spelling."""
        ...

    def items(self, after: int, limit: int, kind: str = "") -> list[Held]:
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

    def apply(self, change: Change, decide: Callable[[], None]) -> None:
        """Write a change, in one transaction that `decide` is the last step of.

        StateError, and nothing is written, if an item has another version than the change says,
        or a name belongs to somebody else. A change that was applied before is not applied again,
        nor decided.
        """
        ...

    def restore(
        self,
        stored: StoredChange,
        items: Sequence[tuple[Item, Sequence[File]]],
        dropped: Sequence[str] = (),
    ) -> None:
        """Write items as a change left them, whatever stands there; history gets it once.

        Those whose canonical labels are `dropped` are not there afterwards.
        """
        ...

    def note(self, entry: HistoryEntry) -> None:
        """Write a line of history of what touches no item; its number is the next."""
        ...

    def history(self, after: int, limit: int, label: str = "") -> list[HistoryEntry]:
        """Return what was done, the oldest first, numbered later than `after`."""
        ...


class Intake(Protocol):
    """Deposits and reserved labels."""

    def open_deposit(self, deposit: Deposit) -> None:
        """Keep an open deposit."""
        ...

    def deposit(self, id: str) -> Deposit | None:  # noqa: A002  # what it is called everywhere
        """Return a deposit, open or completed."""
        ...

    def deposits(self, before: int) -> list[Deposit]:
        """Return open deposits, those opened before a moment."""
        ...

    def drop_deposit(self, id: str) -> bool:  # noqa: A002
        """Forget an open deposit; False if there is none."""
        ...

    def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Keep labels for later."""
        ...

    def reservation(self, name: str) -> Reservation | None:
        """Return the reservation that has this name, unless an item has it by now."""
        ...

    def reservations(self, after: str, limit: int) -> list[Reservation]:
        """Return labels that still wait for an item, in the order of their names."""
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """An item was read, once or more often, as a key proves that counts once."""

    item: int
    day: str
    issued: int
    nonce: int
    until: int
    """Seconds of POSIX time after which the key is refused for its age: it may be forgotten."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Accesses:
    """How often something was read on a day."""

    label: str
    day: str
    count: int


class Statistics(Protocol):
    """How often items were read. No address of a reader comes here."""

    def count_accesses(self, accesses: Sequence[Access]) -> list[bool]:
        """Count each access whose key was not used, in one durable step; tell which."""
        ...

    def forget_keys(self, before: int) -> None:
        """Forget used keys that nobody would accept any more."""
        ...

    def accesses(self, first: str, last: str, item: int = 0) -> list[Accesses]:
        """Return accesses by item and day, of one item or of all."""
        ...


class Upkeep(TaskStore, ExchangeStore, CopyStore, DamageStore, Protocol):
    """What takes long, and what lasts."""


class Catalogue(Items, Intake, Statistics, Upkeep, TokenStore, Protocol):
    """The database of an archive. Whatever a method writes is durable when it returns.

    Every method raises StorageError when the database does not answer.
    """

    quick: bool
    """Whether a point read is quick enough to be made in the thread of an event loop."""

    def setting(self, name: str) -> str:
        """Return what was kept under a name; empty if nothing was."""
        ...

    def keep_setting(self, name: str, value: str) -> str:
        """Keep a value unless there is one, and return what stands there."""
        ...

    def links(self) -> dict[str, str]:
        """Return what is kept of each resolver, as JSON."""
        ...

    def keep_link(self, resolver: str, document: str) -> None:
        """Keep it, in the place of what was kept before."""
        ...

    def drop_link(self, resolver: str) -> None:
        """Forget a resolver."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
