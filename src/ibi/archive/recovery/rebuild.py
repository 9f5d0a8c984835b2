"""Rebuilds the catalogue from the file store alone.

Items that are not in the store are dropped. For an item folder that cannot be read, the entry of
the old catalogue stays: it may be all that is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import ManifestItem, RebuildStore
from ibi.archive.ports.maintenance import TransferRecord
from ibi.archive.rules.manifest import read_kept
from ibi.archive.rules.reserved_labels import read_reserved
from ibi.archive.rules.transfer import exchange_of
from ibi.errors import LabelError, StorageError
from ibi.identifier.label import parse

T = TypeVar("T")

_AT_ONCE: Final = 200
"""Items of one step, since each step is a round trip to a database server."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """An item folder that was rebuilt, or the fault that prevented it."""

    place: str
    fault: str = ""


def rebuild(archive: Archive) -> Iterator[Rebuilt]:
    """Rebuild the catalogue; an item that cannot be read does not keep the others out.

    The new catalogue replaces the old one after everything was read: stopping before that changes
    nothing.
    """
    with archive.changing():
        archive.settle()
        renewal = archive.catalogue.rebuild()
        if renewal.is_whole:  # an earlier rebuild was interrupted in its last step
            renewal.finish()
            renewal = archive.catalogue.rebuild()
        rebuilt = faulty = 0
        exchanges: list[TransferRecord] = []
        for each in _gather(archive, renewal, exchanges):
            rebuilt += not each.fault
            faulty += bool(each.fault)
            yield each
        renewal.finish()
        for exchange in exchanges:
            if archive.catalogue.transfers.get(exchange.id) is None:
                archive.catalogue.transfers.keep(exchange)
        archive.note("rebuild", "rebuild", {"items": rebuilt, "faults": faulty})


def _gather(
    archive: Archive, renewal: RebuildStore, exchanges: list[TransferRecord]
) -> Iterator[Rebuilt]:
    """Read all items of the store; records of open transfers are added."""
    unread: list[str] = []
    for places in _parts(archive.store.manifests()):
        found: list[tuple[str, ManifestItem]] = []
        for place, text in places:
            try:
                found.append((place, _read(place, text)))
            except StorageError as fault:
                unread.append(place)
                yield Rebuilt(place, str(fault))
        exchanges += filter(None, (exchange_of(kept.item) for _, kept in found))
        yield from _put(renewal, found)
    for part in _parts(unread):
        # The fault was reported already; the old entry may be refused if others have its names.
        renewal.put([kept for place in part for kept in _known(archive, place)])
    yield from _reserve(archive, renewal)


def _parts(things: Iterable[T]) -> Iterator[list[T]]:
    left = iter(things)
    while part := list(islice(left, _AT_ONCE)):
        yield part


def _read(place: str, text: bytes) -> ManifestItem:
    kept = read_kept(text, place)
    if kept.item.forms.label.spelling != place:
        raise StorageError(place, f"its manifest is that of {kept.item.forms.label}")
    return kept


def _put(renewal: RebuildStore, found: list[tuple[str, ManifestItem]]) -> Iterator[Rebuilt]:
    faults = renewal.put([kept for _, kept in found])
    for (place, _), fault in zip(found, faults, strict=True):
        yield Rebuilt(place, str(StorageError(place, fault)) if fault else "")


def _known(archive: Archive, place: str) -> Iterator[ManifestItem]:
    """Yield the old catalogue's entry of an item folder, if it can be read."""
    try:
        held = archive.catalogue.items.find(parse(place, strict=True).canonical)
    except (LabelError, StorageError):
        return
    if held is not None and held.item.forms.label.spelling == place:
        yield ManifestItem(held.item, archive.files(held), held.id, held.version)


def _reserve(archive: Archive, renewal: RebuildStore) -> Iterator[Rebuilt]:
    for text in archive.store.reservations():
        try:
            renewal.reserve(read_reserved(text))
        except StorageError as fault:
            yield Rebuilt("reserved", str(fault))
