"""The routes of the pages and feeds by which readers find items."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive
from ibi.archive.ports.search import Facet, FacetCount
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.search.search import Search
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.discovery.collection_pages import CollectionPages
from ibi.archive.web.discovery.dump_files import DUMP, DumpEndpoint
from ibi.archive.web.discovery.entries import Entries
from ibi.archive.web.discovery.feed import PATH as FEED
from ibi.archive.web.discovery.feed import FeedEndpoint
from ibi.archive.web.discovery.overview import Overviews
from ibi.archive.web.discovery.search_page import SearchPage
from ibi.archive.web.discovery.views import BrowseView, HomeView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.archive.web.urls import ArchiveUrls

MOST_RECENT: Final = 5
"""Items on the front page."""
MOST_COLLECTIONS: Final = 4
"""Collections on the front page: the newest."""
MOST_VALUES: Final = 100
"""Values on one page of a facet."""
FIRST_VALUES: Final = 8
"""Values of each facet in the overview."""
BROWSED: Final[tuple[Facet, ...]] = ("type", "year", "language", "creator")
"""Facets that have a page of their values; collections have pages of their own."""
_IN_OVERVIEW: Final[tuple[Facet, ...]] = ("type", "year", "language")
"""Facets whose first values the overview shows; of others it shows the number."""
_LONGEST_VALUE: Final = 200
"""Characters of a value after which a page begins."""


class DiscoveryRoutes:
    """Handlers of the front page, the search, its feeds and the browse pages."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        archive: Archive,
        name: str,
        searches: SearchQueue,
        urls: ArchiveUrls,
        pages: Pages,
        dump: DumpEndpoint,
    ) -> None:
        """Show the items of an archive of that name."""
        self._dump = dump
        self._search = Search(archive)
        self._index = archive.catalogue.search
        self._entries = Entries(archive)
        self._overviews = Overviews(archive)
        self._service = urls.identity.service
        self._pages = pages
        self._collections = CollectionPages(archive, searches, pages, urls.base)
        self._search_page = SearchPage(archive, searches, urls, pages, self._collections)
        self._feed = FeedEndpoint(name, searches, urls)

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/", self.home),
            Route("/search", self._search_page.answer),
            Route("/browse", self.browse),
            Route("/collections", self._collections.all),
            Route("/collections/{ibi:path}", self._collections.one),
            Route(FEED, self._feed.answer),
            *self._dump.routes,
        ]

    async def home(self, request: Request) -> Response:
        """Answer with the front page."""
        overview = await self._overviews.get()
        has_dump = await self._dump.has_dump()
        wanted = preference(request)

        def read() -> HomeView:
            recent = self._search.newest(SearchQuery(), MOST_RECENT)
            return HomeView(
                overview=overview,
                recent=self._entries.of(recent, wanted),
                collections=self._collections.newest(self._search, MOST_COLLECTIONS, wanted),
                service=self._service,
                dump=DUMP if has_dump else "",
            )

        view = await asyncio.to_thread(read)
        return page_response(self._pages.home(view, wanted, here(request)))

    async def browse(self, request: Request) -> Response:
        """Answer with the values of a facet, or with the first values of all."""
        overview = await self._overviews.get()
        by = request.query_params.get("by", "")
        facet = next((each for each in BROWSED if each == by), None)
        after = request.query_params.get("after", "")[:_LONGEST_VALUE]
        if facet is None:
            values = await asyncio.to_thread(self._first_values)
            view = BrowseView(values=values, overview=overview)
        else:
            found = await asyncio.to_thread(self._values, facet, after, MOST_VALUES + 1)
            shown = found[:MOST_VALUES]
            view = BrowseView(
                facet=facet,
                values={facet: shown},
                overview=overview,
                after=after,
                next_after=shown[-1].value if len(found) > MOST_VALUES else "",
            )
        return page_response(self._pages.browse(view, preference(request), here(request)))

    def _first_values(self) -> dict[Facet, tuple[FacetCount, ...]]:
        return {facet: self._values(facet, "", FIRST_VALUES) for facet in _IN_OVERVIEW}

    def _values(self, facet: Facet, after: str, limit: int) -> tuple[FacetCount, ...]:
        return tuple(self._index.values(facet, after, limit, last_first=facet == "year"))
