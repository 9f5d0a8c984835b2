"""The archive service of 004 over HTTP: requests of resolvers, and acknowledged accesses."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.statistics import Access
from ibi.archive.rules.access import depends_on_reader
from ibi.archive.rules.announcement import read_document
from ibi.archive.rules.answer import Identity, respond
from ibi.archive.rules.url_keys import NONCES, KeyTerms, Receipt, UrlKeys
from ibi.archive.web.access_counter import AccessCounter
from ibi.archive.web.urls import ItemLookup, Lands, never_lands
from ibi.errors import LabelError, MessageError, PairListError, StorageError
from ibi.foundation.web.request_body import body_of
from ibi.identifier.instant import Instant
from ibi.identifier.label import longest_match, parse
from ibi.model.archive_record import UrlKey
from ibi.model.clock import SECOND, Clock
from ibi.model.label_pair import Forms
from ibi.wire import requests, responses
from ibi.wire.access_counts import Others, is_proved
from ibi.wire.query import MAX_QUERY
from ibi.wire.url_list import Related, UrlList

_LOG: Final = structlog.get_logger()
# Exactly as in 004, section 4.2; Starlette would add a character set.
_HEADERS: Final = {"Content-Type": "text/plain", "Cache-Control": "no-store"}
# The same for an answer that differs between clients: a resolver that reuses answers is a shared
# cache in the sense of RFC 9111.
_PERSONAL: Final = {**_HEADERS, "Cache-Control": "private, no-store"}
_UNPROVED: Final = "unproved"
_PLACES: Final = ("/col/", "/displaydoccontent.cgi/")


class ArchiveService:
    """Answers inclusionConfirmationRequest, urlRequest and acknowledgment."""

    def __init__(
        self,
        catalogue: Catalogue,
        identity: Identity,
        keys: UrlKeys,
        clock: Clock,
        lands: Lands = never_lands,
    ) -> None:
        """Answer for this archive."""
        self._lands = lands
        self._items = catalogue.items
        self._links = catalogue.links
        self._is_quick = catalogue.quick
        self.identity = identity
        self._keys = keys
        self._clock = clock
        self.counting = AccessCounter(catalogue.statistics)

    async def serve(self, request: Request) -> Response:
        """Answer a request by a pair list, even if the request is not valid."""
        return await self._serve(request.scope["query_string"])

    async def serve_long(self, request: Request) -> Response:
        """Answer a request that is too long for a query and is sent as a body."""
        return await self._serve(await body_of(request, MAX_QUERY))

    async def _serve(self, query: bytes) -> Response:
        try:
            asked = requests.decode(query)
            answer, is_personal = await self._answer(asked)
            headers = _PERSONAL if is_personal else _HEADERS
            return Response(responses.encode(answer), headers=headers)
        except (MessageError, PairListError) as fault:
            code = fault.code if isinstance(fault, MessageError) else "bad-value"
            status = HTTPStatus.FORBIDDEN if code == _UNPROVED else HTTPStatus.BAD_REQUEST
            return _refusal(status, code, str(fault))
        except StorageError as failure:
            _LOG.warning("request refused", error=str(failure))
            reason = "The archive cannot be read at the moment."
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "storage", reason)

    async def _answer(self, asked: requests.Request) -> tuple[responses.Response | None, bool]:
        if isinstance(asked, requests.Acknowledgment):
            await self._acknowledge(asked)
        if self._is_quick:
            return self._respond(asked)
        return await asyncio.to_thread(self._respond, asked)

    def _respond(self, asked: requests.Request) -> tuple[responses.Response | None, bool]:
        """Return the answer, and whether it depends on the client."""
        clients = asked.clients if isinstance(asked, requests.UrlRequest) else ()
        holdings = ItemLookup(self._items, self._lands)
        answer = respond(holdings, self.identity, asked, self._issuing(clients))
        if not isinstance(answer, UrlList):
            return answer, False
        return answer, depends_on_reader(answer, holdings.find)

    def _issuing(self, clients: Sequence[str]) -> Callable[[Sequence[Related]], UrlKey]:
        def issue(related: Sequence[Related]) -> UrlKey:
            offers = [
                KeyTerms(each.forms, each.url, each.content, each.state)
                for each in related
                if each.forms and each.content and each.state
            ]
            now = self._clock.wall() // SECOND
            return self._keys.issue(clients, offers, now=now, nonce=secrets.randbelow(NONCES))

        return issue

    async def _acknowledge(self, asked: requests.Acknowledgment) -> None:
        """Count an access if its key proves it; the sender gets the same answer in any case.

        More than one access need the proof of a link too. Without it the sender gets an error, so
        that a resolver whose link is being renewed sends the same again. Reading a thousand labels
        would block the event loop for too long.
        """
        if self._is_quick and not asked.others:
            access = self._access(asked)
        else:
            access = await asyncio.to_thread(self._access, asked)
        if access is not None:
            await self.counting.count(access)

    def _access(self, asked: requests.Acknowledgment) -> Access | None:
        if asked.total > 1 and not self._is_of_a_link(asked):
            raise MessageError(
                _UNPROVED,
                "More than one access are counted only if a resolver that this archive is linked "
                "to proves them.",
            )
        forms = self._forms_at(asked.url) if asked.forms is None else self._forms_named(asked.forms)
        receipt = self._keys.check(asked, now=self._clock.wall() // SECOND, forms=forms)
        if not isinstance(receipt, Receipt):
            return None
        held = self._items.find(receipt.offer.forms.label.canonical)
        if held is None:
            return None
        issued = receipt.issued
        day = Instant(self._clock.wall() // SECOND).iso8601[:10]
        access = Access(held.id, day, issued.time, issued.nonce, self._keys.until(issued))
        return replace(access, count=asked.accesses, others=tuple(_canonical(asked.others)))

    def _is_of_a_link(self, asked: requests.Acknowledgment) -> bool:
        """Return whether a resolver that the archive is linked to sent an acknowledgment."""
        links = (read_document(*each) for each in self._links.all().items())
        secrets_ = [link.secret for link in links if link.secret]
        return is_proved(secrets_, asked.key.text, (asked.accesses, asked.others), asked.proof)

    def _forms_named(self, named: Forms) -> list[Forms]:
        """Return all forms of the item that an acknowledgment names by one or two of them."""
        held = self._items.find(named.label.canonical)
        return [] if held is None else [held.item.forms]

    def _forms_at(self, url: str) -> list[Forms]:
        """Return the forms of the item at a URL of this archive; of metadata, also of their item.

        Resolvers are given the metadata of an item that is not digital, or not for this reader.
        """
        for place in _PLACES:
            _, found, rest = url.partition(place)
            label = longest_match(rest) if found else None
            held = None if label is None else self._items.find(label.canonical)
            if held is not None:
                forms = (held.item.forms, held.item.describes)
                return [each for each in forms if each is not None]
        return []


def _canonical(others: Others) -> Iterator[tuple[str, int]]:
    """Yield canonical labels and counts; texts that are not labels are left out."""
    for label, count in others:
        with suppress(LabelError):
            yield parse(label, strict=True).canonical, count


def _refusal(status: HTTPStatus, code: str, reason: str) -> Response:
    return Response(responses.encode(responses.ErrorAnswer(code, reason)), status, _HEADERS)
