"""What an archive needs to last: a memory of long work, other archives, and what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from ibi.model.task import Task


class TaskStore(Protocol):
    """Keeps tasks; those that have ended stay, as a record."""

    def keep(self, task: Task) -> None:
        """Keep a task, in the place of what was known of it."""
        ...

    def get(self, id: str) -> Task | None:  # noqa: A002  # what it is called everywhere
        """Return a task."""
        ...

    def newest(self, limit: int, kind: str = "") -> list[Task]:
        """Return the newest tasks, the newest first; of one kind or of all."""
        ...

    def unfinished(self) -> list[Task]:
        """Return those that have not ended, the oldest first."""
        ...


Role = Literal["giving", "receiving"]
ExchangeState = Literal["open", "done", "undone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRecord:
    """A transfer that this archive has to do with, beside what the item says of it."""

    id: str
    label: str
    """Of the item, canonical."""
    role: Role
    peer: str
    secret: str
    """Giving: the token for the other archive. Receiving: the ticket to read the item with."""
    since: int
    state: ExchangeState = "open"
    fault: str = ""
    """Why it does not go on just now, or was undone, in a sentence."""


class TransferStore(Protocol):
    """Keeps transfers; those that have ended stay, so that no late message opens them again."""

    def keep(self, exchange: TransferRecord) -> None:
        """Keep it, in the place of what was known of it."""
        ...

    def get(self, id: str) -> TransferRecord | None:  # noqa: A002
        """Return one."""
        ...

    def listed(self, state: str = "", limit: int = 0) -> list[TransferRecord]:
        """Return them, the oldest first; those of a state or all, and of many the newest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRecord:
    """A Copy, and how it stands with its Original."""

    label: str
    """Canonical."""
    checked: int
    """When the Original was last looked at, in nanoseconds of POSIX time; 0: never."""
    missing: int = 0
    """Since when it cannot be found; 0 if it can."""
    fault: str = ""
    """Why it could not be brought up to date, in a sentence."""


class CopyStore(Protocol):
    """Keeps how copies stand."""

    def keep(self, copy: CopyRecord) -> None:
        """Keep it, in the place of what was known of it."""
        ...

    def get(self, label: str) -> CopyRecord | None:
        """Return that of one copy."""
        ...

    def due(self, checked_before: int, limit: int) -> list[CopyRecord]:
        """Return those that were not looked at since a moment, the longest ago first."""
        ...

    def drop(self, label: str) -> None:
        """Forget one."""
        ...

    def match_items(self) -> None:
        """Have a record of each item of data that is a Copy, and of no other."""
        ...

    def page(self, after: str, limit: int, *, faulty: bool = False) -> list[CopyRecord]:
        """Return records by label, later than `after`; of all copies, or of those with a fault."""
        ...

    def count(self) -> tuple[int, int]:
        """Return how many copies there are, and of how many the Original is missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that is not what it was when it was deposited."""

    label: str
    """Canonical."""
    path: str
    found: int
    """Nanoseconds of POSIX time."""
    what: str
    """In a sentence."""


class DamageStore(Protocol):
    """Keeps what is damaged, until it is whole again."""

    def keep(self, damage: Damage) -> None:
        """Keep it, in the place of what was known of that file."""
        ...

    def page(self, after: tuple[str, str] = ("", ""), limit: int = 0) -> list[Damage]:
        """Return what is damaged by label and path, later than `after`; all if no limit."""
        ...

    def drop(self, label: str, path: str) -> None:
        """Forget it: the file is whole, or is not there any more by right."""
        ...


class PeerArchive(Protocol):
    """Another archive, from which items are pulled.

    ArchiveUnreachableError if it does not answer, ArchiveRefusedError if it says no, UnknownError
    if it has no such thing.
    """

    address: str

    def manifest(self, label: str) -> bytes:
        """Return the manifest of an item, as far as it is for others."""
        ...

    def read(self, place: str, path: str, offset: int) -> AbstractContextManager[Iterator[bytes]]:
        """Return the bytes of a file of an item from an offset on."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class PeerListing(Protocol):
    """Another archive that tells which items it has; it fails as a Source does."""

    def holdings(self, after: str) -> tuple[list[str], str]:
        """Return labels of Originals that it has, and after what to go on; empty at the end."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
