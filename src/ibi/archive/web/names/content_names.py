"""Names of bytes, by which a file is found: checksums and RFC 6920 (`ni:`).

    /hash/sha256/<64 hexadecimal digits>
    /.well-known/ni/sha-256/<base64url>      RFC 6920, 4
    /ni:///sha-256;<base64url>               RFC 6920, 3

A name leads only to a file that everybody may read and that everybody may know of. Whatever else
has these bytes is as if it were not there, for all readers alike, so that no answer tells whether
a limited item has some content.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.ports.catalogue import Items, StoredItem
from ibi.archive.rules.access import may_read
from ibi.archive.rules.answer import BY_PATH
from ibi.errors import ArchiveRequestError, Sentence, UnknownError, shown
from ibi.model.item import State
from ibi.wire.percent_encoding import path as in_url

WELL_KNOWN: Final = "/.well-known/ni/"
MOST_FILES: Final = 2000
"""Files with the same bytes that are looked at; empty files are common."""
_PAGE: Final = 100
"""Files that one query returns."""
_HEX: Final = re.compile(r"[0-9A-Fa-f]{64}")
# RFC 6920, 3: ni = "ni:" "//" [ authority ] "/" alg ";" val [ "?" query ]; slashes that a proxy
# merged are accepted, and an authority is ignored: this archive is asked.
_NI: Final = re.compile(r"/?ni:/{0,3}(?:[A-Za-z0-9.:-]{1,253}/)?([a-z0-9-]{1,20});([^/]*)")
_BASE64: Final = re.compile(r"[A-Za-z0-9_-]{43}=?")
_NAME: Final = "sha-256"


class _Place(NamedTuple):
    item: StoredItem
    path: str


class ContentNames:
    """Handlers of the routes of names of bytes."""

    def __init__(self, items: Items, base: str) -> None:
        """Find files of a catalogue; the archive is at the address `base`."""
        self._items = items
        self._base = base

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/hash/sha256/{digest}", self.by_hash),
            Route(WELL_KNOWN + "{algorithm}/{value}", self.by_well_known),
            Route("/ni:{rest:path}", self.by_ni),
        ]

    async def by_hash(self, request: Request) -> Response:
        """Redirect to a file with this SHA-256, in hexadecimal digits."""
        text = request.path_params["digest"]
        if _HEX.fullmatch(text) is None:
            raise _refusal(text, "sha256")
        return await self._lead(text.lower(), text)

    async def by_well_known(self, request: Request) -> Response:
        """Redirect to a file by RFC 6920, section 4."""
        parts = request.path_params
        return await self._by_value(parts["algorithm"], parts["value"])

    async def by_ni(self, request: Request) -> Response:
        """Redirect to a file by RFC 6920, section 3."""
        text = unquote(request.scope["raw_path"].decode("ascii", "replace"))
        found = _NI.fullmatch(text)
        if found is None:
            raise _refusal(text, "ni")
        return await self._by_value(found[1], found[2])

    async def _by_value(self, algorithm: str, value: str) -> Response:
        if algorithm != _NAME:
            raise UnknownError("file", shown(f"{algorithm};{value}"))
        if _BASE64.fullmatch(value) is None:
            raise _refusal(value, "ni")
        try:
            digest = base64.urlsafe_b64decode(value.rstrip("=") + "=").hex()
        except binascii.Error:
            raise _refusal(value, "ni") from None
        return await self._lead(digest, value)

    async def _lead(self, sha256: str, name: str) -> Response:
        found = await asyncio.to_thread(self._find, sha256)
        if found is None:
            raise UnknownError("file", name)
        label = found.item.item.forms.label.spelling
        # A name of bytes leads to them, never to the page on which people land.
        mark = f"?{BY_PATH}" if found.path == found.item.item.target else ""
        location = f"{self._base}/col/{label}/doc/{in_url(found.path)}{mark}"
        # What is public today may be limited tomorrow.
        headers = {"Location": location, "Cache-Control": "no-cache"}
        return Response(status_code=HTTPStatus.FOUND, headers=headers)

    def _find(self, sha256: str) -> _Place | None:
        """Return the first file with these bytes that is public."""
        after = (0, "")
        for _ in range(0, MOST_FILES, _PAGE):
            found = self._items.with_content(sha256, after, _PAGE)
            for held, path in found:
                if _is_public(held, path):
                    return _Place(held, path)
            if len(found) < _PAGE:
                return None
            after = found[-1][0].id, found[-1][1]
        return None


def _is_public(held: StoredItem, path: str) -> bool:
    """Return whether every reader may read a file, and may know that the item has it."""
    item = held.item
    if item.state is State.DELETED or not may_read(item, ()):
        return False
    return item.list_public or path == item.target


def _refusal(text: str, kind: str) -> ArchiveRequestError:
    if kind == "sha256":
        expected = Sentence("a SHA-256, which has 64 hexadecimal digits")
    else:
        expected = Sentence("ni:///sha-256; and 43 characters of base64url (RFC 6920)")
    return ArchiveRequestError(
        Sentence(
            "%(text)s names no bytes: expected %(expected)s.", text=shown(text), expected=expected
        )
    )
