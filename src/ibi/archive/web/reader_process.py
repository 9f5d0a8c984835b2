"""The application of a reader process, one of several that answer at one address.

It answers requests that only read the catalogue and the files. All other requests are forwarded to
the writer unchanged.
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
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.rules.answer import Identity
from ibi.archive.rules.url_keys import UrlKeys
from ibi.archive.web.api.operations import OPERATIONS
from ibi.archive.web.app import THREADS
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.metrics import ArchiveMetrics, share_metrics
from ibi.archive.web.names.reconciliation_routes import PATH as RECONCILE
from ibi.archive.web.page_operations import is_page
from ibi.archive.web.protocol import ArchiveService
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.foundation.figures.recorder import FiguresRecorder
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.base_app import application
from ibi.foundation.web.operations import routes_of
from ibi.foundation.web.visitor import VisitorFinder
from ibi.model.clock import Clock
from ibi.wire.requests import Acknowledgment

_READING: Final = frozenset({"GET", "HEAD"})
_API: Final = "/api/"
READ_HERE: Final = (
    "/api/v1/items",
    "/api/v1/search",
    "/api/v1/collections",
    "/api/v1/holdings",
    "/api/v1/digest",
    "/api/v1/changes",
)
"""Paths of the API that readers answer, from the catalogue."""


def is_for_writer(method: str, path: str) -> bool:
    """Return whether a request must be forwarded to the writer."""
    if path == RECONCILE:  # a batch of questions, which changes nothing
        return False
    if method not in _READING or is_page(path):
        return True
    return path.startswith(_API) and not path.startswith(READ_HERE)


class WriterRoute(BaseRoute):
    """Matches all requests that must be forwarded to the writer."""

    def __init__(self, writer: ASGIApp) -> None:
        """Forward requests by an application."""
        self._writer = writer

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a request is for the writer."""
        is_writers = scope["type"] == "http" and is_for_writer(scope["method"], scope["path"])
        return (Match.FULL if is_writers else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request."""
        await self._writer(scope, receive, send)


class _ForwardedAnswer(Response):
    """An answer of the writer."""

    def __init__(self, writer: ASGIApp) -> None:
        super().__init__()
        self._writer = writer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._writer(scope, receive, send)


class _ForWriterError(Exception):
    """The message must be answered by the writer."""


class ReaderService(ArchiveService):
    """Answers resolvers, except acknowledgments: the writer counts accesses."""

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
        """Answer a request, or forward it."""
        try:
            return await super().serve(request)
        except _ForWriterError:
            return _ForwardedAnswer(self._writer)

    async def _acknowledge(self, asked: Acknowledgment) -> NoReturn:
        del asked
        raise _ForWriterError


def reader_application(  # noqa: PLR0913, PLR0917  # its parts
    writer: ASGIApp,
    apis: Sequence[object],
    authorizer: Authorizer,
    reading: Sequence[Route],
    pages: ItemPages,
    metrics: ArchiveMetrics,
    usage: UsageRecorder,
    figures: FiguresRecorder,
    visitors: VisitorFinder,
) -> Starlette:
    """Return the application of a reader; `apis` have the handlers of its operations.

    `reading` are its public routes, the last of which matches every path.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "ibi"))
        usage.open()
        figures.open()
        try:
            yield
        finally:
            await usage.close()
            await figures.close()

    # A path has all its operations here too: GET of one that takes only POST is refused by 405.
    operations = [each for each in OPERATIONS if not is_for_writer("GET", each.path)]
    routes = [
        WriterRoute(writer),
        *routes_of(operations, apis, authorizer),
        *reading,
    ]
    app = application(routes, lifespan, pages.problem, metrics.observe, visitors)
    share_metrics(app, metrics)
    return app
