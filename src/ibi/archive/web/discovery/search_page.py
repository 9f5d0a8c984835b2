"""The search page of an archive, at stable URLs; a label that is searched for leads to its item."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.rules.search.snippet import Highlighter
from ibi.archive.search.search import Search, SearchResults
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.discovery.collection_pages import CollectionPages
from ibi.archive.web.discovery.entries import Entries
from ibi.archive.web.discovery.views import SearchView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import LabelError, ReadingError
from ibi.foundation.pages.links import Links
from ibi.identifier.instant import instant_of
from ibi.identifier.label import Label, parse
from ibi.identifier.labels_in_text import labels_in
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl

_MOST_LABELS: Final = 3
"""Labels of one text that are looked up."""


class SearchPage:
    """Answers searches of readers."""

    def __init__(
        self,
        archive: Archive,
        searches: SearchQueue,
        urls: ArchiveUrls,
        pages: Pages,
        collections: CollectionPages,
    ) -> None:
        """Search an archive; `collections` knows their names."""
        self._collections = collections
        self._items = archive.catalogue.items
        self._clock = archive.clock
        self._entries = Entries(archive)
        self._searches = searches
        self._urls = urls
        self._links = Links(urls.base)
        self._pages = pages

    async def answer(self, request: Request) -> Response:
        """Answer with a page of results, or redirect to the item whose label was searched for."""
        query = SearchQuery.parse(request.query_params)
        wanted = preference(request)

        def work(search: Search) -> SearchView | str:
            return self._item_address(query, here(request)) or self._view(search, query, wanted)

        found = await self._searches.run(work)
        if isinstance(found, str):
            headers = {"Location": found, "Cache-Control": "no-store"}
            return Response(status_code=HTTPStatus.FOUND, headers=headers)
        return page_response(self._pages.search(found, wanted, here(request)))

    def _labels_in(self, text: str) -> list[Label]:
        """Return the first labels in a text, such as a citation."""
        now = instant_of(self._clock.wall())
        return list(labels_in(text, now, _MOST_LABELS))

    def _item_address(self, query: SearchQuery, place: str) -> str:
        """Return the address of an item's page if the text is its label, or cites it; or empty."""
        try:
            labels = [PersistentUrl.parse(query.text).label]
        except ReadingError:
            labels = self._labels_in(query.text)
        for label in labels:
            held = self._items.find(label.canonical)
            if held is not None:
                return self._links.item(held.item.forms, place)
        return ""

    def _view(self, search: Search, query: SearchQuery, wanted: LanguagePreference) -> SearchView:
        results = search.find(query)
        labels = [] if results.count else self._labels_in(query.text)
        elsewhere = self._urls.persistent_base
        return SearchView(
            results=results,
            entries=self._entries.of(
                results.items, wanted, Highlighter(query.clauses), results.passages
            ),
            alternatives=(() if results.count or labels else tuple(search.alternatives(query))),
            elsewhere="" if elsewhere == self._urls.base else elsewhere,
            names=self._collections.names(_collections_in(results), wanted),
            label=labels[0].spelling if labels else "",
        )


def _collections_in(results: SearchResults) -> list[str]:
    """Return the labels of collections that a page of results names."""
    chosen = [value for facet, value in results.query.filters if facet == "collection"]
    labels = [each.value for each in results.facets["collection"]]
    return [*labels, *(value for value in chosen if _is_label(value))]


def _is_label(text: str) -> bool:
    try:
        parse(text, strict=True)
    except LabelError:
        return False
    return True
