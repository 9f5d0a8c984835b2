"""Imports the items of a bag into a running archive: small files together, large ones resumable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ibi.archive.rules import bagit
from ibi.archive.rules.handover import Paper
from ibi.archive.rules.incoming_item import IncomingItem
from ibi.archive.storage.bags.reader import BagFolder
from ibi.client.archive import RemoteArchive
from ibi.model.item import File

_TOGETHER: Final = 100
"""Items of one request at most."""
_LARGEST: Final = 4 << 20
"""Bytes of manifests, or of files, of one request at most, unless a single one has more."""
_SMALL: Final = 1 << 16
"""Bytes up to which a file is sent together with others."""
_AT_ONCE: Final = 4


@dataclass(slots=True)
class ImportProgress:
    """The results so far."""

    items: int = 0
    bytes: int = 0
    """Bytes of files that were sent, or that the archive has already."""
    counts: dict[str, int] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Brought:
    """An item that is being imported."""

    incoming: IncomingItem
    message: dict[str, Any]
    size: int

    @property
    def label(self) -> str:
        return self.incoming.label.spelling


class BagImport:
    """Imports a verified bag into an archive."""

    def __init__(
        self,
        archive: RemoteArchive,
        source: BagFolder,
        papers: Mapping[str, Paper],
        key: str,
        report: Callable[[ImportProgress], None],
    ) -> None:
        """Import as Originals the items that a hand-over document, signed by a key, names."""
        self._archive = archive
        self._source = source
        self._papers = papers
        self._key = key
        self._report = report
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._done = ImportProgress()

    def run(self) -> ImportProgress:
        """Import all items; if one is refused, the others are still imported."""
        waiting: list[Future[None]] = []
        with ThreadPoolExecutor(_AT_ONCE, "imports") as threads:
            try:
                for batch in self._batches():
                    waiting.append(threads.submit(self._bring, batch))
                    if len(waiting) > _AT_ONCE:
                        waiting.pop(0).result()
                for each in waiting:
                    each.result()
            finally:
                self._ended.set()  # so that threads stop reading large files
                threads.shutdown(cancel_futures=True)
        return self._done

    def _batches(self) -> Iterator[list[_Brought]]:
        batch: list[_Brought] = []
        size = 0
        for place in self._source.places:
            brought = self._brought(place)
            if batch and (len(batch) == _TOGETHER or size + brought.size > _LARGEST):
                yield batch
                batch, size = [], 0
            batch.append(brought)
            size += brought.size
        if batch:
            yield batch

    def _brought(self, place: str) -> _Brought:
        incoming, item, metadata = self._source.item(place)
        described = None if metadata is None else msgspec.Raw(metadata)
        message: dict[str, Any] = {
            "label": place,
            "item": msgspec.Raw(item),
            "metadata": described,
        }
        if place in self._papers:
            message["paper"] = self._papers[place]
        return _Brought(incoming, message, len(item) + len(metadata or b""))

    def _bring(self, batch: Sequence[_Brought]) -> None:
        body = {"items": [each.message for each in batch], "key": self._key}
        answers = self._archive.insist("POST", "imports", body)["items"]
        ends: list[dict[str, Any]] = []
        size = 0
        for brought, answer in zip(batch, answers, strict=True):
            self._count(brought.size)
            if answer["outcome"] != "open":
                self._note(answer)
                self._count(sum(file.size for file in brought.incoming.files))
                continue
            end = {"id": answer["id"], "files": self._send(brought, answer)}
            weight = sum(map(len, end["files"].values()))
            if ends and size + weight > _LARGEST:
                self._complete(ends)
                ends, size = [], 0
            ends.append(end)
            size += weight
        if ends:
            self._complete(ends)

    def _send(self, brought: _Brought, answer: dict[str, Any]) -> dict[str, bytes]:
        """Send the large files that the archive lacks; return the small ones."""
        needed = set(answer.get("needed", ()))
        staged = {each["path"]: each for each in answer.get("staged", ())}
        small: dict[str, bytes] = {}
        room = _LARGEST
        for file in brought.incoming.files:
            known = staged.get(file.path, {})
            if file.path not in needed or known.get("sha256", "") == file.sha256:
                self._count(file.size)
                continue
            path = f"{bagit.ITEMS}{brought.label}{bagit.DOC}{file.path}"
            if file.size <= _SMALL and file.size <= room:
                small[file.path] = self._source.read(path)
                room -= file.size
                self._count(file.size)
            else:
                self._send_file(answer["id"], path, file, resumed=bool(known))
        return small

    def _send_file(self, id_: str, path: str, file: File, *, resumed: bool) -> None:
        source, before = self._source.folder / path, 0

        def check(sent: int) -> None:
            nonlocal before
            if self._ended.is_set():
                raise CancelledError
            self._count(sent - before)
            before = sent

        self._archive.send_file(id_, file.path, source, check, resumed=resumed)

    def _count(self, size: int) -> None:
        with self._lock:
            self._done.bytes += size
            self._report(self._done)

    def _complete(self, ends: Sequence[dict[str, Any]]) -> None:
        completed = self._archive.insist("POST", "imports/completion", {"imports": ends})
        for answer in completed["items"]:
            self._note(answer)

    def _note(self, answer: dict[str, Any]) -> None:
        outcome = answer["outcome"]
        with self._lock:
            self._done.items += 1
            self._done.counts[outcome] = self._done.counts.get(outcome, 0) + 1
            if outcome == "refused":
                self._done.refused.append((answer["label"], answer["detail"]))
            self._report(self._done)
