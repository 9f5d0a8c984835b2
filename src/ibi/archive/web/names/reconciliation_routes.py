"""Reconciliation at `/reconcile`: OpenRefine and others find the items that a table names.

    GET  /reconcile                       the manifest
    GET  /reconcile?queries=  and POST    candidates of a batch of queries
    GET  /reconcile?extend=   and POST    values of properties of items
    GET  /reconcile/suggest/entity|type|property?prefix=
    GET  /reconcile/properties?type=      properties to extend by

Pages of any origin may read the answers (CORS); there is no JSONP.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.rules.search.document import is_searched
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.rules.search.reconciliation import fit_of, plain_words
from ibi.archive.search.search import Search
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.names.reconciliation import (
    ITEM_TYPE,
    MOST_CANDIDATES,
    PROPERTIES,
    VERSIONS,
    Candidate,
    CandidateList,
    Entity,
    ExtensionAnswer,
    ExtensionQuery,
    ReconciliationQuery,
    Suggestion,
    SuggestionList,
    batch_of,
    extension_of,
    values_of,
)
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import IbiError, LabelError, RequestError, Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.problems import on_http_error, on_ibi_error
from ibi.foundation.web.request_body import body_of
from ibi.identifier.label import Label, parse

PATH: Final = "/reconcile"
_LARGEST_BODY: Final = 1 << 18
"""Bytes of the largest batch."""
_MOST_FIELDS: Final = 20
_SHORTEST_PREFIX: Final = 2
_MOST_DIGITS: Final = 5
_OPEN: Final = {"Access-Control-Allow-Origin": "*"}


class ReconciliationRoutes:
    """Handlers of the routes of reconciliation."""

    def __init__(self, name: str, searches: SearchQueue, urls: ArchiveUrls) -> None:
        """Reconcile with the items of an archive of that name."""
        self._name = name
        self._searches = searches
        self._urls = urls

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(PATH, self.answer, methods=["GET", "POST"]),
            Route(PATH + "/suggest/entity", self.suggest_items),
            Route(PATH + "/suggest/type", self.suggest_types),
            Route(PATH + "/suggest/property", self.suggest_properties),
            Route(PATH + "/properties", self.properties),
        ]

    async def answer(self, request: Request) -> Response:
        """Answer with the manifest, candidates or values."""
        try:
            return await self._answer(request)
        except IbiError as error:
            response = await on_ibi_error(request, error)
        except HTTPException as error:
            response = await on_http_error(request, error)
        response.headers.update(_OPEN)  # so that a page can show the error
        return response

    async def _answer(self, request: Request) -> Response:
        fields = await _fields(request)
        if "callback" in fields:
            raise RequestError(
                Sentence(
                    "The parameter callback is refused: pages of any origin may read the JSON."
                )
            )
        if "queries" in fields:
            found = {}
            for key, query in batch_of(fields["queries"]).items():
                # One turn each, so that a batch does not delay other searches by its length.
                found[key] = await self._searches.run(partial(self._of, query))
            return json_answer(found, headers=_OPEN)
        if "extend" in fields:
            wanted = extension_of(fields["extend"])
            return json_answer(
                await self._searches.run(lambda search: self._extended(search, wanted)),
                headers=_OPEN,
            )
        return json_answer(self._manifest(), headers=_OPEN)

    def _manifest(self) -> dict[str, object]:
        base = self._urls.base
        return {
            "versions": VERSIONS,
            "name": self._name,
            "identifierSpace": f"{self._urls.persistent_base}/",
            "schemaSpace": "http://purl.org/dc/elements/1.1/",
            "view": {"url": f"{self._urls.persistent_base}/{{{{id}}}}:"},
            "defaultTypes": [{"id": ITEM_TYPE, "name": "Item"}],
            "suggest": {
                kind: {"service_url": base, "service_path": f"{PATH}/suggest/{kind}"}
                for kind in ("entity", "type", "property")
            },
            "extend": {
                "propose_properties": {"service_url": base, "service_path": f"{PATH}/properties"},
                "property_settings": [],
            },
        }

    def _of(self, query: ReconciliationQuery, search: Search) -> CandidateList:
        """Return the candidates of a query, the best first."""
        named = self._named(search, query.query)
        if named is not None:
            return CandidateList([self._candidate(named, 100.0, match=True)])
        wanted = query.wanted
        text = plain_words(query.query) or " ".join(
            plain_words(each[0]) for each in wanted.values() if each
        )
        if not text:
            return CandidateList([])
        fits = []
        for look in search.closest(SearchQuery.parse({"q": text}), MOST_CANDIDATES):
            values = values_of(look, self._urls.persistent(look.item.forms))
            if _has_types(query, values["type"]):
                titles = values.get("title", ())
                fits.append((look, fit_of(plain_words(query.query), titles, wanted, values)))
        fits.sort(key=lambda each: -each[1].score)
        exact = sum(fit.is_exact for _, fit in fits)
        return CandidateList(
            [
                self._candidate(look, fit.score, match=fit.is_exact and exact == 1)
                for look, fit in fits[: query.count]
            ]
        )

    def _named(self, search: Search, text: str) -> ItemWithMetadata | None:
        """Return the item whose label a cell has, however it is written there."""
        try:
            label = parse(text)
        except LabelError:
            return None
        return next(iter(_found(search, [label]).values()), None)

    def _candidate(self, look: ItemWithMetadata, score: float, *, match: bool) -> Candidate:
        values = values_of(look, "")
        return Candidate(
            look.item.forms.short.spelling,
            _name(look),
            score,
            match,
            _types(values["type"]),
            _described(look),
        )

    def _extended(self, search: Search, wanted: ExtensionQuery) -> ExtensionAnswer:
        """Return the values of properties; an item that is not here has none."""
        ids = [each.id for each in wanted.properties]
        labels = {text: label for text in wanted.ids if (label := _label(text)) is not None}
        found = _found(search, list(labels.values()))
        rows = {}
        for text in wanted.ids:
            look = found.get(labels[text].canonical) if text in labels else None
            values = values_of(look, self._urls.persistent(look.item.forms)) if look else {}
            rows[text] = {each: [{"str": value} for value in values.get(each, ())] for each in ids}
        return ExtensionAnswer([Entity(each, PROPERTIES.get(each, each)) for each in ids], rows)

    async def suggest_items(self, request: Request) -> Response:
        """Suggest items by the beginning of what a person types."""
        text = plain_words(request.query_params.get("prefix", ""))
        if len(text) < _SHORTEST_PREFIX:
            return json_answer(SuggestionList([]), headers=_OPEN)
        query = SearchQuery.parse({"q": f"{text}*"})

        def found(search: Search) -> list[Suggestion]:
            named = self._named(search, text)
            looks = [named] if named else search.closest(query, MOST_CANDIDATES)
            return [
                Suggestion(
                    each.item.forms.short.spelling,
                    _name(each),
                    _described(each),
                    _types(values_of(each, "")["type"]),
                )
                for each in looks
            ]

        return json_answer(SuggestionList(await self._searches.run(found)), headers=_OPEN)

    async def suggest_types(self, request: Request) -> Response:
        """Suggest types of items, those that the archive has."""
        prefix = request.query_params.get("prefix", "").casefold()
        types = await self._searches.run(lambda search: search.types())
        wanted = [ITEM_TYPE, *types]
        return _suggested({each: each for each in wanted}, prefix)

    async def suggest_properties(self, request: Request) -> Response:
        """Suggest properties."""
        return _suggested(PROPERTIES, request.query_params.get("prefix", "").casefold())

    async def properties(self, request: Request) -> Response:
        """Propose properties to extend a table by."""
        text = request.query_params.get("limit", "")
        is_number = text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS
        limit = int(text) if is_number else len(PROPERTIES)
        chosen = [Entity(*each) for each in PROPERTIES.items()][:limit]
        type_ = request.query_params.get("type", ITEM_TYPE)
        return json_answer({"type": type_, "properties": chosen, "limit": limit}, headers=_OPEN)


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of the query, or of the form that is the body."""
    if request.method != "POST":
        return dict(request.query_params)
    body = await body_of(request, _LARGEST_BODY)
    try:
        found = parse_qs(body.decode(), max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise RequestError(Sentence("A form is expected, with the field queries.")) from None
    if not found:
        raise RequestError(Sentence("A form is expected, with the field queries."))
    return {name: values[0] for name, values in found.items()}


def _found(search: Search, labels: list[Label]) -> dict[str, ItemWithMetadata]:
    looks = search.labelled([each.canonical for each in labels])
    return {name: look for name, look in looks.items() if is_searched(look.item)}


def _label(text: str) -> Label | None:
    try:
        return parse(text)
    except LabelError:
        return None


def _has_types(query: ReconciliationQuery, types: Iterable[str]) -> bool:
    wanted, known = {each.casefold() for each in query.types}, {each.casefold() for each in types}
    if not wanted or query.type_strict == "should":
        return True
    return wanted <= known if query.type_strict == "all" else bool(wanted & known)


def _types(types: Iterable[str]) -> list[Entity]:
    return [Entity(each, each) for each in types] or [Entity(ITEM_TYPE, "Item")]


def _name(look: ItemWithMetadata) -> str:
    return (look.record.title.value if look.record else "") or look.item.forms.short.spelling


def _described(look: ItemWithMetadata) -> str:
    """Return creators and year, by which a person tells items of one title apart."""
    values = values_of(look, "")
    return "; ".join([*list(values.get("creator", ()))[:3], *values["year"]])


def _suggested(names: dict[str, str], prefix: str) -> Response:
    chosen = [
        Suggestion(each, name)
        for each, name in names.items()
        if name.casefold().startswith(prefix) or each.casefold().startswith(prefix)
    ]
    return json_answer(SuggestionList(chosen), headers=_OPEN)
