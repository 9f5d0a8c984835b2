"""A change of the archive: what one operation does to its items, atomically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ibi.model.item import File, Item

Act = Literal[
    "found",
    "deposit",
    "adopt",  # an item that had its labels before it came
    "revise",
    "describe",
    "relate",
    "collect",  # items are added to a collection, or removed from it
    "delete",
    "copy",  # pulled from another archive, or brought up to date
    "drop",  # a Copy is not kept any more
    "import",  # from a folder
    "offer",  # to another archive; the next four may follow
    "hand over",
    "take back",
    "receive",
    "accept",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """The change of one item."""

    item: Item
    """The item after the change."""
    files: tuple[File, ...] = ()
    """All its files after the change."""
    version: int = 0
    """The version that is changed; 0 if the item is new."""
    number: int = 0
    """The number of the item in the catalogue, once it has been written there."""
    adopted: str = ""
    """The deposit whose files, all of them, become the files of a new item."""
    put: tuple[str, ...] = ()
    """Paths of files that come from the deposit and replace those of the same path."""
    removed: tuple[str, ...] = ()
    """Paths of files that are removed."""
    cleared: bool = False
    """Whether all files are removed, because the item is deleted."""
    dropped: bool = False
    """Whether the item is removed without a tombstone: only a Copy can be, never an Original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One operation, with its author and time; a retry with the same `id` is the same operation."""

    id: str
    at: int
    """Nanoseconds of POSIX time."""
    who: str
    """The actor: the name of a token, or of a component of the archive."""
    act: Act
    label: str
    """The label of the main item."""
    items: tuple[ItemChange, ...]
    detail: str = ""
    """Further facts for the audit log, as JSON."""
    deposit: str = ""
    """The deposit that this operation completes."""
