"""An item and its metadata item, which a transfer always changes together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules import transfer
from ibi.identifier.label import Label
from ibi.model.change import Act, ItemChange
from ibi.model.item import Item, Transfer

WHO: Final = "archive"
"""The name in the history for acts that the archive does by itself."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An item and its metadata item, as far as this archive has them."""

    held: StoredItem | None
    metadata: StoredItem | None

    @property
    def item(self) -> Item | None:
        """The item, if this archive has it."""
        return None if self.held is None else self.held.item

    @property
    def helds(self) -> list[StoredItem]:
        """The stored ones of the two."""
        return [each for each in (self.held, self.metadata) if each is not None]

    def part_in(self, id_: str) -> Transfer | None:
        """Return the item's record of a transfer; None if it is in no or another transfer."""
        known = None if self.item is None else self.item.transfer
        return known if known is not None and known.id == id_ else None


def pair_of(archive: Archive, label: Label) -> Pair:
    """Return the item with a label and its metadata item."""
    held = archive.catalogue.items.find(label.canonical)
    described = None if held is None else held.item.metadata
    if described is None:
        return Pair(held, None)
    return Pair(held, archive.catalogue.items.find(described.label.canonical))


def digest_of(archive: Archive, pair: Pair) -> str:
    """Return the digest of the local pair, to compare it with the other side's."""
    return transfer.digest((held.item, archive.files(held)) for held in pair.helds)


def make(  # noqa: PLR0913  # an act, by whom, and of what
    archive: Archive,
    act: Act,
    pair: Pair,
    become: Callable[[Item], Item | None],
    id_: str,
    *,
    who: str = WHO,
    **detail: object,
) -> None:
    """Change both items in one change; an item that becomes None is removed."""
    changes = []
    for held in pair.helds:
        after = become(held.item)
        changes.append(
            ItemChange(
                item=after or held.item,
                files=() if after is None else archive.files(held),
                version=held.version,
                dropped=after is None,
            )
        )
    label = pair.helds[0].item.forms.label
    facts = {"transfer": id_, **detail}
    archive.make(archive.change(act, who, label, changes, archive.clock.wall(), detail=facts))
