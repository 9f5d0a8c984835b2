"""The search of an archive: hits with their descriptions, counted by facet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_list import described
from ibi.archive.ports.search import FACETS, Facet, FacetCount, Hit
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.rules.search.passage import Passage, PassageFinder
from ibi.archive.rules.search.query import MOST_HITS, PAGE_SIZE, SearchQuery
from ibi.archive.rules.search.terms import place_of

_MOST_VALUES: Final = 12
"""Values of a facet beside the results: those with the most items."""
_MOST_ALTERNATIVES: Final = 4
"""Other searches that are tried if there is no hit."""
_MOST_COMPARED: Final = 200
"""Hits among which the nearest titles are looked for."""
_MOST_TYPES: Final = 100
_BREATH: Final = 0.02
"""Seconds between two steps of the backfill, in which other work goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """One page of the results of a search."""

    query: SearchQuery
    """The search, with the number of a page that there is."""
    items: tuple[ItemWithMetadata, ...]
    count: int
    """The number of hits; there are more if it is cut."""
    is_cut: bool
    passages: dict[int, Passage] = field(default_factory=dict)
    """What the files of items have of the words, by the numbers of items that were found by it."""
    facets: dict[Facet, tuple[FacetCount, ...]]
    is_whole: bool
    """Whether all items of the archive were searched."""

    @property
    def pages(self) -> int:
        """The number of pages."""
        return max(1, -(-self.count // PAGE_SIZE))

    @property
    def first(self) -> int:
        """The number of the first hit on the page, from 1."""
        return (self.query.page - 1) * PAGE_SIZE + 1


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another search, which has hits."""

    query: SearchQuery
    count: int
    is_cut: bool
    widened: Facet | None = None
    """The facet by which it does not narrow; None if it has fewer words."""


class Search:
    """Searches one archive."""

    def __init__(self, archive: Archive) -> None:
        """Search the catalogue of an archive."""
        self._archive = archive
        self._index = archive.catalogue.search
        self._items = archive.catalogue.items

    def find(self, query: SearchQuery) -> SearchResults:
        """Return a page of results; the last one, if there are fewer pages."""
        hits = self._index.find(query.clauses, query.order, MOST_HITS + 1)
        found = _titled_first(query, hits[:MOST_HITS])
        last = max(1, -(-len(found) // PAGE_SIZE))
        query = query.at(min(query.page, last))
        start = (query.page - 1) * PAGE_SIZE
        shown = found[start : start + PAGE_SIZE]
        return SearchResults(
            query=query,
            items=self._described(shown),
            passages=self._passages(query, shown),
            count=len(found),
            is_cut=len(hits) > MOST_HITS,
            facets=counted(found),
            is_whole=self._index.is_whole(),
        )

    def closest(self, query: SearchQuery, limit: int) -> tuple[ItemWithMetadata, ...]:
        """Return the results with the titles nearest to the words, among a bounded number.

        If no item has all words: those with words that begin so, then those with all words but one.
        """
        hits = self._index.find(query.clauses, query.order, _MOST_COMPARED)
        for other in () if hits else (query.with_text(query.beginnings), *_without_one(query)):
            hits += self._index.find(other.clauses, query.order, _MOST_COMPARED)
        distinct = list({hit.item: hit for hit in hits}.values())
        return self._described(_titled_first(query, distinct)[:limit])

    def labelled(self, names: Sequence[str]) -> dict[str, ItemWithMetadata]:
        """Return the items that have these labels, by label; at most 1000 are asked for."""
        found = self._items.find_all(names)
        looks = described(self._archive, list(found.values()))
        return dict(zip(found, looks, strict=True))

    def types(self) -> list[str]:
        """Return the types of items, the first of very many."""
        return [
            each.value for each in self._index.values("type", "", _MOST_TYPES, last_first=False)
        ]

    def newest(self, query: SearchQuery, limit: int) -> tuple[ItemWithMetadata, ...]:
        """Return the newest results of a search."""
        return self._described(self._index.find(query.clauses, "newest", limit))

    def page(self, query: SearchQuery, limit: int, after: int) -> tuple[ItemWithMetadata, ...]:
        """Return results of a search in its order, after the item of a number."""
        return self._described(self._index.find(query.clauses, query.order, limit, after))

    def alternatives(self, query: SearchQuery) -> list[Alternative]:
        """Return searches with fewer filters or words, or for their beginnings, that have hits."""
        unfiltered = replace(query, filters=(), page=1)
        return (
            self._with_hits(_wider(query))
            or self._with_hits([(unfiltered, None)])
            or self._with_hits([(unfiltered.with_text(unfiltered.beginnings), None)])
            or self._with_hits((shorter, None) for shorter in _shorter(unfiltered))
        )

    def _with_hits(self, searches: Iterable[tuple[SearchQuery, Facet | None]]) -> list[Alternative]:
        found = []
        for query, facet in searches:
            hits = self._index.find(query.clauses, "newest", MOST_HITS + 1)
            if hits:
                count = min(len(hits), MOST_HITS)
                found.append(Alternative(query, count, len(hits) > MOST_HITS, facet))
        return found

    def _passages(self, query: SearchQuery, hits: Sequence[Hit]) -> dict[int, Passage]:
        texts = self._archive.catalogue.full_text.texts([hit.item for hit in hits if hit.in_files])
        finder = PassageFinder(query.text_clauses)
        found = {item: finder.find(files) for item, files in texts.items()}
        return {item: passage for item, passage in found.items() if passage is not None}

    def _described(self, hits: Sequence[Hit]) -> tuple[ItemWithMetadata, ...]:
        held = self._items.numbered([hit.item for hit in hits])
        return tuple(described(self._archive, held))


def _titled_first(query: SearchQuery, hits: list[Hit]) -> list[Hit]:
    """Put the hits first whose title is what a reader wrote, then those whose title contains it.

    The database does not rank: this only sorts what it has found, by the words of the titles.
    """
    words = place_of(query.text)
    if query.order != "relevance" or " " not in words:
        return hits
    return sorted(
        hits, key=lambda hit: (hit.heading != words, f" {words} " not in f" {hit.heading} ")
    )


def _without_one(query: SearchQuery) -> Iterator[SearchQuery]:
    words = query.text.split()
    if len(words) > 1:
        for left_out in range(min(len(words), _MOST_ALTERNATIVES)):
            kept = (word for at, word in enumerate(words) if at != len(words) - 1 - left_out)
            yield query.with_text(" ".join(kept))


def _wider(query: SearchQuery) -> Iterator[tuple[SearchQuery, Facet | None]]:
    filters = query.filters[:_MOST_ALTERNATIVES]
    yield from ((query.widened(facet), facet) for facet, _ in filters)
    yield from ((shorter, None) for shorter in _shorter(query))


def _shorter(query: SearchQuery) -> Iterator[SearchQuery]:
    if len(query.parts) > 1:
        yield from (query.with_text(word) for word in query.parts[:_MOST_ALTERNATIVES])


def counted(hits: Sequence[Hit]) -> dict[Facet, tuple[FacetCount, ...]]:
    """Return the values of each facet that most hits have; years in their order."""
    counts = {}
    for facet in FACETS:
        # One call for all hits: it takes a quarter of the time of one for each.
        counter = Counter(chain.from_iterable(hit.facets.get(facet, ()) for hit in hits))
        most = sorted(counter.items(), key=lambda each: (-each[1], each[0]))[:_MOST_VALUES]
        ordered = sorted(most, reverse=True) if facet == "year" else most
        counts[facet] = tuple(FacetCount(value, count) for value, count in ordered)
    return counts


class SearchBackfill(RepeatingThread):
    """Adds the items from before the index to it, while the archive serves."""

    def __init__(self, archive: Archive) -> None:
        """Fill the index of an archive."""
        super().__init__(
            "ibi-search",
            archive.catalogue.search.fill,
            pause=_BREATH,
            failure="the search index cannot be filled",
        )
