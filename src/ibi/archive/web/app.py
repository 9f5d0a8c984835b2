"""An archive over HTTP: the whole of it, readable in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from ibi.archive.archive import Archive
from ibi.archive.deposits.deposits import Deposits
from ibi.archive.ports.statistics import Statistics
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.archive.web.protocol import ArchiveService
from ibi.archive.web.public_routes import PublicRoutes
from ibi.archive.web.status import ArchiveStatus
from ibi.errors import IbiError
from ibi.foundation.web.base_app import application
from ibi.model.clock import Clock

SECOND: Final = 1_000_000_000
_DRIFT: Final = 60 * SECOND
"""By which the clock may be put right between two rounds: less than a key lives."""


class UsedKeyCleanup:
    """Forgets used keys, round by round."""

    def __init__(self, statistics: Statistics, clock: Clock) -> None:
        """Begin without a round: the first one forgets nothing."""
        self._statistics = statistics
        self._clock = clock
        self._before: tuple[int, int] | None = None

    def forget(self) -> None:
        """Forget those that had run out in the round before."""
        before, now = self._before, (self._clock.wall(), self._clock.uptime())
        self._before = now
        if before is None:
            return
        drift = (now[0] - before[0]) - (now[1] - before[1])
        if abs(drift) <= _DRIFT:
            self._statistics.forget_keys(before[0] // SECOND)


class PrefixRoutes(BaseRoute):
    """Routes whose paths have one beginning; which of them answers is as without it."""

    def __init__(self, beginning: str, routes: Sequence[BaseRoute]) -> None:
        """Look at routes only for paths that begin as all of theirs do."""
        self._beginning = beginning
        self.routes = tuple(routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the first route that takes the request; else the first that has its path."""
        found: tuple[Match, Scope] = (Match.NONE, {})
        if not scope["path"].startswith(self._beginning):
            return found
        for route in self.routes:
            match, child = route.matches(scope)
            if match.value > found[0].value:
                found = match, {**child, "route": route}
            if match is Match.FULL:
                break
        return found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route answer that was found."""
        await scope["route"].handle(scope, receive, send)


_ROUND: Final = 3600.0
"""Seconds between two rounds of housekeeping."""
_THREADS: Final = 64
"""That wait: those who change something take turns, and readers must not wait for them too."""


class RouteGroup(Protocol):
    """A part of the API."""

    @property
    def routes(self) -> list[Route]:
        """Where it answers."""


class BackgroundService(Protocol):
    """What goes on by itself, from the start of the application to its end."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End, and wait until it has."""


class ArchiveApp:
    """What an archive's application is made of."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        archive: Archive,
        deposits: Deposits,
        service: ArchiveService,
        apis: Sequence[RouteGroup],
        services: Sequence[BackgroundService],
        rounds: Sequence[Callable[[], None]],
        reading: PublicRoutes,
        pages: ItemPages,
        metrics: ArchiveMetrics,
        version: str,
    ) -> None:
        """Put it together; each of the rounds of housekeeping bears to be made at any time."""
        self._used_keys = UsedKeyCleanup(archive.catalogue.statistics, archive.clock)
        self._deposits = deposits
        self._service = service
        self._apis = apis
        self._services = services
        self._rounds = rounds
        self._reading = reading
        self._pages = pages
        self._metrics = metrics
        self._status = ArchiveStatus(archive.catalogue.items, metrics, version)

    def asgi(self) -> Starlette:
        """Return the application."""
        routes = [
            PrefixRoutes("/api/", [route for api in self._apis for route in api.routes]),
            *self._status.routes,
            *self._reading.routes,
        ]
        app = application(routes, self._lifespan, self._pages.problem, self._metrics.observe)
        self._status.share(app)
        return app

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        threads = ThreadPoolExecutor(_THREADS, "ibi")
        asyncio.get_running_loop().set_default_executor(threads)
        self._service.counting.open()
        self._metrics.watch(self._service.counting)
        for each in self._services:
            each.start()
        housekeeping = asyncio.create_task(self._keep_house(), name="ibi-housekeeping")
        try:
            yield
        finally:
            housekeeping.cancel()
            with suppress(asyncio.CancelledError):
                await housekeeping
            for each in self._services:
                await asyncio.to_thread(each.stop)
            await self._service.counting.close()

    async def _keep_house(self) -> None:
        """Remove what nobody needs any more, at the start and then now and again."""
        while True:
            for make in (self._deposits.sweep, self._used_keys.forget, *self._rounds):
                with suppress(IbiError):  # the next round sees to it
                    await asyncio.to_thread(make)
            await asyncio.sleep(_ROUND)
