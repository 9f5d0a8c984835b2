"""The protocols of the texts and pictures of files, and their values: what waits, what was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

TextKind: TypeAlias = Literal["pdf", "html", "text"]
"""Kinds of files that have a text."""

Outcome: TypeAlias = Literal["text", "none", "limit", "large", "missing"]
"""What came of a file: its text; none; an end at a limit or by a crash; more bytes than are tried;
or no file in the store."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was extracted of a file."""

    outcome: Outcome
    text: str = ""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file of an item."""

    path: str
    text: str


class Waiting(NamedTuple):
    """An item with files that wait for extraction."""

    item: int
    """The number of the item in the catalogue."""
    turn: int
    """A random number of its last change: what was done before that is not used."""


class FullText(Protocol):
    """The texts of the files of public items, and the index by which they are found.

    A change of an item removes what was indexed of its files in the same transaction, and has the
    item wait; texts of files that it lost, or that not every reader may read, are removed too.
    """

    def fill(self) -> bool:
        """Have some items wait that are older than the index; return False if none is left."""
        ...

    def next(self) -> Waiting | None:
        """Return the newest item that waits; None if none does."""
        ...

    def tried(self, item: int) -> Mapping[str, int]:
        """Return the characters of the text of each file that was tried, by its SHA-256."""
        ...

    def keep(self, waiting: Waiting, sha256: str, extracted: Extracted) -> bool:
        """Store what was extracted of a file; return False if the item was changed meanwhile."""
        ...

    def index(self, waiting: Waiting) -> None:
        """Index the stored texts of an item, which then waits no longer; unless it was changed."""
        ...

    def texts(self, items: Sequence[int]) -> dict[int, list[FileText]]:
        """Return the texts of the files of items, in the order of their paths."""
        ...

    def count_waiting(self) -> int:
        """Return the number of items that wait."""
        ...

    def empty(self) -> None:
        """Remove all texts and what was indexed of them; all items wait again from now on."""
        ...


class Pictures(Protocol):
    """Pictures of the first pages of PDF files, for the pages of public items.

    They are removed together with the texts of files, when a file or an item changes.
    """

    def tried(self, item: int) -> frozenset[str]:
        """Return the SHA-256 of each file of an item of which a picture was made, or tried."""
        ...

    def keep(self, waiting: Waiting, sha256: str, image: bytes) -> bool:
        """Store a picture, empty if there can be none; return False if the item was changed."""
        ...

    def made(self, item: int) -> frozenset[str]:
        """Return the SHA-256 of each file of an item that has a picture."""
        ...

    def find(self, item: int, sha256: str) -> bytes:
        """Return the picture of a file; empty if there is none."""
        ...
