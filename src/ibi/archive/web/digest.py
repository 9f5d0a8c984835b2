"""The digest of an archive over HTTP, in pages, without a token."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.ports.catalogue import DigestState
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.errors import Sentence
from ibi.foundation.web.request_body import number_of
from ibi.wire.digest import MAX_CURSOR, MEDIA_TYPE, DigestPage, encode

PATH: Final = "/api/v1/digest"
_KEPT: Final = 16
"""Pages in the cache, about 4 MB."""
_WAITING: Final = 32
"""Requests that may wait for a page, which takes a tenth of a second to build."""


_Written: TypeAlias = tuple[bytes, str]
"""The bytes of a page and its entity tag."""
_FULL: Final = -1


class _Kept(NamedTuple):
    end: int
    """The last number of the log when the page was built; `_FULL` if it never changes."""
    written: _Written


class DigestEndpoint:
    """The handler of the digest, which is public: that an item is held is no secret."""

    def __init__(self, digest: DigestLog, *, published: bool) -> None:
        """Serve the digest of one archive; answer 404 if it is not published."""
        self._digest = digest
        self._published = published
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()
        """Pages by epoch and the number that they follow."""

    async def page(self, request: Request) -> Response:
        """Answer with the page that follows a cursor."""
        if not self._published:
            raise HTTPException(HTTPStatus.NOT_FOUND, Sentence("This archive publishes no digest."))
        epoch = request.query_params.get("epoch", "")
        after = number_of(request.query_params.get("after", "") or "0", 0, MAX_CURSOR)
        state, place = await asyncio.to_thread(self._digest.place, epoch, after)
        if not state.whole:
            raise _later("The digest is being written for the first time.")
        body, tag = await self._body(state, place)
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(body, headers=headers, media_type=MEDIA_TYPE)

    async def _body(self, state: DigestState, place: int) -> _Written:
        if place == state.last:
            return _written(DigestPage(state.epoch, place, place, more=False))
        known = self._known(state, place)
        if known is not None:
            return known
        if self._waiting >= _WAITING:
            raise _later("Too many read the digest just now.")
        self._waiting += 1
        try:
            async with self._turn:
                # A request before this one may have built the same page.
                return self._known(state, place) or await self._build(state, place)
        finally:
            self._waiting -= 1

    def _known(self, state: DigestState, place: int) -> _Written | None:
        """Return a page of the cache, if no row was added to it since."""
        kept = self._kept.get((state.epoch, place))
        if kept is None or kept.end not in {_FULL, state.last}:
            return None
        self._kept.move_to_end((state.epoch, place))
        return kept.written

    async def _build(self, state: DigestState, place: int) -> _Written:
        """Build a page, then sleep as long: public requests use half of the time at most."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        page = await asyncio.to_thread(self._digest.page, state, place)
        written = await asyncio.to_thread(_written, page)
        self._kept[state.epoch, place] = _Kept(_FULL if page.more else state.last, written)
        self._kept.move_to_end((state.epoch, place))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        await asyncio.sleep(loop.time() - begun)
        return written


def _written(page: DigestPage) -> _Written:
    # Every archive that publishes a digest runs a ChangeNotifier.
    page = replace(page, notifies=True)
    return encode(page), f'"{page.epoch}-{page.after}-{page.last}-{page.more:d}"'


def _later(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, why, headers={"Retry-After": "60"})
