"""The values that the pages of the search show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Final, NamedTuple
from urllib.parse import urlencode

from ibi.archive.ports.search import FACETS, ORDERS, Facet, FacetCount, Order
from ibi.archive.rules.search.query import MOST_HITS, PAGE_SIZE, SearchQuery
from ibi.archive.rules.search.terms import mark_of
from ibi.archive.search.search import Alternative, SearchResults
from ibi.archive.web.discovery.entries import Entry
from ibi.archive.web.discovery.overview import Overview
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, Text

OPEN_FACETS: Final = frozenset({"type", "year", "language"})
"""Facets whose values are shown at once; the others are opened by the reader."""
_NEIGHBOURS: Final = 1
"""Pages before and after the current one that a list of pages names."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A value of a facet, and the search that a reader gets by choosing it."""

    value: str
    count: int
    query: SearchQuery
    """Without the value, if it is chosen already."""
    is_chosen: bool


class Filter(NamedTuple):
    """A filter in use, and the search without it."""

    facet: Facet
    value: str
    query: SearchQuery


def pages_around(page: int, last: int) -> tuple[int, ...]:
    """Return the numbers of pages to name: the ends, and those around a page; 0 is a gap."""
    near = range(max(1, page - _NEIGHBOURS), min(last, page + _NEIGHBOURS) + 1)
    named = sorted({1, last, *near})
    found: list[int] = []
    for number in named:
        if found and number - found[-1] == 2:  # noqa: PLR2004  # one page takes no more room
            found.append(number - 1)
        elif found and number - found[-1] > 1:
            found.append(0)
        found.append(number)
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """A page of the results of a search."""

    results: SearchResults
    entries: tuple[Entry, ...]
    alternatives: tuple[Alternative, ...] = ()
    """Other searches with hits, if this one has none."""
    elsewhere: str = ""
    """The address of a resolver, which searches other archives; empty if none is known."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The titles of collections, by their labels."""
    most_hits: int = MOST_HITS
    label: str = ""
    """The label in the text, if this archive has no item with it, and nothing else was found."""

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders to choose from: without words, all items are equally relevant."""
        return ORDERS if self.query.text else tuple(each for each in ORDERS if each != "relevance")

    @property
    def query(self) -> SearchQuery:
        """The search."""
        return self.results.query

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters in use."""
        return tuple(
            Filter(facet, value, self.query.widened(facet)) for facet, value in self.query.filters
        )

    @property
    def unfiltered(self) -> SearchQuery:
        """The search without filters."""
        return replace(self.query, filters=(), page=1)

    @property
    def only_words(self) -> SearchQuery:
        """The search for the words alone, as other sites understand it."""
        return SearchQuery(text=self.query.text)

    @property
    def for_label(self) -> str:
        """The query by which a resolver explains the label, in the language of its reader."""
        return urlencode({"q": self.label})

    @property
    def page(self) -> int:
        """The number of the page."""
        return self.query.page

    def value(self, facet: Facet) -> str:
        """Return the value by which the search is narrowed."""
        return dict(self.query.filters)[facet]

    @property
    def facets(self) -> tuple[tuple[Facet, bool, tuple[Narrowing, ...]], ...]:
        """The facets that hits have: its name, whether it is open, and its values."""
        chosen = dict(self.query.filters)
        found = []
        for facet in FACETS:
            values = tuple(self._narrowings(facet, chosen.get(facet, "")))
            if values:
                is_open = facet in OPEN_FACETS or facet in chosen
                found.append((facet, is_open, values))
        return tuple(found)

    def _narrowings(self, facet: Facet, chosen: str) -> Iterable[Narrowing]:
        for each in self.results.facets[facet]:
            if facet == "collection" and each.value not in self.names:
                continue  # it was deleted, or another archive has it
            # Case and accents do not matter in a filter.
            is_chosen = bool(chosen) and mark_of(facet, each.value) == mark_of(facet, chosen)
            narrowed = self.query.narrowed(facet, "" if is_chosen else each.value)
            yield Narrowing(each.value, each.count, narrowed, is_chosen)

    @property
    def last(self) -> int:
        """The number of the last hit on the page."""
        return min(self.results.count, self.results.first + PAGE_SIZE - 1)

    @property
    def pages(self) -> tuple[int, ...]:
        """The numbers of pages that the page links to; 0 is a gap."""
        return pages_around(self.query.page, self.results.pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionTile:
    """A collection in a list."""

    forms: Forms
    title: Text
    count: int
    """The number of its items."""
    description: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionsView:
    """A page of the list of collections."""

    tiles: tuple[CollectionTile, ...]
    count: int
    page: int = 1
    last_page: int = 1

    @property
    def pages(self) -> tuple[int, ...]:
        """The numbers of pages that the page links to; 0 is a gap."""
        return pages_around(self.page, self.last_page)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionView:
    """The page of a collection, with a page of its items."""

    collection: CollectionTile
    results: SearchResults
    entries: tuple[Entry, ...]
    people: tuple[Agent, ...] = ()
    parents: tuple[CollectionTile, ...] = ()
    """The collections to which it belongs itself."""

    @property
    def page(self) -> int:
        """The number of the page."""
        return self.results.query.page

    @property
    def pages(self) -> tuple[int, ...]:
        """The numbers of pages that the page links to; 0 is a gap."""
        return pages_around(self.page, self.results.pages)

    @property
    def last(self) -> int:
        """The number of the last item on the page."""
        return min(self.results.count, self.results.first + PAGE_SIZE - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """The front page of the archive."""

    overview: Overview | None = None
    """Numbers of items and files; None if they are not counted yet."""
    recent: tuple[Entry, ...] = ()
    """The newest items."""
    collections: tuple[CollectionTile, ...] = ()
    """The newest collections."""
    service: Forms | None = None
    """The archive service itself."""
    dump: str = ""
    """The path of all public metadata in one file; empty while it is being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseView:
    """The values of a facet, page by page; or the first values of all of them."""

    facet: Facet | None = None
    """None for the overview."""
    values: Mapping[Facet, tuple[FacetCount, ...]]
    overview: Overview | None = None
    after: str = ""
    """The value after which the page begins; empty for the first page."""
    next_after: str = ""
    """The value after which the next page begins; empty if there is none."""

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters to jump to, if the values are many names."""
        is_long = bool(self.after or self.next_after)
        return tuple(ascii_uppercase) if self.facet == "creator" and is_long else ()

    @property
    def next_page(self) -> str:
        """The path and query of the next page."""
        pairs = {"by": self.facet, "after": self.next_after}
        return f"/browse?{urlencode(pairs, errors='replace')}"

    @staticmethod
    def query(facet: Facet, value: str) -> SearchQuery:
        """Return the search for the items that have a value."""
        return SearchQuery(filters=((facet, value),))
