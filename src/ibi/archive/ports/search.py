"""The protocol of the search index, and its values: what is indexed, asked for and found.

The index knows nothing of words: it stores and compares terms, which `rules.search` makes of
texts. So every database finds the same items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

Order: TypeAlias = Literal["relevance", "newest", "oldest", "title"]
"""The order of hits. In the first, items with all words in their titles precede the others, and
items with some words only in their files follow them; equals are in the order of their arrival, the
newest first."""
ORDERS: Final[tuple[Order, ...]] = ("relevance", "newest", "oldest", "title")

Facet: TypeAlias = Literal["year", "type", "language", "creator", "collection"]
"""A property of items by which a search is narrowed, and by which readers browse."""
FACETS: Final[tuple[Facet, ...]] = ("type", "year", "language", "creator", "collection")

Facets: TypeAlias = Mapping[Facet, tuple[str, ...]]
"""The values of an item, by facet."""


@dataclass(frozen=True, slots=True)
class Match:
    """Terms that follow each other; of the last one only the beginning, if it is a prefix."""

    terms: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """Alternatives, one of which an item must have; or none of which, if they are excluded."""

    alternatives: tuple[Match, ...]
    is_excluded: bool = False
    is_filter: bool = False
    """Whether it narrows by a facet: then it says nothing of the title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """The terms of an item."""

    title: tuple[tuple[str, ...], ...]
    """The words of its titles; a phrase lies within one title."""
    title_stems: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    """The words of all other texts."""
    body_stems: tuple[str, ...]
    marks: tuple[str, ...]
    """A term for each of its facets."""
    facets: Facets
    heading: str
    """The text by which titles are sorted."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found."""

    item: int
    """The number of the item in the catalogue."""
    facets: Facets
    heading: str
    in_files: bool = False
    """Whether some of the words are in its files only."""


@dataclass(frozen=True, slots=True)
class FacetCount:
    """The number of items that have a value."""

    value: str
    count: int


class SearchIndex(Protocol):
    """Finds items by their terms; a change of an item is indexed in the same transaction.

    Deleted items are not in the index.
    """

    def find(
        self, clauses: Sequence[Clause], order: Order, limit: int, after: int = 0
    ) -> list[Hit]:
        """Return items that fulfil all clauses; the newest ones, if there are more than `limit`.

        In the order `oldest` these are the oldest ones. `after` is the number of the last item of
        the page before, in the orders `newest` and `oldest`. Raises StatementTimeoutError if the
        database takes too long.
        """
        ...

    def values(self, facet: Facet, after: str, limit: int, *, last_first: bool) -> list[FacetCount]:
        """Return the values of a facet after another, in their order or in the reverse one.

        An empty value is before the first, or after the last if the last come first.
        """
        ...

    def count_values(self, facet: Facet) -> int:
        """Return the number of different values of a facet."""
        ...

    def counts(self, facet: Facet, values: Sequence[str]) -> dict[str, int]:
        """Return the number of items that have each value; at most 100 values are asked for."""
        ...

    def is_whole(self) -> bool:
        """Return whether all items are in the index."""
        ...

    def fill(self) -> bool:
        """Index some items that are older than the index; return False if none is left."""
        ...
