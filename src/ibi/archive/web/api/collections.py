"""The API of an archive: its collections, and the items that belong to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.collections import Collections
from ibi.archive.item_rights import ItemRights
from ibi.archive.ports.search import SearchIndex
from ibi.archive.rules.collections.membership import TYPE
from ibi.archive.rules.scopes import DEPOSIT, Caller
from ibi.archive.rules.search.query import LAST_PAGE, SearchQuery
from ibi.archive.web.api.responses import pair
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.urls import ArchiveUrls
from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.openapi import parameter, query
from ibi.foundation.web.operations import AuthorizedRequest, Operation
from ibi.identifier.label import Label, parse

ALL: Final = SearchQuery(filters=(("type", TYPE),), order="title")
"""The search that finds all collections."""


class CollectionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A collection; the search lists its items."""

    rep: str
    ibip: str
    persistent_url: str
    title: str
    items: int
    """The number of items that belong to it."""
    description: str = ""


class CollectionsAnswer(msgspec.Struct, frozen=True):
    """A page of the collections, in the order of their titles."""

    collections: list[CollectionAnswer]
    page: int
    pages: int


class MembersRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels of items to add to a collection, and of items to remove from it."""

    add: list[str] = []
    remove: list[str] = []


class CollectionsApi:
    """Handlers of the operations on collections."""

    def __init__(  # its services
        self,
        collections: Collections,
        rights: ItemRights,
        index: SearchIndex,
        searches: SearchQueue,
        urls: ArchiveUrls,
    ) -> None:
        """Act on the collections of an archive."""
        self._collections = collections
        self._rights = rights
        self._index = index
        self._searches = searches
        self._urls = urls

    async def list_collections(self, request: AuthorizedRequest) -> Response:
        """List the collections, which every client may read."""
        page = SearchQuery.parse({"page": request.query_params.get("page", "")}).page
        results = await self._searches.run(lambda search: search.find(ALL.at(page)))
        answers = await asyncio.to_thread(self._answers, results.items)
        return json_answer(CollectionsAnswer(answers, results.query.page, results.pages))

    async def change_members(self, request: AuthorizedRequest) -> Response:
        """Add items to a collection, and remove items from it."""
        label = _label(request)
        wanted = await request.read(MembersRequest)

        def change() -> CollectionAnswer:
            caller = Caller(request.caller, request.granted)
            self._rights.check_named(caller, (*wanted.add, *wanted.remove))
            self._collections.change(label, request.caller, wanted.add, wanted.remove)
            return self._answers([self._collections.get(label)])[0]

        return json_answer(await asyncio.to_thread(change))

    async def show_collection(self, request: AuthorizedRequest) -> Response:
        """Show a collection."""
        label = _label(request)
        found = await asyncio.to_thread(lambda: self._answers([self._collections.get(label)]))
        return json_answer(found[0])

    def _answers(self, looks: Sequence[ItemWithMetadata]) -> list[CollectionAnswer]:
        values = [look.item.forms.short.spelling for look in looks]
        counts = self._index.counts("collection", values)
        return [self._answer(look, counts) for look in looks]

    def _answer(self, look: ItemWithMetadata, counts: dict[str, int]) -> CollectionAnswer:
        forms, record = look.item.forms, look.record
        return CollectionAnswer(
            *pair(forms),
            self._urls.persistent(forms),
            record.title.value if record else "",
            counts.get(forms.short.spelling, 0),
            record.descriptions[0].value if record and record.descriptions else "",
        )


def _label(request: AuthorizedRequest) -> Label:
    return parse(path_after(request, b"/api/v1/collections/"))


_IBI: Final = parameter("ibi", "A label of the collection, in any form")
_PAGE: Final = query("page", "Which page", {"type": "integer", "minimum": 1, "maximum": LAST_PAGE})
# fmt: off
COLLECTION_OPERATIONS: Final = (
    Operation("GET", "/api/v1/collections", PUBLIC, CollectionsApi.list_collections,
        "List the collections, in the order of their titles",
        answer=CollectionsAnswer, problems=(503,), parameters=(_PAGE,)),
    Operation("GET", "/api/v1/collections/{ibi:path}", PUBLIC, CollectionsApi.show_collection,
        "Show a collection, whose items the search lists",
        answer=CollectionAnswer, problems=(400, 404, 409, 410), parameters=(_IBI,)),
    Operation("PATCH", "/api/v1/collections/{ibi:path}", DEPOSIT, CollectionsApi.change_members,
        "Add items to a collection and remove others, at most 100 at a time: all or none",
        request=MembersRequest, answer=CollectionAnswer,
        problems=(404, 409, 410, 413, 507), parameters=(_IBI,)),
)
# fmt: on
"""The operations on collections, a part of the table of the archive."""
