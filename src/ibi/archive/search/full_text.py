"""The texts and pictures of files in the background: one after the other, indexed by item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final, Protocol

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.file_store import OpenFile
from ibi.archive.ports.full_text import Extracted, FullText, TextKind, Waiting
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.rules.search.full_text import (
    MOST_FILES,
    MOST_PICTURES,
    MOST_TEXT,
    has_public_files,
    text_kind,
)
from ibi.errors import StorageError, UnknownError
from ibi.model.item import File

_BREATH: Final = 0.02
"""Seconds between two items, in which other work goes on."""
_IDLE: Final = 1.0
"""Seconds after which the thread looks again for items that wait, if there was none."""
_PAGE: Final = 1000
"""Files of an item that are read from the catalogue at once."""


class TextExtractor(Protocol):
    """Extracts texts, one at a time, in another process."""

    def extract(self, file: OpenFile, kind: TextKind) -> Extracted | None:
        """Return the text of a file; None if `stop` was called meanwhile.

        Raises StorageError if no text can be extracted of any file.
        """
        ...

    def picture(self, file: OpenFile) -> bytes | None:
        """Return a picture of a PDF as WebP, empty if there can be none; else as `extract`."""
        ...

    def stop(self) -> None:
        """End the extraction that is under way, and begin no other."""
        ...


class FullTextExtraction(RepeatingThread):
    """Extracts and indexes the texts of the files of items that wait, the newest first."""

    def __init__(
        self, archive: Archive, extractor: TextExtractor, media_type_of: Callable[[File], str]
    ) -> None:
        """Work on one archive; `media_type_of` returns the bare media type of a file."""
        super().__init__(
            "ibi-full-text",
            self._work,
            pause=_BREATH,
            failure="the texts of files cannot be extracted",
        )
        self._archive = archive
        self._store = archive.catalogue.full_text
        self._pictures = archive.catalogue.pictures
        self._extractor = extractor
        self._media_type_of = media_type_of
        self.waiting = 0
        """Items that wait, as of the last look."""

    def stop(self) -> None:
        """Stop the thread and the process of the extraction."""
        self._extractor.stop()
        super().stop()

    def _work(self) -> bool:
        while self._store.fill():
            if self._stopping.is_set():
                return False
        self.waiting = self._store.count_waiting()
        waiting = self._store.next()
        if waiting is None:
            self._stopping.wait(_IDLE)
        elif self._has_extracted(waiting):
            self._store.index(waiting)
        return True

    def _has_extracted(self, waiting: Waiting) -> bool:
        """Extract the files of an item; return False if it was changed, or the work stopped."""
        for held in self._archive.catalogue.items.numbered([waiting.item]):
            if has_public_files(held.item):
                return self._extract_all(held, waiting)
        return True

    def _extract_all(self, held: StoredItem, waiting: Waiting) -> bool:
        tried = self._store.tried(held.id)
        length = 0
        for file, kind in islice(self._text_files(held), MOST_FILES):
            if kind == "pdf" and not self._is_drawn(held, file, waiting):
                return False
            if length >= MOST_TEXT:
                break
            if file.sha256 in tried:
                length += tried[file.sha256]
                continue
            extracted = self._extract(held, file, kind)
            if extracted is None or not self._store.keep(waiting, file.sha256, extracted):
                return False
            length += len(extracted.text)
        return True

    def _is_drawn(self, held: StoredItem, file: File, waiting: Waiting) -> bool:
        """Make a picture of a PDF, if there is none; return False as `_has_extracted` does."""
        tried = self._pictures.tried(held.id)
        if file.sha256 in tried or len(tried) >= MOST_PICTURES:
            return True
        with self._opened(held, file) as opened:
            image = b"" if opened is None else self._extractor.picture(opened)
        return image is not None and self._pictures.keep(waiting, file.sha256, image)

    def _text_files(self, held: StoredItem) -> Iterator[tuple[File, TextKind]]:
        """Yield files that may have a text, each content once: the target, then by their paths."""
        seen = set()
        for file in self._files(held):
            kind = text_kind(self._media_type_of(file))
            if kind is not None and file.sha256 not in seen:
                seen.add(file.sha256)
                yield file, kind

    def _files(self, held: StoredItem) -> Iterator[File]:
        items = self._archive.catalogue.items
        target = items.file(held.id, held.item.target) if held.item.target else None
        if target is not None:
            yield target
        after = ""
        while page := items.files(held.id, after, _PAGE):
            yield from page
            after = page[-1].path

    def _extract(self, held: StoredItem, file: File, kind: TextKind) -> Extracted | None:
        with self._opened(held, file) as opened:
            return self._extractor.extract(opened, kind) if opened else Extracted("missing")

    @contextmanager
    def _opened(self, held: StoredItem, file: File) -> Iterator[OpenFile | None]:
        """Open a file of an item; None if it is not in the store."""
        try:
            opened = self._archive.store.open(held.item.forms.label.spelling, file.path)
        except UnknownError:
            yield None
            return
        try:
            yield opened
        finally:
            opened.close()


class FullTextRemoval(RepeatingThread):
    """Removes the texts of files from an archive that does not search them.

    They are removed before the archive serves; if the disk is full, as soon as there is room.
    """

    def __init__(self, store: FullText) -> None:
        """Remove the texts of one archive."""
        self._store = store
        super().__init__(
            "ibi-full-text", self._remove, pause=0.0, failure="texts of files cannot be removed"
        )

    def _remove(self) -> bool:
        self._store.empty()
        return False

    def start(self) -> None:
        """Remove all texts; if that fails, start the thread, which tries again."""
        try:
            self._remove()
        except StorageError:
            super().start()

    def stop(self) -> None:
        """Stop the thread, if it was started."""
        if self._thread.ident is not None:
            super().stop()
