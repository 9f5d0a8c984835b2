"""What the archive needs of the world: a catalogue, and a place for files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ibi.model.change import Change
from ibi.model.forms import Forms
from ibi.model.item import File, Item
from ibi.ports.minting import TokenStore


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


class Items(Protocol):
    """Items and their files, by any of their names."""

    def find(self, name: str) -> Held | None:
        """Return the item that has this name, in its canonical spelling."""
        ...

    def items(self, after: int, limit: int, kind: str = "") -> list[Held]:
        """Return items in the order in which they came, those numbered later than `after`."""
        ...

    def count(self) -> int:
        """Return how many items of data there are, deleted ones included."""
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

    def restore(self, stored: StoredChange, items: Sequence[tuple[Item, Sequence[File]]]) -> None:
        """Write items as a change left them, whatever stands there; history gets it once."""
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
    """An item was read, as a key proves that counts once."""

    item: int
    day: str
    issued: int
    nonce: int
    until: int
    """Seconds of POSIX time after which the key is refused for its age: it may be forgotten."""


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


class Catalogue(Items, Intake, Statistics, TokenStore, Protocol):
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


@dataclass(frozen=True, slots=True)
class Staged:
    """A file of an open deposit."""

    path: str
    size: int
    """How much of it is here."""
    file: File | None
    """What it is, once it is whole."""


class Sink(Protocol):
    """Takes the bytes of a file, in order."""

    def write(self, data: bytes) -> None:
        """Take some."""
        ...

    def finish(self, media_type: str = "", checksum: tuple[str, str] | None = None) -> File:
        """Make the file whole and durable; ChecksumError, and it is gone, if it is not as said."""
        ...


class FileStore(Protocol):
    """Where files lie. Whatever is decided is durable, and survives whatever is killed when.

    Every method raises StorageError when the disk fails, StorageFullError when it is full.
    """

    def receive(self, deposit: str, path: str, offset: int) -> AbstractContextManager[Sink]:
        """Take bytes of a file from an offset on; 0 begins it anew.

        StateError if less than that is here. What came stays for later if `finish` is not called.
        """
        ...

    def staged(self, deposit: str) -> list[Staged]:
        """Return the files of an open deposit, in the order of their paths."""
        ...

    def staged_file(self, deposit: str, path: str) -> Staged | None:
        """Return one of them."""
        ...

    def unfinished(self, deposit: str) -> bool:
        """Tell whether something of a file has come, and not all."""
        ...

    def unstage(self, deposit: str, path: str) -> bool:
        """Remove a file of an open deposit; False if it is not there."""
        ...

    def open_staged(self, deposit: str, path: str) -> int:
        """Open a whole file of an open deposit for reading."""
        ...

    def discard(self, deposit: str) -> None:
        """Remove everything of a deposit."""
        ...

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, and carry it out among the files."""
        ...

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Forget a decision: the catalogue has it."""
        ...

    def decided(self) -> Iterator[StoredChange]:
        """Carry out among the files what was decided and not finished, and return each."""
        ...

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        ...

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Return every place and its manifest."""
        ...

    def open(self, place: str, path: str) -> int:
        """Open a file of an item for reading; UnknownError if there is none."""
        ...

    def deposits(self) -> list[str]:
        """Return the deposits of which something is here."""
        ...
