"""Copies: items of other archives, stored whole, verified, and kept current.

    find the Original  ->  read its manifests  ->  pull missing files  ->  one change

A Copy stays when its Original vanishes; its record then says since when the Original is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import structlog

from ibi.archive.archive import Archive
from ibi.archive.copies.fetch import SourcePool
from ibi.archive.copies.pull import ItemPuller, Manifests, Report
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.maintenance import CopyRecord, HolderRecord, PeerArchive
from ibi.archive.rules.copies import (
    as_copy,
    check_asked,
    check_copyable,
    check_droppable,
    check_offered,
)
from ibi.errors import (
    ArchiveError,
    DeletedError,
    IbiError,
    InProgressError,
    Sentence,
    StateError,
    StorageError,
    UnknownError,
    shown,
)
from ibi.identifier.label import Label
from ibi.model.change import ItemChange
from ibi.model.clock import SECOND
from ibi.model.item import Item, State

FindOriginal: TypeAlias = Callable[[Label], str]
"""Asks resolvers for the address of the archive with an Original; ArchiveError if none knows."""
ReportCopy: TypeAlias = Callable[[str, Label], str]
"""Reports to the archive at an address that this one has a Copy of its item; never raises. Returns
the name by which that archive calls itself, empty if it does not say."""

_LOG: Final = structlog.get_logger()
_WEEK: Final = 7 * 86_400 * SECOND
"""Nanoseconds after which a Copy is reported again: what changes is when it was last seen."""


@dataclass(frozen=True, slots=True)
class CopyStatus:
    """A Copy and its relation to the Original."""

    record: CopyRecord
    item: Item | None
    """The item; None if it is no Copy any more."""


class Copies:
    """The copies of one archive; threads may share it."""

    def __init__(
        self,
        archive: Archive,
        find_original: FindOriginal,
        address: str,
        report: ReportCopy = lambda _address, _label: "",
    ) -> None:
        """Copy into an archive; `address` is its own, which is no source."""
        self._archive = archive
        self._copies = archive.catalogue.copies
        self._items = archive.catalogue.items
        self._puller = ItemPuller(archive)
        self._find = find_original
        self._own = address
        self._report = report
        self.counted = (0, 0)
        """The last count of copies, and of those whose Original is missing."""

    def copy(
        self,
        sources: SourcePool,
        label: Label,
        who: str,
        address: str = "",
        report: Report = lambda _done, _total: None,
    ) -> bool:
        """Copy an item from the archive with its Original, or from a given one.

        Returns whether anything changed. If this raises, the local item is unchanged.
        """
        held = self._held(label)
        check_copyable(held.item if held else None)
        if address:
            source = self._at(sources, address)
            return self._bring(source, label, self._look(source, label), who, report)
        return self._bring(*self._original(sources, label, held), who, report)

    def refresh(
        self,
        sources: SourcePool,
        label: Label,
        who: str,
        report: Report = lambda _done, _total: None,
    ) -> bool:
        """Bring a Copy up to date and record any failure; return whether anything changed."""
        held = self._held(label)
        if held is None or held.item.state is not State.COPY:
            self._copies.drop(label.canonical)
            return False
        if held.item.transfer is not None:
            self._keep(label, "")
            return False
        is_found = False
        try:
            source, label, looked = self._original(sources, label, held)
            is_found = True
            return self._bring(source, label, looked, who, report)
        except StorageError:
            raise
        except InProgressError:  # another thread refreshes it now
            return False
        except IbiError as fault:
            self._keep(label, str(fault), is_missing=not is_found)
            return False

    def is_from_elsewhere(self, label: Label, address: str) -> bool:
        """Return whether the archive has a Copy that came from another address."""
        held = self._held(label)
        return held is not None and held.item.origin not in {"", address.rstrip("/")}

    def _held(self, label: Label) -> StoredItem | None:
        """Return the local item; for a metadata label, the item that it describes."""
        held = self._items.find(label.canonical)
        if held is not None and held.item.describes is not None:
            return self._items.find(held.item.describes.label.canonical) or held
        return held

    def _at(self, sources: SourcePool, address: str) -> PeerArchive:
        source = sources.at(address.rstrip("/"))
        if source.address == self._own:
            msg = Sentence("%(address)s is this archive itself: name another one.", address=address)
            raise StateError(msg)
        return source

    @staticmethod
    def _look(source: PeerArchive, label: Label) -> Manifests:
        try:
            return ItemPuller.look(source, label)
        except UnknownError:
            msg = Sentence(
                "The archive at %(address)s does not have %(label)s.",
                address=source.address,
                label=label,
            )
            raise StateError(msg) from None
        except DeletedError:
            msg = Sentence(
                "%(label)s was deleted at %(address)s.", label=label, address=source.address
            )
            raise StateError(msg) from None

    def _original(
        self, sources: SourcePool, label: Label, held: StoredItem | None
    ) -> tuple[PeerArchive, Label, Manifests]:
        """Find the Original: at the last known address, else by asking resolvers.

        A Copy that was made from a Copy keeps its source until a resolver knows the Original.
        """
        origin = held.item.origin if held is not None else ""
        copy: tuple[PeerArchive, Label, Manifests] | None = None
        failure: ArchiveError | None = None
        if origin:
            try:
                source = self._at(sources, origin)
                copy = source, label, self._look(source, label)
            except ArchiveError as fault:
                failure = fault
        if copy is not None and copy[2][0][0].state is State.ORIGINAL:
            return copy
        try:
            found = self._at(sources, self._find(label))
            looked = self._look(found, label)
            check_offered(looked[0][0], found.address)
        except ArchiveError as fault:
            if copy is not None:
                return copy
            raise (failure or fault) from None
        return found, label, looked

    def _bring(
        self, source: PeerArchive, label: Label, looked: Manifests, who: str, report: Report
    ) -> bool:
        self._before(source, label, looked)
        try:
            pulled = self._puller.pull(source, label, looked=looked, report=report)
        except UnknownError as gone:
            msg = Sentence(
                "%(name)s of %(label)s went from %(address)s meanwhile: try again.",
                name=shown(gone.name),
                label=label,
                address=source.address,
            )
            raise StateError(msg) from gone
        archive = self._archive
        with archive.changing(), self._puller.sealed(pulled):
            archive.settle()
            before = self._before(source, label, looked)
            items = [
                as_copy(item, source.address, known)
                for (item, _), known in zip(pulled.items, before, strict=True)
            ]
            changes = self._puller.changes(pulled, items)
            main = items[0].forms.label
            is_news = _is_news(changes, before)
            if is_news:
                detail: dict[str, object] = {"from": source.address}
                now = archive.clock.wall()
                archive.make(
                    archive.change(
                        "copy", who, main, changes, now, detail=detail, deposit=pulled.deposit
                    )
                )
        self._tell(source, items[0], is_news=is_news)
        self._keep(main, "")
        return is_news

    def _tell(self, source: PeerArchive, item: Item, *, is_news: bool) -> None:
        """Report a Copy to the archive that it came from, when it changes and once a week."""
        label = item.forms.label
        known = self._copies.get(label.canonical)
        now = self._archive.clock.wall()
        if is_news or known is None or known.checked // _WEEK != now // _WEEK:
            name = self._report(source.address, label)
            self._archive.catalogue.holders.keep(
                HolderRecord(label=label.canonical, address=source.address, name=name, seen=now)
            )

    def _before(self, source: PeerArchive, asked: Label, looked: Manifests) -> list[Item | None]:
        """Return the local items that the pulled ones may replace."""
        before = [self._archive.find(item.forms) for item, _ in looked]
        for item in before:
            check_copyable(item)
        known = self._held(asked)
        check_asked(known.item if known else None, before[0], asked, source.address)
        return before

    def _keep(self, label: Label, fault: str, *, is_missing: bool = False) -> None:
        """Record the result of the last comparison of a Copy with its Original."""
        known = self._copies.get(label.canonical)
        now = self._archive.clock.wall()
        since = known.missing if known is not None else 0
        if is_missing and not since:
            _LOG.warning("the original of a copy is missing", item=label.spelling, reason=fault)
        elif fault and (known is None or known.fault != fault):
            _LOG.warning("a copy could not be refreshed", item=label.spelling, reason=fault)
        missing = (since or now) if is_missing else 0
        self._copies.keep(
            CopyRecord(label=label.canonical, checked=now, missing=missing, fault=fault)
        )

    def drop(self, label: Label, who: str) -> None:
        """Drop a Copy and its metadata item."""
        archive = self._archive
        with archive.changing():
            archive.settle()
            look = archive.get_described(label)
            main = look.item.forms.label
            check_droppable(look.item, main)
            gone = [look.held]
            if look.metadata is not None and look.metadata != look.held:
                check_droppable(look.metadata.item, main)
                gone.append(look.metadata)
            changes = [
                ItemChange(item=held.item, version=held.version, dropped=True) for held in gone
            ]
            archive.make(archive.change("drop", who, main, changes, archive.clock.wall()))
            self._copies.drop(main.canonical)
            self.recount()

    def due(self, before: int, limit: int) -> list[str]:
        """Return copies that were not compared since a time, the longest ago first."""
        return [record.label for record in self._copies.due(before, limit)]

    def take_stock(self) -> int:
        """Create missing records of copies, and return the number of copies."""
        self._copies.match_items()
        return self.recount()

    def recount(self) -> int:
        """Count the copies, and those whose Original is missing."""
        self.counted = self._copies.count()
        return self.counted[0]

    def standing(self, after: str, limit: int, *, faulty: bool = False) -> list[CopyStatus]:
        """Return the status of copies, in the order of their labels."""
        records = self._copies.page(after, limit, faulty=faulty)
        return [CopyStatus(record, self._copy_of(record)) for record in records]

    def _copy_of(self, record: CopyRecord) -> Item | None:
        held = self._items.find(record.label)
        return held.item if held is not None and held.item.state is State.COPY else None


def _is_news(changes: Sequence[ItemChange], before: Sequence[Item | None]) -> bool:
    return any(
        change.put or change.removed or change.item != item
        for change, item in zip(changes, before, strict=True)
    )
