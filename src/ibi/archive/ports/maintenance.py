"""Protocols of maintenance: stores of tasks, transfers, copies, damage, links; other archives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from ibi.model.task import Task


class TaskStore(Protocol):
    """Stores tasks; those that have ended stay, as a record."""

    def keep(self, task: Task) -> None:
        """Store a task, replacing an earlier state."""
        ...

    def get(self, id: str) -> Task | None:  # noqa: A002  # what it is called everywhere
        """Return a task; None if there is none."""
        ...

    def newest(self, limit: int, kind: str = "") -> list[Task]:
        """Return the newest tasks of one kind or of all kinds, the newest first."""
        ...

    def unfinished(self) -> list[Task]:
        """Return the tasks that have not ended, the oldest first."""
        ...


Role = Literal["giving", "receiving"]
ExchangeState = Literal["open", "done", "undone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRecord:
    """A transfer in which this archive takes part, beside the state in the item itself."""

    id: str
    label: str
    """The canonical label of the item."""
    role: Role
    peer: str
    secret: str
    """The token for the other archive if giving, the ticket to read the item if receiving."""
    since: int
    state: ExchangeState = "open"
    fault: str = ""
    """The reason why the transfer is delayed or was undone, as a sentence."""


class TransferStore(Protocol):
    """Stores transfers; those that have ended stay, so that no late message reopens them."""

    def keep(self, exchange: TransferRecord) -> None:
        """Store a transfer, replacing an earlier state."""
        ...

    def get(self, id: str) -> TransferRecord | None:  # noqa: A002
        """Return a transfer; None if there is none."""
        ...

    def listed(self, state: str = "", limit: int = 0) -> list[TransferRecord]:
        """Return the newest transfers of a state or of all states, the oldest of them first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRecord:
    """A Copy, and the result of its last comparison with its Original."""

    label: str
    """Canonical."""
    checked: int
    """When the Original was last checked, in nanoseconds of POSIX time; 0 if never."""
    missing: int = 0
    """Since when the Original is not found, in nanoseconds of POSIX time; 0 if it is found."""
    fault: str = ""
    """The reason why the Copy could not be updated, as a sentence."""


class CopyStore(Protocol):
    """Stores records of copies."""

    def keep(self, copy: CopyRecord) -> None:
        """Store a record, replacing an earlier one."""
        ...

    def get(self, label: str) -> CopyRecord | None:
        """Return the record of a copy; None if there is none."""
        ...

    def due(self, checked_before: int, limit: int) -> list[CopyRecord]:
        """Return copies that were last checked before a time, the longest ago first."""
        ...

    def drop(self, label: str) -> None:
        """Remove the record of a copy."""
        ...

    def match_items(self) -> None:
        """Make one record for each item of data that is a Copy, and remove all others."""
        ...

    def page(self, after: str, limit: int, *, faulty: bool = False) -> list[CopyRecord]:
        """Return records with labels after `after`, in order.

        With `faulty`, return only those with a fault or a missing Original.
        """
        ...

    def count(self) -> tuple[int, int]:
        """Return the number of copies, and of those whose Original is missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderRecord:
    """Another archive that holds an item of this one."""

    label: str
    """Canonical."""
    address: str
    name: str
    """The name by which it calls itself; empty if it does not say."""
    seen: int
    """When it was last verified to hold the same files, in nanoseconds of POSIX time."""


class HolderStore(Protocol):
    """Stores which other archives hold an item."""

    def keep(self, holder: HolderRecord) -> None:
        """Store a record, replacing an earlier one."""
        ...

    def of(self, label: str, limit: int) -> list[HolderRecord]:
        """Return the holders of an item, those that were verified last first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that differs from the deposited one, or is lost."""

    label: str
    """Canonical."""
    path: str
    found: int
    """When it was found, in nanoseconds of POSIX time."""
    what: str
    """The kind of damage, as a sentence."""


class DamageStore(Protocol):
    """Stores damage of files until they are repaired."""

    def keep(self, damage: Damage) -> None:
        """Store the damage of a file, replacing an earlier record of it."""
        ...

    def page(self, after: tuple[str, str] = ("", ""), limit: int = 0) -> list[Damage]:
        """Return damage after a label and path, in order; all of it if `limit` is 0."""
        ...

    def drop(self, label: str, path: str) -> None:
        """Remove the record of a file that is repaired, or was removed by a change."""
        ...


class LinkStore(Protocol):
    """The resolvers that an archive is linked to."""

    def all(self) -> dict[str, str]:
        """Return the JSON document of each resolver, by its address."""
        ...

    def keep(self, resolver: str, document: str) -> None:
        """Store the document of a resolver, replacing an earlier one."""
        ...

    def drop(self, resolver: str) -> None:
        """Remove a resolver."""
        ...


class PeerArchive(Protocol):
    """Another archive, from which items are pulled.

    Its methods raise ArchiveUnreachableError if it does not answer, ArchiveRefusedError if it
    refuses, and UnknownError if it has no such item or file.
    """

    address: str

    def manifest(self, label: str) -> bytes:
        """Return the manifest of an item, without what the archive restricts."""
        ...

    def read(self, place: str, path: str, offset: int) -> AbstractContextManager[Iterator[bytes]]:
        """Return the bytes of a file of an item from an offset on."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class PeerListing(Protocol):
    """Another archive that lists its items; its methods raise as those of PeerArchive."""

    def holdings(self, after: str) -> tuple[list[str], str]:
        """Return labels of Originals and the cursor of the next page, empty after the last."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...
