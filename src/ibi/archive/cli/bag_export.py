"""Exports items of a running archive into a bag, several at once, each verified as it arrives."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from ibi.archive.rules import bagit
from ibi.archive.rules.incoming_item import IncomingItem, read_incoming
from ibi.archive.rules.manifest import manifest
from ibi.archive.storage.bags.writer import BagWriter
from ibi.client.archive import RemoteArchive
from ibi.errors import (
    ArchiveRefusedError,
    ArchiveUnreachableError,
    ChecksumError,
    StateError,
    UnknownError,
)
from ibi.model.item import File

_ITEMS_AT_ONCE: Final = 4
_FILES_AT_ONCE: Final = 8
_AHEAD: Final = 64
"""Items that wait for a thread."""
_SLICE: Final = 256
"""Files of an item that are queued at once."""
_ATTEMPTS: Final = 5
_TOO_MANY: Final = 429
_CHANGED: Final = (ChecksumError, StateError, UnknownError)
"""Errors of an item that is being changed, which is then read again."""


def entries_of(archive: RemoteArchive, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the items with these labels, or all items, as entries of a bag."""
    for label in labels:
        yield entry_of(archive, label)
    after = "" if labels else "0"
    while after:
        page = archive.ask("GET", "manifests", query={"after": after})
        yield from page["items"]
        after = page["after"]


def entry_of(archive: RemoteArchive, label: str) -> dict[str, Any]:
    """Return one item as an entry of a bag."""
    found: dict[str, Any] = archive.ask("GET", "manifests", query={"item": label})["items"][0]
    return found


@dataclass(slots=True)
class ExportProgress:
    """The number of items and bytes exported so far."""

    items: int = 0
    bytes: int = 0


class BagExporter:
    """Writes items into a bag."""

    def __init__(
        self, archive: RemoteArchive, writer: BagWriter, report: Callable[[ExportProgress], None]
    ) -> None:
        """Read from an archive; `report` is called with the progress."""
        self._archive = archive
        self._writer = writer
        self._report = report
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._done = ExportProgress()
        self._received: dict[tuple[str, str], int] = {}
        """Bytes that were received and counted, of files that are being written."""
        self._items = ThreadPoolExecutor(_ITEMS_AT_ONCE, "items")
        self._files = ThreadPoolExecutor(_FILES_AT_ONCE, "files")

    def export(self, entries: Iterable[dict[str, Any]]) -> ExportProgress:
        """Write items in any order; raise the first failure."""
        waiting: list[Future[None]] = []
        try:
            for entry in entries:
                waiting.append(self._items.submit(self._item, entry))
                if len(waiting) >= _AHEAD:
                    waiting.pop(0).result()
            for each in waiting:
                each.result()
        finally:
            self._ended.set()  # so that threads stop reading large files
            self._items.shutdown(wait=True, cancel_futures=True)
            self._files.shutdown(wait=True, cancel_futures=True)
        return self._done

    def _item(self, entry: dict[str, Any]) -> None:
        for attempt in range(_ATTEMPTS):
            incoming = incoming_of(entry)
            try:
                self._write(incoming)
                break
            except _CHANGED:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_pause(attempt))
                entry = entry_of(self._archive, entry["label"])
        with self._lock:
            self._done.items += 1
            self._report(self._done)

    def _write(self, incoming: IncomingItem) -> None:
        place = incoming.label.spelling
        paths = {file.path for file in incoming.files}
        self._writer.tidy(place, paths)
        remaining = iter(incoming.files)
        while some := list(itertools.islice(remaining, _SLICE)):
            list(self._files.map(lambda file: self._file(place, file), some))
        for item, files in incoming.items:
            label = item.forms.label.spelling
            text = manifest(item, files)
            path = f"{bagit.ITEMS}{label}/{bagit.MANIFEST}"
            listed = {path: self._writer.write(path, text)}
            listed |= {
                f"{bagit.ITEMS}{label}{bagit.DOC}{file.path}": (file.sha256, file.sha512, file.size)
                for file in files
            }
            self._writer.enlist(label, listed)

    def _file(self, place: str, file: File) -> None:
        path = f"{bagit.ITEMS}{place}{bagit.DOC}{file.path}"
        for attempt in range(_ATTEMPTS):
            try:
                self._writer.fetch(path, file, partial(self._read, place, file.path))
                break
            except ArchiveUnreachableError:
                if attempt == _ATTEMPTS - 1:
                    raise
            except ArchiveRefusedError as refusal:
                if refusal.status != _TOO_MANY or attempt == _ATTEMPTS - 1:
                    raise
            time.sleep(_pause(attempt))
        # Bytes of an earlier attempt or run were not received now.
        self._count(file.size - self._received.pop((place, file.path), 0))

    @contextmanager
    def _read(self, place: str, path: str, offset: int) -> Iterator[Iterator[bytes]]:
        with self._archive.read_file(place, path, offset) as pieces:
            yield (self._wanted(piece, (place, path)) for piece in pieces)

    def _wanted(self, piece: bytes, file: tuple[str, str]) -> bytes:
        if self._ended.is_set():
            raise CancelledError  # the received bytes stay, for a later run
        self._received[file] = self._received.get(file, 0) + len(piece)
        self._count(len(piece))
        return piece

    def _count(self, size: int) -> None:
        with self._lock:
            self._done.bytes += size
            self._report(self._done)


def incoming_of(entry: dict[str, Any]) -> IncomingItem:
    """Parse an entry of the archive; raise if the name of a file is not valid."""
    metadata = entry.get("metadata")
    return read_incoming(
        entry["label"],
        msgspec.json.encode(entry["item"]),
        None if metadata is None else msgspec.json.encode(metadata),
    )


def _pause(attempt: int) -> float:
    """Return the seconds to wait before the next attempt."""
    return 0.25 * (1 << attempt)
