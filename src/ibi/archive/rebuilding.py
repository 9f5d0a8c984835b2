"""The catalogue is lost: everything that lies in the tree is brought to a new one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibi.archive.archive import Archive
from ibi.archive.manifest import read_manifest
from ibi.archive.reserved import read_reserved
from ibi.errors import StateError, StorageError
from ibi.identifier.label import Label
from ibi.ports import Catalogue, StoredChange


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A place in the tree whose item is in the catalogue again, or why it is not."""

    place: str
    fault: str = ""


def rebuild(archive: Archive) -> Iterator[Rebuilt]:
    """Write the catalogue anew; one item that cannot be read does not keep the others out."""
    with archive.changing():
        archive.settle()
        for place, text in archive.store.manifests():
            try:
                _restore(archive, place, text)
            except (StateError, StorageError) as fault:
                yield Rebuilt(place, str(fault))
            else:
                yield Rebuilt(place)
        for text in archive.store.reservations():
            for reservation in read_reserved(text):
                if not any(_is_known(archive.catalogue, label) for label in reservation.forms):
                    archive.catalogue.reserve([reservation])


def _restore(archive: Archive, place: str, text: bytes) -> None:
    item, files = read_manifest(text, place)
    if item.forms.label.spelling != place:
        raise StorageError(place, f"its manifest is that of {item.forms.label}")
    label = item.forms.label.canonical
    change = f"rebuild-{label}-{item.updated}"
    now = archive.clock.wall()
    stored = StoredChange(change, now, "rebuild", "rebuild", label, "", "", (place,))
    archive.catalogue.restore(stored, [(item, files)])


def _is_known(catalogue: Catalogue, label: Label) -> bool:
    name = label.canonical
    return catalogue.find(name) is not None or catalogue.reservation(name) is not None
