"""The ASGI application of an archive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.routing import Route

from ibi.archive.housekeeping import Housekeeping
from ibi.archive.web.access_counter import AccessCounter
from ibi.archive.web.api.operations import OPERATIONS
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.metrics import ArchiveMetrics, share_metrics
from ibi.archive.web.page_operations import PAGE_OPERATIONS
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.foundation.accounts.people import AccountPages
from ibi.foundation.figures.recorder import FiguresRecorder
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.base_app import application
from ibi.foundation.web.operations import routes_of
from ibi.foundation.web.page_operations import page_routes
from ibi.foundation.web.routing import Branch

THREADS: Final = 64
"""Threads of the event loop: changes wait for each other, and reads must not wait for them."""
_API: Final = "/api/"


class BackgroundService(Protocol):
    """A service that runs from the start of the application to its end."""

    def start(self) -> None:
        """Start the service."""

    def stop(self) -> None:
        """Stop the service, and wait for its end."""


@dataclass(frozen=True, slots=True)
class Running:
    """The background services of an archive that serves."""

    counting: AccessCounter
    usage: UsageRecorder
    figures: FiguresRecorder
    services: Sequence[BackgroundService]
    housekeeping: Housekeeping

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start everything in order; the housekeeping ends first, the counting last."""
        self.counting.open()
        self.usage.open()
        self.figures.open()
        for each in self.services:
            each.start()
        self.housekeeping.start()
        try:
            yield
        finally:
            await self.housekeeping.stop()
            for each in self.services:
                await asyncio.to_thread(each.stop)
            await self.usage.close()
            await self.counting.close()
            await self.figures.close()


def archive_application(  # noqa: PLR0913, PLR0917  # its parts
    apis: Sequence[object],
    authorizer: Authorizer,
    running: Running,
    accounts: AccountPages,
    reading: Sequence[Route],
    pages: ItemPages,
    metrics: ArchiveMetrics,
) -> Starlette:
    """Return the application of an archive; `apis` have the handlers of its operations.

    `accounts` has those of the pages for people with accounts. `reading` are its public routes, the
    last of which matches every path.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "ibi"))
        async with running.open():
            metrics.watch(running.counting)
            yield

    operations = routes_of(OPERATIONS, apis, authorizer)
    routes = [
        Branch(_API, [route for route in operations if route.path.startswith(_API)]),
        *(route for route in operations if not route.path.startswith(_API)),
        *page_routes(PAGE_OPERATIONS, accounts.handlers, accounts.gate),
        *reading,
    ]
    app = application(routes, lifespan, pages.problem, metrics.observe, accounts.gate.visitors)
    share_metrics(app, metrics)
    return app
