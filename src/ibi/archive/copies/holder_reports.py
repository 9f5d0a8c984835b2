"""Reports of other archives that they hold an item of this one, each verified before it is kept.

Any program may send a report, so it is only a reason to look, never a fact:

    report  ->  a linked resolver includes that archive  ->  its manifest is like ours  ->  kept

So a stranger cannot place a link on a page, nor have requests sent anywhere but to archives that
the resolvers know, to each once an hour for an item.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from queue import Empty, Full, Queue
from typing import Final, Protocol
from urllib.parse import urlsplit

from ibi.archive.archive import Archive
from ibi.archive.ports.maintenance import HolderRecord, PeerArchive
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.rules.copies import is_like
from ibi.archive.rules.foreign_manifest import read_foreign
from ibi.archive.rules.search.full_text import has_public_files
from ibi.errors import ArchiveError
from ibi.identifier.label import Label
from ibi.model.clock import SECOND

MOST_WAITING: Final = 1000
"""Reports that wait; further ones are dropped, and come again a week later."""
LONGEST_ADDRESS: Final = 300
"""Characters of the longest address of an archive that is looked at."""
PAUSE: Final = 3600 * SECOND
"""Nanoseconds in which the same archive is not asked again for the same item."""
_MOST_ASKED: Final = 10_000
"""Questions that are remembered, to be not repeated."""
_IDLE: Final = 1.0
"""Seconds after which the thread looks whether it is to stop."""
_PORTS: Final = {"http": ":80", "https": ":443"}


class ArchiveDirectory(Protocol):
    """The archives that the linked resolvers include."""

    def includes(self, place: str) -> bool:
        """Return whether a resolver includes an archive at this host and port."""
        ...

    def name(self, address: str) -> str:
        """Return the name by which an archive calls itself; empty if it does not say."""
        ...


class HolderReports(RepeatingThread):
    """Verifies reports one after the other, in a thread of its own."""

    def __init__(
        self,
        archive: Archive,
        directory: ArchiveDirectory,
        connect: Callable[[str], PeerArchive],
        own: str,
    ) -> None:
        """Keep the holders of items of an archive, whose own address is `own`."""
        super().__init__(
            "ibi-holders", self._work, pause=0.0, failure="reports of copies cannot be kept"
        )
        self._archive = archive
        self._items = archive.catalogue.items
        self._holders = archive.catalogue.holders
        self._directory = directory
        self._connect = connect
        self._own = place_of(own)
        self._waiting: Queue[tuple[Label, str]] = Queue(MOST_WAITING)
        self._asked: OrderedDict[tuple[str, str], int] = OrderedDict()

    def receive(self, label: Label, address: str) -> None:
        """Have a report verified; drop it if too many wait."""
        try:
            self._waiting.put_nowait((label, address.rstrip("/")))
        except Full:
            return

    def _work(self) -> bool:
        try:
            label, address = self._waiting.get(timeout=_IDLE)
        except Empty:
            return True
        place = place_of(address)
        if place and place != self._own and self._directory.includes(place):
            self._verify(label, address)
        return True

    def _verify(self, label: Label, address: str) -> None:
        held = self._items.find(label.canonical)
        if held is None or held.item.kind != "data" or not has_public_files(held.item):
            return
        main = held.item.forms.label
        if self._is_asked((main.canonical, address)):
            return
        try:
            with closing(self._connect(address)) as peer:
                theirs = read_foreign(peer.manifest(main.spelling), main, address)
        except ArchiveError:
            return
        if is_like(theirs, (held.item, tuple(self._archive.files(held)))):
            name, now = self._directory.name(address), self._archive.clock.wall()
            self._holders.keep(
                HolderRecord(label=main.canonical, address=address, name=name, seen=now)
            )

    def _is_asked(self, question: tuple[str, str]) -> bool:
        """Return whether a question was asked within the last hour; it is from now on."""
        now = self._archive.clock.uptime()
        asked = self._asked.get(question)
        if asked is not None and now - asked < PAUSE:
            return True
        self._asked[question] = now
        self._asked.move_to_end(question)
        if len(self._asked) > _MOST_ASKED:
            self._asked.popitem(last=False)
        return False


def place_of(address: str) -> str:
    """Return host and port of an address, as resolvers write them; empty if it is none."""
    try:
        parts = urlsplit(address)
        is_plain = not (parts.path or parts.query or parts.fragment or parts.username)
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not is_plain or len(address) > LONGEST_ADDRESS:
        return ""
    return parts.netloc.lower().removesuffix(_PORTS[parts.scheme])
