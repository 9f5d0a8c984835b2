"""What is here of an item that comes from elsewhere, under all of its names."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.archive.archive import Archive, Described
from ibi.archive.copy_rules import check_same
from ibi.archive.incoming import Incoming
from ibi.errors import StateError
from ibi.model.item import File, Item
from ibi.ports import Catalogue, Held


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The item as this archive has it."""

    look: Described
    files: tuple[File, ...]

    @property
    def helds(self) -> list[Held]:
        """The item, and what describes it if anything does."""
        found = (self.look.held, self.look.metadata)
        return [held for held in found if held is not None]

    @property
    def known(self) -> Incoming:
        """The same, as if it came from here."""
        metadata = self.look.metadata
        return Incoming(self.look.item, self.files, metadata.item if metadata else None)


def counterpart_of(archive: Archive, incoming: Incoming) -> Counterpart | None:
    """Return what is here of an item; StateError if its names are not free for it."""
    held = _held(archive.catalogue, incoming.item)
    described = incoming.metadata
    metadata = None if described is None else _held(archive.catalogue, described)
    if held is None:
        if metadata is not None:
            msg = f"{metadata.item.forms.label} is here, and describes another item."
            raise StateError(msg)
        return None
    known = held.item.metadata
    if known != incoming.item.metadata or (known is not None and metadata is None):
        msg = f"{incoming.label} is described by another item here."
        raise StateError(msg)
    return Counterpart(Described(held, metadata), archive.files(held))


def _held(catalogue: Catalogue, item: Item) -> Held | None:
    here: Held | None = None
    for name in item.names:
        found = catalogue.find(name.canonical)
        if found is None:
            if catalogue.reservation(name.canonical) is not None:
                msg = f"{name} is reserved in this archive, for an item that comes later."
                raise StateError(msg)
        elif found.item.forms != item.forms or found.item.kind != item.kind:
            msg = f"{name} names another item here, {found.item.forms.label}."
            raise StateError(msg)
        else:
            check_same(found.item, item)
            here = found
    return here


def standing_of(counterpart: Counterpart | None) -> str:
    """Say how it is here, for people."""
    return "" if counterpart is None else f"it is here already, as {counterpart.look.item.state}"
