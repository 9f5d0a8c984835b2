"""Public pages for people who are signed in: they show a name, so no cache may share them."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ibi.foundation.web.visitor import Visiting, VisitorFinder

_OPEN: Final = ("/static/", "/api/", "/healthz", "/readyz", "/metrics")
"""Beginnings of paths whose answers show no name."""


class PersonalPages:
    """Makes the pages of an application for the person who is signed in."""

    def __init__(self, app: ASGIApp, visitors: VisitorFinder | None) -> None:
        """Pass requests on unchanged without a finder of visitors, or without a cookie."""
        self._app = app
        self._visitors = visitors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the person of a request that has a cookie, and mark the pages as private."""
        visitors = self._visitors
        if scope["type"] != "http" or visitors is None or scope["path"].startswith(_OPEN):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if not visitors.has_cookie(request):
            await self._app(scope, receive, send)
            return
        visitor = await visitors.of(request)
        if not visitor.is_signed_in:
            await self._app(scope, receive, send)
            return

        async def private(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = headers.get("content-type", "").startswith("text/html")
                if is_page and "no-store" not in headers.get("cache-control", ""):
                    headers["Cache-Control"] = "private, no-cache"
            await send(message)

        with Visiting(visitor):
            await self._app(scope, receive, private)
