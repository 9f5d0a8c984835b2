"""What the archive needs of the world: a place for files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ibi.archive.ports.catalogue import StoredChange
from ibi.model.change import Change
from ibi.model.item import File


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


class OpenFile(Protocol):
    """A file of an item, open for reading; whoever opened it closes it."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        ...

    @property
    def modified(self) -> int:
        """Nanoseconds of POSIX time, as when it was deposited."""
        ...

    @property
    def fd(self) -> int | None:
        """The descriptor of a file on a disk of this machine; None if it lies elsewhere."""
        ...

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes of it; fewer at its end. Several threads may read at once."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def pieces_of(file: OpenFile, offset: int = 0, count: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes of a file from an offset on, so many at a time."""
    while piece := file.read(offset, count):
        yield piece
        offset += len(piece)


class StagingArea(Protocol):
    """Files on their way in, by deposits: those that are whole, and what has come of others.

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

    def note_unpacking(self, deposit: str, path: str) -> None:
        """Note that a file is about to be written by an unpacking."""
        ...

    def unpacking(self, deposit: str) -> list[str]:
        """Return what an unpacking that has not ended may have written."""
        ...

    def end_unpacking(self, deposit: str, source: str = "") -> None:
        """Forget it: the unpacking was cleared up, or ended; then its source goes too."""
        ...

    def open_staged(self, deposit: str, path: str) -> int:
        """Open a whole file of an open deposit for reading."""
        ...

    def busy(self, deposit: str, path: str = "") -> AbstractContextManager[None]:
        """Keep others from a file of a deposit, and from sealing it; InProgressError if they are.

        Whoever receives or removes a file does this by itself.
        """
        ...

    def sealed(self, deposit: str) -> AbstractContextManager[None]:
        """Let nobody change the files of a deposit meanwhile; InProgressError if somebody does."""
        ...

    def deposits(self) -> list[str]:
        """Return the deposits of which something is here."""
        ...


class FileStore(Protocol):
    """Where files lie. Whatever is decided is durable, and survives whatever is killed when.

    Every method raises StorageError when the disk fails, StorageFullError when it is full.
    """

    @property
    def quick(self) -> bool:
        """Whether a file is opened quickly enough for the thread of an event loop."""
        ...

    @property
    def staging(self) -> StagingArea:
        """The files on their way in."""
        ...

    def discard(self, deposit: str) -> None:
        """Remove everything of a deposit, wherever it lies."""
        ...

    def prepare(self, change: Change) -> None:
        """Do what takes long of a change, as far as nobody sees it; nothing is decided by that."""
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

    def keep_reservations(self, text: bytes) -> None:
        """Keep a list of reserved labels, for when the catalogue is lost."""
        ...

    def reservations(self) -> Iterator[bytes]:
        """Return all lists of reserved labels."""
        ...

    def open(self, place: str, path: str) -> OpenFile:
        """Open a file of an item for reading; UnknownError if there is none."""
        ...

    def link(self, place: str, path: str, method: str) -> str:
        """Return where readers get a file from the store itself, by GET or HEAD, for a while.

        Empty if they get it from us.
        """
        ...

    def keys(self, place: str = "") -> Iterator[str]:
        """Return where each file lies, in the whole store or at a place, whoever put it there.

        `<place>/doc/<path>`, `<place>/ibi.json`, `<place>/old/...`, and whatever else there is.
        """
        ...

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Put a whole file of a deposit in the place of a damaged one; that is not kept.

        Its time is afterwards that of the file which is given.
        """
        ...

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Write the manifest of an item in the place of a damaged one."""
        ...


class BulkFiles(Protocol):
    """A folder or a bucket, under the same keys: `col/<label>/doc/<path>` and whatever else.

    Every method raises StorageError when the store fails, StorageFullError when it is full.
    """

    name: str

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Return the keys in a folder and below, each with its size."""
        ...

    def open(self, key: str) -> OpenFile:
        """Open what lies there for reading; UnknownError if nothing does."""
        ...

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write a file, in the place of what was there, whole or not at all.

        Its size, time and sum are kept as they are given.
        """
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Remove files; those that are not there are none."""
        ...
