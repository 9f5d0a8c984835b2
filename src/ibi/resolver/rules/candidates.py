"""Who is asked first: those who are likely to have an item (docs/adr/0028).

These are its homes, its owner on record, every archive whose digest has it, and every archive that
publishes no digest, of which nothing is known before it is asked. The others have said beforehand
that they do not have it. They may have said so some time ago, or lie: so they are only held back.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from ibi.identifier.label import Label


class LocationIndex(Protocol):
    """What is known of who holds which item, by the digests that archives publish."""

    def publishes(self, archive: str) -> bool:
        """Tell whether the whole digest of an archive is known, and is not old."""
        ...

    async def holders(self, label: Label) -> frozenset[str] | None:
        """Return the archives whose digests have an item; None if that cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Who is likely to have an item."""

    first: frozenset[str]
    """Who is asked first; not all of them need to be included."""
    listed: frozenset[str]
    """Those of them that have said beforehand that they have it."""


def candidates_for(
    homes: AbstractSet[str],
    owner: str | None,
    unpublished: AbstractSet[str],
    holders: AbstractSet[str],
) -> Candidates:
    """Return who is likely to have an item; `unpublished` are those that publish no digest."""
    on_record = () if owner is None else (owner,)
    return Candidates(frozenset().union(homes, on_record, unpublished, holders), frozenset(holders))
