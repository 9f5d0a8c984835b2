"""The pages of collections: the list of all, and each with its items."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.collections import Collections
from ibi.archive.rules.collections.membership import is_collection
from ibi.archive.rules.item_languages import record_for
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.search.search import Search
from ibi.archive.web.api.collections import ALL
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.discovery.entries import Entries
from ibi.archive.web.discovery.views import CollectionsView, CollectionTile, CollectionView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.archive.web.urls import divided
from ibi.foundation.pages.links import Links
from ibi.identifier.label import parse
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Text

PATH = b"/collections/"


class CollectionPages:
    """Shows the collections of an archive."""

    def __init__(self, archive: Archive, searches: SearchQueue, pages: Pages, base: str) -> None:
        """Show the collections of an archive whose public address is `base`."""
        self._archive = archive
        self._collections = Collections(archive)
        self._index = archive.catalogue.search
        self._entries = Entries(archive)
        self._searches = searches
        self._pages = pages
        self._links = Links(base)

    async def all(self, request: Request) -> Response:
        """Answer with the list of collections."""
        wanted = preference(request)
        page = SearchQuery.parse({"page": request.query_params.get("page", "")}).page

        def work(search: Search) -> CollectionsView:
            results = search.find(ALL.at(page))
            return CollectionsView(
                tiles=self.tiles(results.items, wanted),
                count=results.count,
                page=results.query.page,
                last_page=results.pages,
            )

        view = await self._searches.run(work)
        return page_response(self._pages.collections(view, wanted, here(request)))

    async def one(self, request: Request) -> Response:
        """Answer with a collection and a page of its items; redirect to an item that is none."""
        found = divided(request.scope["raw_path"], PATH)
        if found is None or found[1]:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        look = await asyncio.to_thread(self._archive.get_described, found[0])
        if not is_collection(look.item, look.record):
            headers = {
                "Location": self._links.item(look.item.forms, here(request)),
                "Cache-Control": "no-store",
            }
            return Response(status_code=HTTPStatus.FOUND, headers=headers)
        wanted = preference(request)
        query = self._members(look.item.forms, request.query_params)
        view = await self._searches.run(lambda search: self._view(search, look, query, wanted))
        return page_response(self._pages.collection(view, wanted, here(request)))

    @staticmethod
    def _members(forms: Forms, pairs: Mapping[str, str]) -> SearchQuery:
        query = SearchQuery.parse(pairs)
        return replace(query, text="", filters=(("collection", forms.short.spelling),))

    def _view(
        self,
        search: Search,
        look: ItemWithMetadata,
        query: SearchQuery,
        wanted: LanguagePreference,
    ) -> CollectionView:
        results = search.find(query)
        record = look.record
        return CollectionView(
            collection=self.tiles([look], wanted)[0],
            results=results,
            entries=self._entries.of(results.items, wanted),
            people=record.named_creators if record else (),
            parents=self.tiles(self._collections.found_among(look.item.collections), wanted),
        )

    def newest(
        self, search: Search, limit: int, wanted: LanguagePreference
    ) -> tuple[CollectionTile, ...]:
        """Return the newest collections."""
        return self.tiles(search.newest(ALL, limit), wanted)

    def names(self, labels: Sequence[str], wanted: LanguagePreference) -> dict[str, str]:
        """Return the titles of those labels that are collections of this archive."""
        forms = [Forms.of(parse(label, strict=True)) for label in labels]
        found = self._collections.found_among(forms)
        return {tile.forms.short.spelling: tile.title.value for tile in self.tiles(found, wanted)}

    def tiles(
        self, looks: Sequence[ItemWithMetadata], wanted: LanguagePreference
    ) -> tuple[CollectionTile, ...]:
        """Return collections with their titles and the numbers of their items."""
        labels = [look.item.forms.short.spelling for look in looks]
        counts = self._index.counts("collection", labels)
        tiles = []
        for label, look in zip(labels, looks, strict=True):
            record = record_for(look.metadata.item if look.metadata else None, wanted)
            tiles.append(
                CollectionTile(
                    forms=look.item.forms,
                    title=record.title if record else Text(label),
                    count=counts.get(label, 0),
                    description=next(iter(record.descriptions), None) if record else None,
                )
            )
        return tuple(tiles)
