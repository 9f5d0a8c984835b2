"""The digest of an archive over HTTP: a page after the other, for everybody."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.ports.catalogue import DigestState
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.foundation.web.request_body import number_of
from ibi.wire.digest import MAX_CURSOR, MEDIA_TYPE, DigestPage, encode

PATH: Final = "/api/v1/digest"
_KEPT: Final = 16
"""Pages that are kept for whoever asks for the same: 4 MB."""
_WAITING: Final = 32
"""Who may wait for a page: to put one together takes a tenth of a second."""


_Written: TypeAlias = tuple[bytes, str]
"""A page and its tag."""
_FULL: Final = -1


class _Kept(NamedTuple):
    end: int
    """How far the log had come; `_FULL` if the page never changes."""
    written: _Written


class DigestEndpoint:
    """Its handler: that an item is here is no secret."""

    def __init__(self, digest: DigestLog, *, published: bool) -> None:
        """Tell of one archive's digest; or that there is none, if it is not to be published."""
        self._digest = digest
        self._published = published
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()
        """By what they follow."""

    async def page(self, request: Request) -> Response:
        """Answer with what follows a cursor."""
        if not self._published:
            raise HTTPException(HTTPStatus.NOT_FOUND, "This archive publishes no digest.")
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
                # Whoever was in line before may have asked for the same.
                return self._known(state, place) or await self._put_together(state, place)
        finally:
            self._waiting -= 1

    def _known(self, state: DigestState, place: int) -> _Written | None:
        """Return a page that was put together before, if nothing was to be added to it since."""
        kept = self._kept.get((state.epoch, place))
        if kept is None or kept.end not in {_FULL, state.last}:
            return None
        self._kept.move_to_end((state.epoch, place))
        return kept.written

    async def _put_together(self, state: DigestState, place: int) -> _Written:
        """Put a page together, and rest for as long: strangers get half of the time at most."""
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
    return encode(page), f'"{page.epoch}-{page.after}-{page.last}-{page.more:d}"'


def _later(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, why, headers={"Retry-After": "60"})
