"""The quota of an owner: how many bytes the files of its unfinished drafts may have together.

The bytes are counted as they come, in the one process that receives files. After a start they are
counted on the disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from ibi.archive.ports.file_store import Sink, StagingArea
from ibi.errors import Sentence, TooLargeError
from ibi.model.item import File


class Quota:
    """Counts the bytes of drafts by their owners, up to a limit."""

    def __init__(
        self, staging: StagingArea, drafts_of: Callable[[str], list[str]], most: int
    ) -> None:
        """Allow so many bytes for each owner; 0 for any number.

        `drafts_of` returns the ids of an owner's unfinished drafts.
        """
        self._staging = staging
        self._drafts_of = drafts_of
        self._most = most
        self._lock = Lock()
        self._used: Counter[str] = Counter()
        self._known: set[str] = set()

    def used(self, owner: str) -> int:
        """Return how many bytes the files of an owner's drafts have."""
        with self._lock:
            if owner not in self._known:
                self._used[owner] = sum(map(self._size, self._drafts_of(owner)))
                self._known.add(owner)
            return self._used[owner]

    def _size(self, draft: str) -> int:
        return sum(staged.size for staged in self._staging.staged(draft))

    def forget(self, owner: str) -> None:
        """Count the files of an owner again before the next use."""
        with self._lock:
            self._known.discard(owner)

    def add(self, owner: str, count: int) -> None:
        """Count more bytes; raise TooLargeError if they are too many."""
        self.used(owner)
        with self._lock:
            if self._most and count > 0 and self._used[owner] + count > self._most:
                msg = Sentence(
                    "The files of all your drafts may have %(most)s bytes together. Publish or "
                    "discard a draft, or remove files.",
                    most=self._most,
                )
                raise TooLargeError(msg)
            self._used[owner] += count

    @contextmanager
    def counting(
        self, owner: str, draft: str, path: str
    ) -> Iterator[Callable[[Sink], CountingSink]]:
        """Return what counts the bytes of a file that may replace what there is of it now."""
        self.used(owner)
        before = self._there(draft, path)
        sinks: list[CountingSink] = []

        def counted(sink: Sink) -> CountingSink:
            sinks.append(CountingSink(sink, lambda count: self.add(owner, count)))
            return sinks[-1]

        try:
            yield counted
        finally:
            if sinks:
                # A replaced file is still there if its replacement broke off.
                received = sum(each.count for each in sinks)
                self.add(owner, min(0, self._there(draft, path) - before - received))

    @contextmanager
    def freeing(self, owner: str, draft: str, path: str) -> Iterator[None]:
        """Count a file no longer that is removed meanwhile."""
        self.used(owner)
        before = self._there(draft, path)
        yield
        self.add(owner, -before)

    def _there(self, draft: str, path: str) -> int:
        staged = self._staging.staged_file(draft, path)
        return 0 if staged is None else staged.size


class CountingSink:
    """A sink whose bytes are counted before they are written."""

    def __init__(self, sink: Sink, count: Callable[[int], None]) -> None:
        self._sink = sink
        self._count = count
        self.count = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._count(len(data))
        self.count += len(data)
        self._sink.write(data)

    def suspend(self) -> None:
        """Keep the received bytes, whose rest will follow."""
        self._sink.suspend()

    def finish(self, media_type: str = "", checksum: tuple[str, str] | None = None) -> File:
        """Complete the file and make it durable."""
        return self._sink.finish(media_type, checksum)
