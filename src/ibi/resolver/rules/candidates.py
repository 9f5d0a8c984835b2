"""Candidates: the archives that probably have an item, and are asked first (docs/adr/0028).

These are its homes, its recorded owner, every archive whose digest has it, and every archive that
publishes no digest, of which nothing is known before it is asked. The digests of the others do not
have the item. A digest may be out of date or false, so the others are only held back.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from ibi.identifier.label import Label


class LocationIndex(Protocol):
    """Which archives hold which item, by the digests that archives publish."""

    def publishes(self, archive: str) -> bool:
        """Return whether the whole digest of an archive is known, and is not old."""
        ...

    async def holders(self, label: Label) -> frozenset[str] | None:
        """Return the archives whose digests have an item; None if that cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """The archives that probably have an item."""

    first: frozenset[str]
    """The archives that are asked first; not all of them need to be included."""
    listed: frozenset[str]
    """Those of them whose digest has the item."""


def candidates_for(
    homes: AbstractSet[str],
    owner: str | None,
    unpublished: AbstractSet[str],
    holders: AbstractSet[str],
) -> Candidates:
    """Return the candidates for an item; `unpublished` are the archives that publish no digest."""
    on_record = () if owner is None else (owner,)
    return Candidates(frozenset().union(homes, on_record, unpublished, holders), frozenset(holders))
