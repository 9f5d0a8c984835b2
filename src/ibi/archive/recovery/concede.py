"""Concession of Originals after a restore.

A backup from before a transfer makes the restored archive claim an Original that another archive
has now. Before the restored archive serves, resolvers are asked for each Original: while it is
silent, they can only lead to another archive. Their answer is trusted as readers trust it.

A resolver that was not asked for an item since its transfer still has this archive on record, and
does not trust the claim of another while this one is silent. Such claims are named: only the
administrator knows whether the item was given away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    """Another archive with the Original of an item that is an Original here too."""

    label: Label
    address: str
    is_trusted: bool = True
    """Whether a resolver leads readers to it."""


def rivals(
    archive: Archive,
    find: Callable[[Label], str],
    claimants: Callable[[Label], Sequence[str]],
    own: str,
) -> Iterator[Rival | None]:
    """Yield the rival of each Original of data; None for one without a rival.

    An Original that is marked as not transferable is looked for as well: after the backup the mark
    may have been lifted, and the item transferred.

    `find` raises StateError if no resolver leads anywhere; `claimants` returns the archives that
    claim an Original, trusted or not.
    """
    after = 0
    while page := archive.catalogue.items.page(after, _PAGE, "data"):
        after = page[-1].id
        for held in page:
            if _is_claimed(held.item):
                yield _rival(held.item.forms.label, find, claimants, own)


def _is_claimed(item: Item) -> bool:
    """Return whether an item is the Original and no open transfer will decide about it."""
    return item.state is State.ORIGINAL and item.transfer is None


def _rival(
    label: Label,
    find: Callable[[Label], str],
    claimants: Callable[[Label], Sequence[str]],
    own: str,
) -> Rival | None:
    try:
        address = find(label)
    except StateError:
        claimed = [each for each in claimants(label) if each != own]
        return Rival(label, claimed[0], is_trusted=False) if claimed else None
    return Rival(label, address) if address != own else None


def concede(archive: Archive, rival: Rival) -> None:
    """Make an item and its metadata item Copies of those of the other archive."""
    with archive.changing():
        both = item_pair.pair_of(archive, rival.label)
        become = partial(_conceded, address=rival.address)
        # Before the change, so that a Copy never lacks its record.
        record = CopyRecord(label=rival.label.canonical, checked=archive.clock.wall())
        archive.catalogue.copies.keep(record)
        item_pair.make(archive, "hand over", both, become, "", who=_WHO, to=rival.address)


def _conceded(item: Item, address: str) -> Item:
    return replace(item, state=State.COPY, origin=address, transfer=None)
