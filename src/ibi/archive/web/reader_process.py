"""A reader of an archive over HTTP: one of several processes that answer at one address.

It answers what needs the catalogue and the files, and changes nothing. Everything else is handed
on to the keeper, as it came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, NoReturn

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.rules.answer import Identity
from ibi.archive.rules.url_keys import UrlKeys
from ibi.archive.web.api.operations import OPERATIONS
from ibi.archive.web.app import THREADS
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.archive.web.protocol import ArchiveService
from ibi.archive.web.public_routes import PublicRoutes
from ibi.archive.web.status import share_metrics
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.base_app import application
from ibi.foundation.web.operations import routes_of
from ibi.model.clock import Clock
from ibi.wire.requests import Acknowledgment

_READING: Final = frozenset({"GET", "HEAD"})
_API: Final = "/api/"
READ_HERE: Final = ("/api/v1/items", "/api/v1/holdings", "/api/v1/digest")
"""Where programs read what stands in the catalogue."""


def is_for_writer(method: str, path: str) -> bool:
    """Tell whether a request is none that a reader answers."""
    if method not in _READING:
        return True
    return path.startswith(_API) and not path.startswith(READ_HERE)


class WriterRoute(BaseRoute):
    """Takes whatever is for the keeper."""

    def __init__(self, writer: ASGIApp) -> None:
        """Have it answered by an application."""
        self._writer = writer

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Take it, or leave it to others."""
        is_keepers = scope["type"] == "http" and is_for_writer(scope["method"], scope["path"])
        return (Match.FULL if is_keepers else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand it on."""
        await self._writer(scope, receive, send)


class _HandedOn(Response):
    """An answer that the keeper gives."""

    def __init__(self, writer: ASGIApp) -> None:
        super().__init__()
        self._writer = writer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._writer(scope, receive, send)


class _ForKeeperError(Exception):
    """A message turned out to be one that the keeper has to answer."""


class ReaderService(ArchiveService):
    """Answers resolvers, but for acknowledgments: accesses are counted by the keeper."""

    def __init__(
        self,
        catalogue: Catalogue,
        identity: Identity,
        keys: UrlKeys,
        clock: Clock,
        writer: ASGIApp,
    ) -> None:
        """Answer for an archive."""
        super().__init__(catalogue, identity, keys, clock)
        self._writer = writer

    async def serve(self, request: Request) -> Response:
        """Answer a request, or have it answered."""
        try:
            return await super().serve(request)
        except _ForKeeperError:
            return _HandedOn(self._writer)

    async def _acknowledge(self, asked: Acknowledgment) -> NoReturn:
        del asked
        raise _ForKeeperError


def reader_application(  # noqa: PLR0913, PLR0917  # its parts
    writer: ASGIApp,
    apis: Sequence[object],
    authorizer: Authorizer,
    reading: PublicRoutes,
    pages: ItemPages,
    metrics: ArchiveMetrics,
) -> Starlette:
    """Return the application of a reader; `apis` have the handlers of its operations."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "ibi"))
        yield

    operations = [each for each in OPERATIONS if not is_for_writer(each.method, each.path)]
    routes = [
        WriterRoute(writer),
        *routes_of(operations, apis, authorizer),
        *reading.routes,
    ]
    app = application(routes, lifespan, pages.problem, metrics.observe)
    share_metrics(app, metrics)
    return app
