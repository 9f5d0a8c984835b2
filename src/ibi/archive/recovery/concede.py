"""Originals that other archives have by now: a backup of before their transfer claims them again.

Asked before the restored archive serves, a resolver leads to whoever has the Original; while this
archive is silent that can only be another one. It is believed as it is by readers: whom it knew to
have the Original before, or to whom that one's transfer led it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.ports.maintenance import CopyRecord
from ibi.archive.transfers import item_pair
from ibi.errors import StateError
from ibi.identifier.label import Label
from ibi.model.item import Item, State

_PAGE: Final = 1000
_WHO: Final = "restore"


@dataclass(frozen=True, slots=True)
class Rival:
    """An archive that has the Original of an item which is the Original here."""

    label: Label
    address: str


def rivals(archive: Archive, find: Callable[[Label], str], own: str) -> Iterator[Rival | None]:
    """Ask for each Original that can be transferred who has it; None if nobody else is known.

    `find` raises StateError if no resolver leads anywhere.
    """
    after = 0
    while page := archive.catalogue.items.page(after, _PAGE, "data"):
        after = page[-1].id
        for held in page:
            if _is_claimed(held.item):
                label = held.item.forms.label
                address = _found(find, label)
                yield Rival(label, address) if address not in {"", own} else None


def _is_claimed(item: Item) -> bool:
    """Tell whether an item is the Original, and no transfer is under way that will settle it."""
    return item.state is State.ORIGINAL and item.transferable and item.transfer is None


def _found(find: Callable[[Label], str], label: Label) -> str:
    try:
        return find(label)
    except StateError:
        return ""


def concede(archive: Archive, rival: Rival) -> None:
    """Make an item, and what describes it, a Copy of what the other archive has."""
    with archive.changing():
        both = item_pair.pair_of(archive, rival.label)
        become = partial(_conceded, address=rival.address)
        # First, so that a Copy is never without it.
        record = CopyRecord(label=rival.label.canonical, checked=archive.clock.wall())
        archive.catalogue.copies.keep(record)
        item_pair.make(archive, "hand over", both, become, "", who=_WHO, to=rival.address)


def _conceded(item: Item, address: str) -> Item:
    return replace(item, state=State.COPY, origin=address, transfer=None)
