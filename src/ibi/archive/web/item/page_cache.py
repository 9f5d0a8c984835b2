"""Rendered pages of items, valid until the archive changes.

Every change of an archive adds a line to its history in the same transaction. So a page is current
while the newest line is the one from before it was made. What changes without a line (views and
downloads, checks of copies) may be as old as a page in the cache of a browser.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.web.visitor import current_visitor
from ibi.model.clock import SECOND

MAX_BYTES: Final = 16 << 20
"""Bytes of all pages that are kept."""
MAX_AGE: Final = 60 * SECOND
"""Nanoseconds for which a page is kept, the same as `max-age` of its response."""


@dataclass(frozen=True, slots=True)
class _Kept:
    item: int
    newest: int
    made: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class PageCache:
    """Keeps the pages that were asked for last."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[bytes, ...], _Kept] = OrderedDict()
        self._size = 0

    def __contains__(self, key: tuple[bytes, ...]) -> bool:
        """Return whether a page is kept, current or not."""
        return key in self._pages

    def get(self, key: tuple[bytes, ...], newest: int, now: int) -> tuple[int, Response] | None:
        """Return the number of the item and its page, if it is current.

        `newest` is the number of the newest line of the history.
        """
        kept = self._pages.get(key)
        if kept is None:
            return None
        if kept.newest != newest or not 0 <= now - kept.made < MAX_AGE:
            self._remove(key)
            return None
        self._pages.move_to_end(key)
        response = Response(media_type="text/html")
        response.body = kept.body
        response.raw_headers = [*kept.headers]  # a new list: what handles a response may change it
        return kept.item, response

    def put(
        self, key: tuple[bytes, ...], item: int, newest: int, now: int, response: Response
    ) -> None:
        """Keep the page of an item; `newest` was read before the page was made."""
        self._remove(key)
        body = bytes(response.body)
        self._pages[key] = _Kept(item, newest, now, tuple(response.raw_headers), body)
        self._size += len(body)
        while self._size > MAX_BYTES:
            self._remove(next(iter(self._pages)))

    def _remove(self, key: tuple[bytes, ...]) -> None:
        kept = self._pages.pop(key, None)
        if kept is not None:
            self._size -= len(kept.body)


def page_key(request: Request, persistent_base: str) -> tuple[bytes, ...]:
    """Return what a page depends on beside the state of the archive."""
    headers: Headers = request.headers
    visitor = current_visitor()  # every page shows the name of the person who is signed in
    return (
        request.scope["raw_path"],
        request.scope["query_string"],
        headers.get("accept-language", "").encode("latin-1"),
        persistent_base.encode(),
        f"{visitor.account} {visitor.full_name}".encode(),
    )
