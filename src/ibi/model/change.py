"""A change of the archive: what one act does to its items, all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ibi.model.item import File, Item

Act = Literal[
    "found",
    "deposit",
    "revise",
    "describe",
    "relate",
    "delete",
    "copy",  # pulled from another archive, or brought up to date
    "drop",  # a Copy is not kept any more
    "import",  # from a folder
    "offer",  # to another archive; and what may follow
    "hand over",
    "take back",
    "receive",
    "accept",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """What happens to one item."""

    item: Item
    """As it is afterwards."""
    files: tuple[File, ...] = ()
    """All its files, afterwards."""
    version: int = 0
    """The version that is changed; 0 if the item is new."""
    number: int = 0
    """Its number in the catalogue, once it was written there."""
    adopted: str = ""
    """A deposit whose files, all of them, become those of a new item."""
    put: tuple[str, ...] = ()
    """Paths of files that come from the deposit, in the place of others if there are any."""
    removed: tuple[str, ...] = ()
    """Paths of files that go."""
    cleared: bool = False
    """Whether all files go: the item is deleted."""
    dropped: bool = False
    """Whether the item goes as if it had never been here: a Copy, and never an Original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An act, by whom and when; `id` makes it the same act however often it is tried."""

    id: str
    at: int
    who: str
    act: Act
    label: str
    """The label of the item that it is mainly about."""
    items: tuple[ItemChange, ...]
    detail: str = ""
    """What else is worth knowing of it later, as JSON."""
    deposit: str = ""
    """The deposit that it completes."""
