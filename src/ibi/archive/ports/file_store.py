"""Protocols of the storage of files, and their values."""

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
    """Bytes received so far."""
    file: File | None
    """The description of the complete file; None while bytes are missing."""


class Sink(Protocol):
    """Receives the bytes of a file, in order."""

    def write(self, data: bytes) -> None:
        """Append bytes."""
        ...

    def suspend(self) -> None:
        """Keep the received bytes, whose rest will follow."""
        ...

    def finish(self, media_type: str = "", checksum: tuple[str, str] | None = None) -> File:
        """Complete the file and make it durable.

        Raises ChecksumError, and removes the received bytes, if their checksum differs.
        """
        ...


class OpenFile(Protocol):
    """A file of an item, open for reading; the caller that opened it closes it."""

    @property
    def size(self) -> int:
        """The size in bytes."""
        ...

    @property
    def modified(self) -> int:
        """The modification time of the deposited file, in nanoseconds of POSIX time."""
        ...

    @property
    def fd(self) -> int | None:
        """The descriptor of a file on a disk of this machine; None if it is stored elsewhere."""
        ...

    def read(self, offset: int, count: int) -> bytes:
        """Return `count` bytes, fewer at the end. Several threads may read at once."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def pieces_of(file: OpenFile, offset: int = 0, count: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes of a file from an offset on, `count` at a time."""
    while piece := file.read(offset, count):
        yield piece
        offset += len(piece)


class StagingArea(Protocol):
    """Received files of open deposits, complete and incomplete ones.

    Every method raises StorageError if the disk fails, and StorageFullError if it is full.
    """

    def receive(self, deposit: str, path: str, offset: int) -> AbstractContextManager[Sink]:
        """Receive bytes of a file from an offset on; offset 0 begins it anew.

        Raises StateError if fewer bytes were received before. Without `finish`, the received bytes
        stay for a later continuation; but if a complete file is there, it stays instead, unless
        the rest of its replacement was announced by `suspend`.
        """
        ...

    def staged(self, deposit: str) -> list[Staged]:
        """Return the files of an open deposit, in the order of their paths."""
        ...

    def staged_file(self, deposit: str, path: str) -> Staged | None:
        """Return one file of an open deposit; None if there is none."""
        ...

    def unfinished(self, deposit: str) -> bool:
        """Return whether a file of the deposit is incomplete."""
        ...

    def unstage(self, deposit: str, path: str) -> bool:
        """Remove a file of an open deposit; return False if there is none."""
        ...

    def note_unpacking(self, deposit: str, path: str) -> None:
        """Record that an unpacking is about to write a file."""
        ...

    def unpacking(self, deposit: str) -> list[str]:
        """Return the files that an unfinished unpacking may have written."""
        ...

    def end_unpacking(self, deposit: str, source: str = "") -> None:
        """Remove the record of an unpacking, and its source file if one is named."""
        ...

    def open_staged(self, deposit: str, path: str) -> int:
        """Open a complete file of an open deposit for reading; return its descriptor."""
        ...

    def busy(self, deposit: str, path: str = "") -> AbstractContextManager[None]:
        """Lock a file of a deposit against other changes, and the deposit against sealing.

        Raises InProgressError if it is locked. `receive` and `unstage` lock the file themselves.
        """
        ...

    def sealed(self, deposit: str) -> AbstractContextManager[None]:
        """Lock all files of a deposit; raise InProgressError if one is being changed."""
        ...

    def deposits(self) -> list[str]:
        """Return the ids of the deposits that have files here."""
        ...


class FileStore(Protocol):
    """The files of an archive. A decided change is durable, whenever the process is killed.

    Every method raises StorageError if the disk fails, and StorageFullError if it is full.
    """

    @property
    def quick(self) -> bool:
        """Whether opening a file is quick enough for the thread of an event loop."""
        ...

    @property
    def staging(self) -> StagingArea:
        """The received files of open deposits."""
        ...

    def discard(self, deposit: str) -> None:
        """Remove all files of a deposit."""
        ...

    def prepare(self, change: Change) -> None:
        """Do the slow, still invisible part of a change; this decides nothing."""
        ...

    def stored(self, deposit: str) -> int:
        """Return how many bytes of a deposit `prepare` has sent by now; 0 if it sends nothing."""
        ...

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, then carry it out on the files."""
        ...

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Remove a decision from the journal, once the catalogue has the change."""
        ...

    def decided(self) -> Iterator[StoredChange]:
        """Carry out unfinished decisions on the files, and yield each."""
        ...

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        ...

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Yield the place and the manifest of every item."""
        ...

    def keep_reservations(self, text: bytes) -> None:
        """Store a list of reserved labels, from which a lost catalogue can be rebuilt."""
        ...

    def reservations(self) -> Iterator[bytes]:
        """Yield all lists of reserved labels."""
        ...

    def open(self, place: str, path: str) -> OpenFile:
        """Open a file of an item for reading; raise UnknownError if there is none."""
        ...

    def link(self, place: str, path: str, method: str) -> str:
        """Return a temporary URL at which clients GET or HEAD a file from the store itself.

        Empty if the archive itself serves its files.
        """
        ...

    def keys(self, place: str = "") -> Iterator[str]:
        """Yield the key of each file of a place or of the whole store, known or stray.

        Known keys are `<place>/doc/<path>`, `<place>/ibi.json` and `<place>/old/...`.
        """
        ...

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Replace a damaged file, which is not kept, by a complete file of a deposit.

        The modification time is set to that of `file`.
        """
        ...

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace the damaged manifest of an item."""
        ...


class BulkFiles(Protocol):
    """All files of a folder or a bucket, under the same keys, such as `col/<label>/doc/<path>`.

    Every method raises StorageError if the store fails, and StorageFullError if it is full.
    """

    name: str

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the keys in a folder and its subfolders, each with its size in bytes."""
        ...

    def open(self, key: str) -> OpenFile:
        """Open a file for reading; raise UnknownError if there is none."""
        ...

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write or replace a file atomically.

        Its size, modification time and checksum are stored as `file` has them.
        """
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Remove files; keys without a file are ignored."""
        ...
