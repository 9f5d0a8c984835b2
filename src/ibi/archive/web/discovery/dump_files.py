"""What is offered to crawlers before they crawl: robots.txt, llms.txt, sitemaps, all metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.ports.file_store import OpenFile
from ibi.archive.ports.public_dump import DumpFiles, DumpIndex, IsCurrent
from ibi.archive.web.api.responses import moment
from ibi.archive.web.delivery.file_delivery import Content, deliver
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.metadata.sitemap import MEDIA_TYPE, sitemap_index

DUMP: Final = "/dumps/metadata.jsonl.gz"
"""The path of the dump: JSON lines, compressed by gzip."""
DUMPS: Final = "/dumps/index.json"
"""The path of what a harvester asks before it fetches the dump."""
SITEMAP: Final = "/sitemap.xml"
_GZIP: Final = "application/gzip"
_RETRY_AFTER: Final = 60
"""Seconds after which to try again while the files are being made."""
_HEADERS: Final = {"Cache-Control": "public, max-age=600", "X-Content-Type-Options": "nosniff"}
_CLOSED: Final = ("account", "admin", "api", "curate", "deposit", "search", "sign-in", "sign-out")
"""The first parts of paths that crawlers leave alone: forms, endless pages, the API."""


class DumpAnswer(msgspec.Struct, frozen=True):
    """The dump of all public metadata."""

    url: str
    media_type: str
    size: int
    sha256: str
    """In hexadecimal."""
    made: str
    """The time of the state that it has, or of a later one."""
    items: int
    tombstones: int


class DumpsAnswer(msgspec.Struct, frozen=True):
    """The dumps that there are."""

    dumps: list[DumpAnswer]


class DumpEndpoint:
    """Answers crawlers and harvesters."""

    def __init__(
        self, name: str, urls: ArchiveUrls, files: DumpFiles, is_current: IsCurrent
    ) -> None:
        """Offer the files of an archive of that name."""
        self._name = name
        self._base = urls.base
        self._files = files
        self._is_current = is_current

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/robots.txt", self.robots),
            Route("/llms.txt", self.llms),
            Route(SITEMAP, self.index),
            Route("/sitemap-{number:int}.xml.gz", self.sitemap),
            Route(DUMPS, self.dumps),
            Route(DUMP, self.dump),
        ]

    async def has_dump(self) -> bool:
        """Return whether there is a dump that may be fetched."""
        return await asyncio.to_thread(self._current) is not None

    async def robots(self, _: Request) -> Response:
        """Tell robots where everything is, and what not to fetch."""
        root = urlsplit(self._base).path
        lines = [
            f"# All metadata in one file, made anew after changes: {self._base}{DUMP}",
            f"# What it has, and its checksum: {self._base}{DUMPS}",
            "User-agent: *",
            *(f"Disallow: {root}/{each}" for each in _CLOSED),
            f"Disallow: {root}/*?format=zip",
            f"Allow: {root}/",
            "",
            f"Sitemap: {self._base}{SITEMAP}",
        ]
        return Response("\n".join(lines) + "\n", headers=_HEADERS, media_type="text/plain")

    async def llms(self, _: Request) -> Response:
        """Tell language models and their makers what is here (https://llmstxt.org)."""
        name = " ".join(self._name.split()).replace("[", "(").replace("]", ")")
        text = _LLMS.format(name=name, base=self._base, dump=DUMP, dumps=DUMPS, sitemap=SITEMAP)
        return Response(text, headers=_HEADERS, media_type="text/plain")

    async def index(self, _: Request) -> Response:
        """Answer with the index of sitemaps."""
        found = await self._made()
        entries = (
            (f"{self._base}/sitemap-{page.number}.xml.gz", page.updated) for page in found.pages
        )
        return Response(sitemap_index(entries), headers=_HEADERS, media_type=MEDIA_TYPE)

    async def sitemap(self, request: Request) -> Response:
        """Answer with one sitemap."""
        number: int = request.path_params["number"]
        found = await self._made()
        if number not in {page.number for page in found.pages}:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        name = f"sitemap-{number}.xml.gz"
        return await self._sent(request, lambda index: self._files.sitemap(index, number), name)

    async def dumps(self, _: Request) -> Response:
        """Answer with what the dump has."""
        found = await asyncio.to_thread(self._current)
        if found is None:
            return json_answer(DumpsAnswer([]))
        dump = DumpAnswer(
            f"{self._base}{DUMP}",
            _GZIP,
            found.size,
            found.sha256,
            moment(found.made),
            found.items,
            found.tombstones,
        )
        return json_answer(DumpsAnswer([dump]))

    async def dump(self, request: Request) -> Response:
        """Answer with the dump, or that it is being made."""
        found = await asyncio.to_thread(self._current)
        if found is None:
            raise _not_made()
        name = DUMP.rpartition("/")[2]
        return await self._sent(request, self._files.dump, name, found.sha256)

    def _current(self) -> DumpIndex | None:
        """Return the last run, unless its dump has items that were withdrawn since."""
        found = self._files.index()
        return found if found is not None and self._is_current(found) else None

    async def _made(self) -> DumpIndex:
        found = await asyncio.to_thread(self._files.index)
        if found is None:
            raise _not_made()
        return found

    async def _sent(
        self,
        request: Request,
        opening: Callable[[DumpIndex], OpenFile | None],
        name: str,
        sha256: str = "",
    ) -> Response:
        index = await self._made()
        file = await asyncio.to_thread(opening, index)
        if file is None or (sha256 and index.sha256 != sha256):  # replaced in this moment
            if file is not None:
                file.close()
            raise _not_made()
        content = Content(file=file, name=name, media_type=_GZIP, sha256=sha256, attachment=True)
        return await deliver(request, content)


def _not_made() -> HTTPException:
    return HTTPException(
        HTTPStatus.SERVICE_UNAVAILABLE,
        Sentence("This is being made anew. Try again in a minute."),
        {"Retry-After": str(_RETRY_AFTER)},
    )


_LLMS: Final = """\
# {name}

> An archive of items with persistent identifiers (IBI). Each item has a page, a description in
> several formats, and files.

To have all descriptions, fetch one file instead of crawling. Cite an item by its persistent URL,
which its page names. The licence of an item is in its description: no other permission is given.

## Everything at once

- [All public metadata]({base}{dump}): JSON lines, compressed by gzip, with ETag and ranges
- [What that file has]({base}{dumps}): size, SHA-256, time, number of items
- [Sitemap]({base}{sitemap}): the pages of all items, with the time of their last change
- [New items]({base}/feed.atom): Atom

## One by one

- [API]({base}/openapi.json): the JSON API (OpenAPI); what is public needs no token
- [Search]({base}/api/v1/search?q=): results as JSON
"""
