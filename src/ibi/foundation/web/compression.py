"""Entity tags and compression of responses that an application sends as a whole.

A page, a JSON document or a style sheet gets an entity tag, by which a client asks whether it
changed, and is compressed by gzip if the client takes that. Files of items are not touched: they
are sent in parts and by ranges. Nor are answers to POST, which may show a secret once, or to
requests with a cookie: the length of a compressed secret tells of it (BREACH).
"""

from __future__ import annotations

import asyncio
import gzip
from collections import OrderedDict
from collections.abc import MutableMapping
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS: Final = frozenset({"GET", "HEAD"})
_REDIRECTION: Final = 3
"""The first digit of the status of a redirect."""
_SMALLEST: Final = 600
"""Bytes below which a response fits one packet anyway."""
_LARGEST_HERE: Final = 131_072
"""Bytes up to which a response is compressed in the event loop, within some milliseconds."""
_LEVEL: Final = 5
_MAX_CACHED: Final = 16_777_216
"""Bytes of compressed responses that are kept in memory."""
_TEXTS: Final = ("text/html", "text/css", "text/javascript", "text/xml")
_SUFFIXES: Final = ("json", "xml")
_LEFT_OUT: Final = ("content-length", "content-type", "content-encoding")
"""Headers that describe a body, which an answer without one lacks (RFC 9110, 15.4.5)."""


class Compression:
    """Adds entity tags, answers that nothing changed, and compresses."""

    def __init__(self, app: ASGIApp) -> None:
        """Finish the responses of an application."""
        self._app = app
        self._cached: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and finish its response if that comes as a whole."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        held: Message | None = None

        async def finishing(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] // 100 != _REDIRECTION:  # it has no content
                    headers.setdefault("X-Content-Type-Options", "nosniff")
                if scope["method"] in _METHODS and _is_text(message["status"], headers):
                    headers.add_vary_header("Accept-Encoding")
                    held = message
                    return
            elif held is not None:
                start, held = held, None
                if message["type"] == "http.response.body" and not message.get("more_body", False):
                    message = await self._finished(Headers(scope=scope), start, message)
                await send(start)
            await send(message)

        await self._app(scope, receive, finishing)

    async def _finished(
        self, asked: Headers, start: MutableMapping[str, Any], message: Message
    ) -> Message:
        """Change the head of a response, and return its body."""
        headers, body = MutableHeaders(scope=start), message.get("body", b"")
        is_kept = "no-store" not in headers.get("cache-control", "")
        if start["status"] == HTTPStatus.OK and is_kept and body:
            digest = blake2b(body, digest_size=12).hexdigest()
            headers.setdefault("ETag", f'W/"{digest}"')
            if headers["etag"].removeprefix("W/") in asked.get("if-none-match", ""):
                start["status"] = int(HTTPStatus.NOT_MODIFIED)
                for name in _LEFT_OUT:
                    del headers[name]
                return {**message, "body": b""}
        if len(body) < _SMALLEST or "cookie" in asked or not _takes_gzip(asked):
            return message
        body = await self._compressed(body, headers.get("etag", "") if is_kept else "")
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(body))
        if "etag" in headers and not headers["etag"].startswith("W/"):
            headers["ETag"] = f"W/{headers['etag']}"  # other bytes (RFC 9110, 8.8.1)
        return {**message, "body": body}

    async def _compressed(self, body: bytes, tag: str) -> bytes:
        key = f"{tag} {len(body)}"
        if tag and key in self._cached:
            self._cached.move_to_end(key)
            return self._cached[key]
        if len(body) > _LARGEST_HERE:
            compressed = await asyncio.to_thread(gzip.compress, body, _LEVEL, mtime=0)
        else:
            compressed = gzip.compress(body, _LEVEL, mtime=0)
        if tag and key not in self._cached:
            self._cached[key] = compressed
            self._size += len(compressed)
            while self._size > _MAX_CACHED:
                _, dropped = self._cached.popitem(last=False)
                self._size -= len(dropped)
        return compressed


def _is_text(status: int, headers: Headers) -> bool:
    """Return whether a response may be compressed: no part of a file, and nothing compressed."""
    if status in {HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
        return False
    if "content-encoding" in headers or "accept-ranges" in headers:
        return False
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type in _TEXTS or media_type.endswith(_SUFFIXES)


def _takes_gzip(asked: Headers) -> bool:
    """Return whether a client takes gzip (RFC 9110, 12.5.3)."""
    for each in asked.get("accept-encoding", "")[:1000].lower().split(","):
        name, _, parameter = each.partition(";")
        if name.strip() in {"gzip", "*"}:
            return parameter.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
