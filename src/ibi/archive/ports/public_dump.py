"""The protocol of the files that harvesters fetch whole, and their values.

They are made together, in the background: a dump of all public metadata, and sitemaps.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ibi.archive.ports.file_store import OpenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapPage:
    """One sitemap: the items of a range of numbers, so that no item ever moves to another one."""

    number: int
    """From 1."""
    addresses: int
    updated: int
    """The newest change of an item in it, in nanoseconds of POSIX time; 0 without items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpIndex:
    """What was made together."""

    run: str
    """A name for this run, of letters and digits."""
    made: int
    """When it was begun, in nanoseconds of POSIX time."""
    seconds: float
    """How long it took."""
    history: int
    """The number of the newest line of the history when it was begun."""
    last_item: int
    """The number of the last item in it."""
    base: str
    """Where persistent URLs began."""
    items: int
    tombstones: int
    size: int
    """Bytes of the dump."""
    sha256: str
    """Of the dump, in hexadecimal."""
    pages: tuple[SitemapPage, ...]


class DumpWriter(Protocol):
    """The files of a run, which become visible by `publish`."""

    def lines(self, content: bytes) -> None:
        """Add whole lines to the dump."""
        ...

    def sitemap(self, number: int, content: bytes) -> None:
        """Write a sitemap."""
        ...

    def finish(self) -> tuple[int, str]:
        """End the dump; return its size and SHA-256."""
        ...

    def publish(self, index: DumpIndex) -> None:
        """Put these files in the place of those before."""
        ...


class DumpFiles(Protocol):
    """The files of the last run. Every method raises StorageError if the disk fails."""

    def index(self) -> DumpIndex | None:
        """Return what was made last; None if there is nothing yet."""
        ...

    def dump(self, index: DumpIndex) -> OpenFile | None:
        """Open the dump; None if a later run has replaced it."""
        ...

    def sitemap(self, index: DumpIndex, number: int) -> OpenFile | None:
        """Open a sitemap; None if there is none of this number, or a later run has replaced it."""
        ...

    def write(self, run: str) -> AbstractContextManager[DumpWriter]:
        """Begin a run; its files are removed unless the block publishes them."""
        ...


IsCurrent = Callable[[DumpIndex], bool]
"""Whether nothing was withdrawn since a run: no item in it was deleted or limited to readers."""
