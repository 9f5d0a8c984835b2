"""Repairs damaged files from archives that have intact ones.

The peer is not trusted: a fetched file must have the checksums of the local catalogue. It replaces
the damaged file atomically, so that a reader gets either one or the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import msgspec

from ibi.archive.archive import Archive
from ibi.archive.copies.fetch import FileFetcher, SourcePool
from ibi.archive.ports.catalogue import HistoryEntry
from ibi.archive.rules.fixity import MANIFEST, is_ahead, manifest_fault
from ibi.archive.rules.manifest import manifest
from ibi.errors import ArchiveUnreachableError, IbiError, StorageError
from ibi.identifier.label import Label
from ibi.model.item import File, Item

AHEAD = "the catalogue is older than it: 'ibi archive rebuild' reads the tree again"


class Repairer:
    """Repairs the damage that one audit finds."""

    def __init__(
        self,
        archive: Archive,
        sources: SourcePool,
        holders: Callable[[Label], list[str]],
        given: str,
        who: str,
    ) -> None:
        """Repair from the given archive first, then from the others that `holders` names.

        `holders` returns the addresses of archives that are known to have an item.
        """
        self._archive = archive
        self._sources = sources
        self._find_holders = holders
        self._given = given
        self._who = who
        self._fetcher = FileFetcher(archive)
        self._silent: dict[str, str] = {}
        """Addresses that gave no answer, with the reason: they are not tried again."""
        self._holders: tuple[Label | None, list[str]] = (None, [])

    def mend_file(self, item: Item, file: File, arrived: Callable[[int], None]) -> str:
        """Replace a damaged file; return why that failed, empty if it succeeded."""
        reasons = []
        for address in self._addresses(item):
            try:
                self._fetch(address, item, file, arrived)
            except ArchiveUnreachableError as fault:
                self._silent[address] = str(fault)
                reasons.append(str(fault))
            except IbiError as fault:
                reasons.append(f"{address}: {fault}")
            else:
                return ""
        reasons += self._silent.values()
        return " ".join(dict.fromkeys(reasons)) or "No other archive is known to have it."

    def _addresses(self, item: Item) -> Iterator[str]:
        given = (self._given, item.origin)
        asked = {""} | self._silent.keys()
        for address in given:
            if address not in asked:
                asked.add(address)
                yield address
        label = item.forms.label
        if self._holders[0] != label:
            self._holders = (label, self._find_holders(label))
        yield from (address for address in self._holders[1] if address not in asked)

    def _fetch(self, address: str, item: Item, file: File, arrived: Callable[[int], None]) -> None:
        store, label = self._archive.store, item.forms.label
        deposit = uuid.uuid4().hex
        with store.staging.busy(deposit):
            try:
                self._fetcher.fetch(self._sources.at(address), label, file, deposit, arrived)
                with self._archive.changing():
                    self._archive.settle()
                    # A file that was replaced or removed meanwhile needs no repair.
                    held = self._archive.catalogue.items.find(label.canonical)
                    if (
                        held is not None
                        and self._archive.catalogue.items.file(held.id, file.path) == file
                    ):
                        store.mend(label.spelling, file, deposit)
            finally:
                store.discard(deposit)
        self._note(label, f"doc/{file.path}", address)

    def mend_manifest(self, label: Label) -> str:
        """Write a manifest again from the catalogue; return why not, empty if it succeeded."""
        archive = self._archive
        with archive.changing():
            archive.settle()
            held = archive.catalogue.items.find(label.canonical)
            if held is None:
                return ""
            files = archive.files(held)
            place = held.item.forms.label.spelling
            text = manifest_text(archive, place)
            if not manifest_fault(text, held, files):
                return ""
            if text is not None and is_ahead(text, held, files):
                return AHEAD
            anew = manifest(held.item, files, held.id, held.version)
            try:
                archive.store.mend_manifest(place, anew)
            except StorageError as fault:
                check_store(archive, place)
                return f"it cannot be written: {fault.reason}"
        self._note(label, MANIFEST, "the catalogue")
        return ""

    def _note(self, label: Label, path: str, source: str) -> None:
        detail = msgspec.json.encode({"path": path, "from": source}).decode()
        now = self._archive.clock.wall()
        entry = HistoryEntry(0, uuid.uuid4().hex, now, self._who, "repair", label.canonical, detail)
        self._archive.catalogue.history.note(entry)


def manifest_text(archive: Archive, place: str) -> bytes | None:
    """Return the stored manifest of an item folder; None if it is missing or unreadable."""
    try:
        return archive.store.manifest(place)
    except StorageError:
        check_store(archive, place)
        return None


def check_store(archive: Archive, place: str) -> None:
    """Raise StorageError if the whole store is unreadable, and not just one file."""
    next(iter(archive.store.keys(place)), None)
