"""Makes what harvesters fetch whole, in the background: a dump of metadata, and sitemaps."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Final

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_list import described
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.public_dump import DumpFiles, DumpIndex, DumpWriter, SitemapPage
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.rules.discovery.public_dump import changed, dumped, is_due, is_public, is_withdrawn
from ibi.metadata.sitemap import MOST_ADDRESSES, Entry, sitemap
from ibi.model.clock import SECOND
from ibi.model.label_pair import Forms

_AT_ONCE: Final = 500
"""Items and lines of the history that are read from the catalogue at once."""
_RANGE: Final = MOST_ADDRESSES - 1
"""Numbers of items in one sitemap, beside the front page."""
_PAUSE: Final = 5.0
"""Seconds between two looks at whether something is to be made."""
_BREATH: Final = 0.01
"""Seconds after each part of a run, in which other work goes on."""


class Withdrawals:
    """Finds out whether a dump has items that were deleted or limited to readers since."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Read the history of an archive."""
        self._history = catalogue.history
        self._items = catalogue.items
        self._lock = Lock()
        self._run, self._seen, self._found = "", 0, False

    def none_since(self, index: DumpIndex) -> bool:
        """Return whether there are none since a run; each line of the history is read once."""
        with self._lock:
            if self._run != index.run:
                self._run, self._seen, self._found = index.run, index.history, False
            while not self._found and self._read(index):
                pass
            return not self._found

    def _read(self, index: DumpIndex) -> bool:
        """Look at some lines; return whether there may be more."""
        lines = self._history.entries(self._seen, _AT_ONCE)
        if not lines:
            return False
        names = {line.label for line in lines if line.label}
        held = self._items.find_all([*names])
        # A name without an item is that of a Copy that was dropped.
        self._found = any(name not in held for name in names) or any(
            is_withdrawn(each.item) for each in held.values() if each.id <= index.last_item
        )
        self._seen = lines[-1].number
        return True


class PublicDump(RepeatingThread):
    """Makes everything at the start and after changes, at once if something was withdrawn."""

    def __init__(
        self,
        archive: Archive,
        files: DumpFiles,
        home: str,
        persistent_base: Callable[[], str],
        page_of: Callable[[Forms], str],
    ) -> None:
        """Dump the items of an archive; `home` is the address of its front page.

        `persistent_base` returns where persistent URLs begin, `page_of` the URL of a page by the
        labels of the metadata.
        """
        super().__init__(
            "ibi-dump", self._step, pause=_PAUSE, failure="no dump of metadata can be written"
        )
        self._archive = archive
        self._files = files
        self._home = home
        self._base = persistent_base
        self._page_of = page_of
        self._withdrawals = Withdrawals(archive.catalogue)
        self._is_first = True

    def _step(self) -> bool:
        index = self._files.index()
        if index is None or self._is_due(index):
            self._make()
        self._is_first = False
        return True

    def _is_due(self, index: DumpIndex) -> bool:
        last = self._archive.catalogue.history.last()
        if self._is_first and last != index.history:
            return True
        now = self._archive.clock.wall()
        return is_due(index, last, self._base(), now) or not self._withdrawals.none_since(index)

    def _make(self) -> None:
        clock = self._archive.clock
        begun, started, base = clock.wall(), clock.uptime(), self._base()
        history = self._archive.catalogue.history.last()
        run = uuid.uuid4().hex
        with suppress(_StoppedError), self._files.write(run) as writer:
            making = _Making(self._archive, writer, base, self._home, self._page_of)
            making.run(self._rest)
            size, sha256 = writer.finish()
            index = DumpIndex(
                run=run,
                made=begun,
                seconds=(clock.uptime() - started) / SECOND,
                history=history,
                last_item=making.last_item,
                base=base,
                items=making.items,
                tombstones=making.tombstones,
                size=size,
                sha256=sha256,
                pages=tuple(making.pages),
            )
            writer.publish(index)

    def _rest(self) -> None:
        if self.is_stopping(_BREATH):
            raise _StoppedError


class _StoppedError(Exception):
    """The archive stops: the run is given up."""


class _Making:
    """One run over all items."""

    def __init__(
        self,
        archive: Archive,
        writer: DumpWriter,
        base: str,
        home: str,
        page_of: Callable[[Forms], str],
    ) -> None:
        self._archive = archive
        self._writer = writer
        self._base = base
        self._page_of = page_of
        self.items = self.tombstones = self.last_item = 0
        self.pages: list[SitemapPage] = []
        self._number = 1
        self._entries: list[Entry] = [(home, 0)]

    def run(self, rest: Callable[[], None]) -> None:
        while held := self._archive.catalogue.items.page(self.last_item, _AT_ONCE, "data"):
            lines = [line for look in described(self._archive, held) for line in self._add(look)]
            self._writer.lines(b"".join(lines))
            self.last_item = held[-1].id
            rest()
        self._end_page()

    def _add(self, look: ItemWithMetadata) -> list[bytes]:
        number = (look.held.id - 1) // _RANGE + 1
        if number != self._number:
            self._end_page()
            self._number = number
        item, metadata = look.item, look.metadata.item if look.metadata else None
        if not is_public(item):
            return []
        page = self._page_of(metadata.forms) if metadata and metadata.record else ""
        if is_withdrawn(item):
            self.tombstones += 1
        else:
            self.items += 1
            if page:
                self._entries.append((page, changed(item, metadata)))
        line = dumped(item, metadata, self._base, page)
        return [msgspec.json.encode(line) + b"\n"]

    def _end_page(self) -> None:
        if self._entries:
            updated = max(each for _, each in self._entries)
            page = SitemapPage(number=self._number, addresses=len(self._entries), updated=updated)
            self._writer.sitemap(self._number, sitemap(self._entries))
            self.pages.append(page)
            self._entries = []
