"""Fetches a file of another archive into the staging area of a deposit, and verifies it.

After a broken connection or a restart, a fetch continues at the byte that it had reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from threading import Lock
from typing import Final, Self, TypeAlias

from ibi.archive.archive import Archive
from ibi.archive.ports.file_store import pieces_of
from ibi.archive.ports.maintenance import PeerArchive
from ibi.errors import (
    ArchiveUnreachableError,
    ChecksumError,
    Sentence,
    StateError,
    UnknownError,
    shown,
)
from ibi.identifier.label import Label
from ibi.model.item import File, is_same

OpenSource: TypeAlias = Callable[[str], PeerArchive]
"""Connects to the archive at an address; raises ArchiveRequestError if the address is invalid."""


class SourcePool:
    """Connections to other archives, one for each address, shared by threads."""

    def __init__(self, open_source: OpenSource) -> None:
        """Open connections by `open_source` when they are needed."""
        self._open = open_source
        self._opened: dict[str, PeerArchive] = {}
        self._lock = Lock()

    def at(self, address: str) -> PeerArchive:
        """Return the archive at an address."""
        with self._lock:
            if address not in self._opened:
                self._opened[address] = self._open(address)
            return self._opened[address]

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        for source in self._opened.values():
            source.close()


Arrived = Callable[[int], None]
"""Called with the bytes of a file received so far; an exception ends the fetch."""

_ATTEMPTS: Final = 5
"""Attempts in a row without progress after which a fetch fails."""
_LEAST: Final = 1 << 16
"""Bytes that count as progress: a peer that sends a few and hangs up each time is given up."""
_PAUSE: Final = 250_000_000
"""Nanoseconds before the next attempt, doubled after each one without progress."""


class FileFetcher:
    """Fetches files into the staging area of one archive; threads may share it."""

    def __init__(self, archive: Archive) -> None:
        """Take the archive."""
        self._store = archive.store
        self._staging = archive.store.staging
        self._clock = archive.clock

    def fetch(
        self,
        source: PeerArchive,
        label: Label,
        file: File,
        deposit: str,
        arrived: Arrived = lambda _: None,
    ) -> File:
        """Stage a file of an item; raise ChecksumError if it differs from the source's manifest."""
        staged = self._staging.staged_file(deposit, file.path)
        if staged is not None and is_same(staged.file, file) and staged.file is not None:
            return staged.file
        if staged is not None and staged.file is not None:
            # It is of another version. If it stayed, a broken download would begin anew.
            self._staging.unstage(deposit, file.path)
            staged = None
        offset = staged.size if staged is not None else 0
        if 0 < offset <= file.size:
            with suppress(ChecksumError):  # the staged bytes are of another version of the file
                return self._insist(source, label, file, deposit, offset, arrived)
        return self._insist(source, label, file, deposit, 0, arrived)

    def _insist(  # noqa: PLR0913, PLR0917  # what, from where and to where
        self,
        source: PeerArchive,
        label: Label,
        file: File,
        deposit: str,
        offset: int,
        arrived: Arrived,
    ) -> File:
        """Fetch a file, and continue at the same byte after a broken connection."""
        failures = 0
        while True:
            try:
                return self._receive(source, label, file, deposit, offset, arrived)
            except ArchiveUnreachableError:
                staged = self._staging.staged_file(deposit, file.path)
                come = staged.size if staged else 0
                failures = 0 if come - offset >= _LEAST else failures + 1
                if failures == _ATTEMPTS:
                    raise
                offset = come
            self._clock.sleep(_PAUSE << failures)
            arrived(offset)

    def _receive(  # noqa: PLR0913, PLR0917
        self,
        source: PeerArchive,
        label: Label,
        file: File,
        deposit: str,
        offset: int,
        arrived: Arrived,
    ) -> File:
        come = offset
        with (
            self._staging.receive(deposit, file.path, offset) as sink,
            _reading(source, label, file, offset) as pieces,
        ):
            for piece in pieces:
                come += len(piece)
                if come > file.size:
                    break
                sink.write(piece)
                arrived(come)
            if come == file.size:
                found = sink.finish(file.media_type, ("sha256", file.sha256))
        if come == file.size:
            return self._verified(found, file, deposit)
        if come < file.size:
            raise ArchiveUnreachableError(source.address, Sentence("the connection broke"))
        self._staging.unstage(deposit, file.path)
        msg = Sentence(
            "%(path)s is longer at %(address)s than its manifest says.",
            path=shown(file.path),
            address=source.address,
        )
        raise StateError(msg)

    def _verified(self, found: File, file: File, deposit: str) -> File:
        """Return a file with the right SHA-256 if its SHA-512 is right too."""
        if found.sha512 != file.sha512:
            self._staging.unstage(deposit, file.path)
            raise ChecksumError(file.path, file.sha512, found.sha512)
        return found

    def take(self, label: Label, path: str, file: File, deposit: str) -> bool:
        """Stage a file from equal bytes at another path here; False if there are none."""
        with suppress(ChecksumError, UnknownError):
            with (
                closing(self._store.open(label.spelling, path)) as here,
                self._staging.receive(deposit, file.path, 0) as sink,
            ):
                for piece in pieces_of(here):
                    sink.write(piece)
                found = sink.finish(file.media_type, ("sha256", file.sha256))
            self._verified(found, file, deposit)
            return True
        return False


def _reading(
    source: PeerArchive, label: Label, file: File, offset: int
) -> AbstractContextManager[Iterator[bytes]]:
    if offset == file.size:
        return nullcontext(iter(()))  # all bytes are here, only the end of the stream was lost
    return source.read(label.spelling, file.path, offset)
