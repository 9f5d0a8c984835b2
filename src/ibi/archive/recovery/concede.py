"""Concession of Originals after a restore.

A backup from before a transfer makes the restored archive claim an Original that another archive
has now. Before the restored archive serves, resolvers are asked for each Original: while it is
silent, they can only lead to another archive. Their answer is trusted as readers trust it.

A resolver that was not asked for an item since its transfer still has this archive on record, and
does not trust the claim of another while this one is silent. Such claims are named: only the
administrator knows whether the item was given away. The same holds for archives and resolvers that
do not answer.

Afterwards the archive is reconciled: what it still has as an Original, it did not give away.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import msgspec

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import HistoryEntry
from ibi.archive.ports.maintenance import CopyRecord
from ibi.archive.ports.restoration import UNRECONCILED
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


@dataclass(frozen=True, slots=True)
class Claims:
    """The addresses of archives that claim an Original, and of those that did not answer."""

    claiming: Sequence[str]
    silent: Sequence[str]


@dataclass(frozen=True, slots=True)
class Search:
    """The result of the search for a rival of one Original."""

    rival: Rival | None
    silent: Sequence[str] = ()
    """The addresses of archives that did not answer."""


def rivals(
    archive: Archive,
    find: Callable[[Label], str],
    claims: Callable[[Label], Claims],
    own: str,
) -> Iterator[Search]:
    """Yield the result of the search for a rival of each Original of data.

    An Original that is marked as not transferable is looked for as well: after the backup the mark
    may have been lifted, and the item transferred. So is one that was offered to another archive:
    the offer may have been undone.

    `find` raises StateError if no resolver leads anywhere; `claims` returns the archives that
    claim an Original, trusted or not.
    """
    after = 0
    while page := archive.catalogue.items.page(after, _PAGE, "data"):
        after = page[-1].id
        for held in page:
            if held.item.state is State.ORIGINAL:
                yield _search(held.item.forms.label, find, claims, own)


def _search(
    label: Label, find: Callable[[Label], str], claims: Callable[[Label], Claims], own: str
) -> Search:
    try:
        address = find(label)
    except StateError:
        found = claims(label)
        claiming = [each for each in found.claiming if each != own]
        silent = tuple(each for each in found.silent if _place(each) != _place(own))
        rival = Rival(label, claiming[0], is_trusted=False) if claiming else None
        return Search(rival, silent)
    return Search(Rival(label, address) if address != own else None)


def _place(address: str) -> str:
    """Return host and port: a resolver may not know whether an archive has HTTPS."""
    return address.partition("://")[2]


def concede(archive: Archive, rival: Rival) -> None:
    """Make an item and its metadata item Copies of those of the other archive."""
    with archive.changing():
        both = item_pair.pair_of(archive, rival.label)
        become = partial(_conceded, address=rival.address)
        # Before the change, so that a Copy never lacks its record.
        record = CopyRecord(label=rival.label.canonical, checked=archive.clock.wall())
        archive.catalogue.copies.keep(record)
        item_pair.make(archive, "hand over", both, become, "", who=_WHO, to=rival.address)


def reconcile(archive: Archive, conceded: int) -> None:
    """Record that the Originals of a restored archive are its own, which it may give away again."""
    detail = msgspec.json.encode({"conceded": conceded}).decode()
    now = archive.clock.wall()
    entry = HistoryEntry(0, uuid.uuid4().hex, now, _WHO, "reconcile", "", detail)
    archive.catalogue.history.note(entry)
    archive.catalogue.settings.drop(UNRECONCILED)


def _conceded(item: Item, address: str) -> Item:
    return replace(item, state=State.COPY, origin=address, transfer=None)
