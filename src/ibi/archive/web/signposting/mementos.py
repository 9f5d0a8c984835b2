"""Editions as Memento has versions (RFC 7089): TimeGate, TimeMap, and the headers of an edition.

The original resource is the persistent URL of the newest edition, which any edition leads to by
`!`. Each edition is a memento: its persistent URL, its page and its files say its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive
from ibi.archive.rules.discovery.mementos import (
    Memento,
    current_at,
    has_editions,
    memento_of,
    mementos,
)
from ibi.archive.web.signposting.web_links import (
    LINK_FORMAT,
    WebLink,
    link_document,
    link_header,
)
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import ArchiveRequestError, DeletedError, Sentence, shown
from ibi.identifier.instant import Instant
from ibi.identifier.label import longest_match
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.wire.percent_encoding import text_of

TIMEGATES: Final = "/timegate/"
TIMEMAPS: Final = "/timemap/"
_NEWEST: Final = "!"
"""The modifier of a persistent URL that leads to the newest edition."""
_LONGEST_DATE: Final = 100
"""Characters of a date."""


def dated(item: Item) -> dict[str, str]:
    """Return the header that tells the time of an edition; none if it is the only one."""
    if not has_editions(item):
        return {}
    return {"Memento-Datetime": _http_date(memento_of(item.forms))}


def memento_links(urls: ArchiveUrls, item: Item) -> Iterator[WebLink]:
    """Yield the links of an edition to what leads through time; none if it is the only one."""
    if has_editions(item):
        yield _original(urls, item.forms)
        yield _timegate(urls, item.forms)
        yield WebLink(_timemap(urls, item.forms), "timemap", LINK_FORMAT)


class MementoEndpoint:
    """Answers clients that look for the edition of a moment."""

    def __init__(self, archive: Archive, urls: ArchiveUrls) -> None:
        """Lead to the editions of the items of an archive."""
        self._archive = archive
        self._urls = urls

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(f"{TIMEGATES}{{ibi:path}}", self.timegate),
            Route(f"{TIMEMAPS}{{ibi:path}}", self.timemap),
        ]

    async def timegate(self, request: Request) -> Response:
        """Redirect to the edition that was current at `Accept-Datetime`."""
        asked = _moment(request.headers.get("accept-datetime", ""))
        forms, editions = await asyncio.to_thread(self._editions, request, TIMEGATES)
        place = current_at(editions, asked)
        headers = {
            "Location": self._urls.persistent(editions[place].forms),
            "Vary": "Accept-Datetime",
            "Cache-Control": "public, max-age=60",
            "Link": link_header(self._around(forms, editions, place)),
        }
        return Response(status_code=HTTPStatus.FOUND, headers=headers)

    async def timemap(self, request: Request) -> Response:
        """Answer with all editions and their times."""
        forms, editions = await asyncio.to_thread(self._editions, request, TIMEMAPS)
        span = (("from", _http_date(editions[0])), ("until", _http_date(editions[-1])))
        itself = WebLink(_timemap(self._urls, forms), "self", LINK_FORMAT, further=span)
        every = (self._memento(editions, place) for place in range(len(editions)))
        links = [_original(self._urls, forms), itself, _timegate(self._urls, forms), *every]
        headers = {
            "Content-Type": LINK_FORMAT,
            "Cache-Control": "public, max-age=60",
            "Access-Control-Allow-Origin": "*",
            "X-Robots-Tag": "noindex",
        }
        return Response(link_document(links), headers=headers)

    def _editions(self, request: Request, start: str) -> tuple[Forms, list[Memento]]:
        """Return the labels that are asked for, and all editions; clients may send a whole URL."""
        text = text_of(unquote_to_bytes(request.scope["raw_path"][len(start) :]))
        for base in (self._urls.persistent_base, self._urls.base):
            text = text.removeprefix(f"{base}/")
        label = longest_match(text)
        if label is None or text[len(label.spelling) :] not in {"", _NEWEST}:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        item = self._archive.get_described(label).item
        editions = mementos(item, self._archive.find)
        if not editions:
            raise DeletedError(label.spelling)
        return item.forms, editions

    def _around(self, forms: Forms, editions: Sequence[Memento], place: int) -> Iterator[WebLink]:
        span = (("from", _http_date(editions[0])), ("until", _http_date(editions[-1])))
        yield _original(self._urls, forms)
        yield WebLink(_timemap(self._urls, forms), "timemap", LINK_FORMAT, further=span)
        near = {0, place - 1, place, place + 1, len(editions) - 1}
        for each in sorted(near & set(range(len(editions)))):
            yield self._memento(editions, each, place)

    def _memento(
        self, editions: Sequence[Memento], place: int, chosen: int | None = None
    ) -> WebLink:
        edition = editions[place]
        names = {
            "first": place == 0,
            "last": place == len(editions) - 1,
            "prev": chosen is not None and place == chosen - 1,
            "next": chosen is not None and place == chosen + 1,
        }
        relation = " ".join([*(name for name, is_so in names.items() if is_so), "memento"])
        further = (("datetime", _http_date(edition)),)
        return WebLink(self._urls.persistent(edition.forms), relation, further=further)


def _original(urls: ArchiveUrls, forms: Forms) -> WebLink:
    return WebLink(f"{urls.persistent(forms)}{_NEWEST}", "original")


def _timegate(urls: ArchiveUrls, forms: Forms) -> WebLink:
    return WebLink(f"{urls.base}{TIMEGATES}{forms.short.spelling}", "timegate")


def _timemap(urls: ArchiveUrls, forms: Forms) -> str:
    return f"{urls.base}{TIMEMAPS}{forms.short.spelling}"


def _http_date(memento: Memento) -> str:
    return formatdate(memento.at, usegmt=True)


def _moment(text: str) -> Instant | None:
    if not text:
        return None
    try:
        return Instant(int(parsedate_to_datetime(text[:_LONGEST_DATE]).timestamp()))
    except (ValueError, TypeError, OverflowError, IndexError):
        raise ArchiveRequestError(
            Sentence(
                "%(text)s is not a date of HTTP, as Thu, 31 May 2007 20:35:00 GMT.",
                text=shown(text),
            )
        ) from None
