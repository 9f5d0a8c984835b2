"""The API of an archive: the public search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from starlette.responses import Response

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.search import FACETS, FacetCount
from ibi.archive.rules.search.document import facets_of
from ibi.archive.rules.search.passage import Passage
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.rules.search.snippet import Highlighter
from ibi.archive.search.search import Search
from ibi.archive.web.api.responses import moment, pair
from ibi.archive.web.urls import ArchiveUrls
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest

AT_ONCE: Final = 4
"""Searches that run concurrently; others wait for their turn."""

T = TypeVar("T")


class FoundItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item that was found."""

    rep: str
    ibip: str
    persistent_url: str
    title: str
    state: str
    created: str
    updated: str
    creators: list[str] = []
    year: str = ""
    types: list[str] = []
    languages: list[str] = []
    licence: str = ""
    collections: list[str] = []
    """The labels of the collections that it belongs to."""
    snippet: str = ""
    """The part of its description that has the words, as plain text."""
    file: str = ""
    """The path of a file that has words which the description lacks."""
    file_snippet: str = ""
    """The part of that file that has the words, as plain text."""


class FacetValue(msgspec.Struct, frozen=True):
    """A value of a facet, and the number of hits that have it."""

    value: str
    count: int


class FacetValues(msgspec.Struct, frozen=True):
    """The values of each facet that most hits have."""

    type: list[FacetValue]
    year: list[FacetValue]
    language: list[FacetValue]
    creator: list[FacetValue]
    collection: list[FacetValue]
    """The labels of collections."""


class SearchAnswer(msgspec.Struct, frozen=True):
    """A page of the results of a search."""

    count: int
    """The number of hits; there are more if `more` is true, which no page shows."""
    more: bool
    page: int
    pages: int
    complete: bool
    """Whether all items of the archive were searched; not while its index is filled."""
    items: list[FoundItem]
    facets: FacetValues


class SearchQueue:
    """Runs searches in threads, a few at a time, so that other requests are answered meanwhile."""

    def __init__(self, search: Search) -> None:
        """Search one archive."""
        self._search = search
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run(self, work: Callable[[Search], T]) -> T:
        """Return what `work` finds."""
        async with self._turns:
            return await asyncio.to_thread(work, self._search)


class SearchApi:
    """Handlers of the operations on the search."""

    def __init__(self, queue: SearchQueue, urls: ArchiveUrls) -> None:
        """Search one archive."""
        self._queue = queue
        self._urls = urls

    async def find(self, request: AuthorizedRequest) -> Response:
        """Answer with a page of results, which every client may read."""
        query = SearchQuery.parse(request.query_params)
        answer = await self._queue.run(lambda search: self._answer(search, query))
        return json_answer(answer)

    def _answer(self, search: Search, query: SearchQuery) -> SearchAnswer:
        results = search.find(query)
        highlighter = Highlighter(query.clauses)
        return SearchAnswer(
            results.count,
            results.is_cut,
            results.query.page,
            results.pages,
            results.is_whole,
            [
                self._found(look, highlighter, results.passages.get(look.held.id))
                for look in results.items
            ],
            FacetValues(*(_values(results.facets[facet]) for facet in FACETS)),
        )

    def _found(
        self, look: ItemWithMetadata, highlighter: Highlighter, passage: Passage | None
    ) -> FoundItem:
        item, record = look.item, look.record
        facets = facets_of(item, record)
        description = record.descriptions[0].value if record and record.descriptions else ""
        return FoundItem(
            *pair(item.forms),
            self._urls.persistent(item.forms),
            record.title.value if record else "",
            str(item.state),
            moment(item.created),
            moment(item.updated),
            [*facets["creator"]],
            next(iter(facets["year"]), ""),
            [*facets["type"]],
            [*facets["language"]],
            record.licence if record else "",
            [*facets["collection"]],
            _snippet(highlighter, description),
            passage.path if passage else "",
            _snippet(highlighter, passage.text) if passage else "",
        )


def _snippet(highlighter: Highlighter, text: str) -> str:
    return "".join(part.text for part in highlighter.snippet(text))


def _values(counts: tuple[FacetCount, ...]) -> list[FacetValue]:
    return [FacetValue(each.value, each.count) for each in counts]
