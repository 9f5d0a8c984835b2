"""Where an item is held, as far as this archive knows: in the order in which readers see it."""

from __future__ import annotations

from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.ports.maintenance import CopyRecord, HolderRecord
from ibi.model.item import Item, State

MOST_HOLDERS: Final = 20
"""Other archives that are named for an item: those that were seen last."""


class KnownHolders:
    """Reads which other archives hold an item, and how its Original is."""

    def __init__(self, archive: Archive) -> None:
        """Read the catalogue of an archive."""
        self._copies = archive.catalogue.copies
        self._holders = archive.catalogue.holders

    def copy(self, item: Item) -> CopyRecord:
        """Return the record of a Copy; one without times for all other items."""
        label = item.forms.label.canonical
        record = self._copies.get(label) if item.state is State.COPY else None
        return record or CopyRecord(label=label, checked=0)

    def of(self, item: Item, copy: CopyRecord) -> tuple[HolderRecord, ...]:
        """Return other archives that hold an item; that of a Copy's Original first."""
        found = self._holders.of(copy.label, MOST_HOLDERS + 1)
        if item.state is not State.COPY or not item.origin:
            return tuple(found[:MOST_HOLDERS])
        source = next((each for each in found if each.address == item.origin), None)
        seen = 0 if copy.missing else copy.checked
        origin = HolderRecord(
            label=copy.label, address=item.origin, name=source.name if source else "", seen=seen
        )
        others = [each for each in found if each.address != item.origin]
        return (origin, *others[: MOST_HOLDERS - 1])
