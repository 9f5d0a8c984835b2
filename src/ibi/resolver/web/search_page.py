"""Search by words at a resolver: the page, and its operation in the API."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import RequestError, Sentence
from ibi.foundation.pages.links import SEARCH
from ibi.foundation.web.json_response import json_answer
from ibi.identifier.instant import instant_of
from ibi.identifier.label import parse
from ibi.model.clock import Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.rules.archive_documents import FoundItem
from ibi.resolver.rules.archive_site import search_page_of
from ibi.resolver.rules.word_search import WordResults
from ibi.resolver.search.word_search import WordSearch
from ibi.resolver.web.outcome_details import OutcomeDetails
from ibi.resolver.web.page_responses import page_response, preference_in, shared_page_response
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.pasted_text import Kind, PastedText, what_is
from ibi.resolver.web.redirect import LONGEST_URL, target_of
from ibi.resolver.web.search_limits import SearchLimits
from ibi.resolver.web.search_views import (
    NamedArchive,
    SearchedArchive,
    SearchedArchives,
    SearchView,
)

WORDS: Final = "words"
"""The parameter by which a text is searched for that contains a label."""


class FoundItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item that an archive found."""

    ibi: str
    persistent_url: str
    """Its persistent URL at this resolver."""
    title: str
    creators: list[str] = []
    year: str = ""
    snippet: str = ""


class ArchiveFoundAnswer(msgspec.Struct, frozen=True):
    """The items that one archive found."""

    archive: str
    """The label of its service."""
    name: str
    """The name that it gives itself; empty if it is not known."""
    address: str
    count: int
    more: bool
    """Whether there are more hits than it counts."""
    search: str
    """The address of its own search page for these words."""
    items: list[FoundItemAnswer]
    """The first items that it found."""


class SilentArchiveAnswer(msgspec.Struct, frozen=True):
    """An archive that did not answer the search."""

    archive: str
    name: str
    address: str
    reason: str


class WordSearchAnswer(msgspec.Struct, frozen=True):
    """The results of a search by words, archive by archive."""

    words: str
    count: int
    """The number of hits of all archives that answered."""
    archives: list[ArchiveFoundAnswer]
    """All archives that answered, those that list the most labels first."""
    silent: list[SilentArchiveAnswer]
    not_asked: int
    """The number of archives that were not asked because there are too many."""


class SearchPage:
    """Handlers of the search by words."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        base: str,
        search: WordSearch,
        details: OutcomeDetails,
        limits: SearchLimits,
        clock: Clock,
        pages: ResolverPages,
    ) -> None:
        """Search below the public address `base`."""
        self._base = base
        self._search = search
        self._details = details
        self._limits = limits
        self._clock = clock
        self._pages = pages

    @property
    def routes(self) -> list[Route]:
        """The route of the page."""
        return [Route(SEARCH, self.page)]

    async def page(self, request: Request) -> Response:
        """Show what a text is, or what archives find by its words."""
        text = request.query_params.get("q", "")[:LONGEST_URL]
        pasted = what_is(text, instant_of(self._clock.wall()))
        view = SearchView(pasted=pasted, meant=await self._meant(pasted))
        if _has_words(pasted) or (text.strip() and request.query_params.get(WORDS)):
            view = SearchView(pasted=pasted, results=self._view_of(await self._find(request, text)))
        page = self._pages.search(view, preference_in(request), target_of(request))
        return page_response(page) if text.strip() else shared_page_response(page)

    async def api_search(self, request: Request) -> Response:
        """Answer with what archives find by words."""
        text = request.query_params.get("q", "")[:LONGEST_URL]
        if not text.strip():
            raise RequestError(Sentence("The parameter q is missing: the words to search for."))
        return json_answer(self._answer(await self._find(request, text)))

    async def _meant(self, pasted: PastedText) -> tuple[str, ...]:
        """Return labels near the pasted one, if no archive lists that."""
        if pasted.wanted is not None:
            return await self._details.near(pasted.wanted.label)
        if len(pasted.found) == 1:
            return await self._details.near(parse(pasted.found[0]))
        return ()

    async def _find(self, request: Request, text: str) -> WordResults:
        return await self._search.find(
            text, lambda messages: self._limits.charge(request, max(1, messages))
        )

    def _view_of(self, results: WordResults) -> SearchedArchives:
        return SearchedArchives(
            words=results.words,
            count=results.count,
            found=tuple(
                SearchedArchive(
                    archive=self._named(each.archive),
                    found=each.found,
                    page=search_page_of(each.archive.address, results.words),
                )
                for each in results.results
            ),
            without=tuple(map(self._named, results.without)),
            silent=tuple((self._named(archive), reply.reason) for archive, reply in results.silent),
            not_asked=results.not_asked,
        )

    def _named(self, archive: RegisteredArchive) -> NamedArchive:
        return NamedArchive.of(archive, self._details.names.of(archive.id))

    def _answer(self, results: WordResults) -> WordSearchAnswer:
        view = self._view_of(results)
        found = [
            ArchiveFoundAnswer(
                each.archive.service,
                each.archive.name,
                each.archive.address,
                each.found.count,
                each.found.is_cut,
                each.page,
                [self._item(item) for item in each.found.items],
            )
            for each in view.found
        ]
        nothing = [
            ArchiveFoundAnswer(
                each.service,
                each.name,
                each.address,
                0,
                more=False,
                search=search_page_of(each.address, view.words),
                items=[],
            )
            for each in view.without
        ]
        silent = [
            SilentArchiveAnswer(each.service, each.name, each.address, reason)
            for each, reason in view.silent
        ]
        return WordSearchAnswer(view.words, view.count, found + nothing, silent, view.not_asked)

    def _item(self, item: FoundItem) -> FoundItemAnswer:
        return FoundItemAnswer(
            item.label.spelling,
            f"{self._base}/{item.label.spelling}",
            item.title,
            list(item.creators),
            item.year,
            item.snippet,
        )


def _has_words(pasted: PastedText) -> bool:
    """Return whether a text is searched for: it is no identifier, and has none in it."""
    if pasted.kind is not Kind.UNKNOWN or pasted.suggestions or pasted.system:
        return False
    if pasted.is_called_label:
        return False
    return "/" not in pasted.given.strip() or len(pasted.given.split()) > 1
