"""An archive over HTTP: the whole of it, readable in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.routing import Route

from ibi.archive.archive import Archive
from ibi.archive.deposits import Deposits
from ibi.archive.used_keys import UsedKeys
from ibi.errors import IbiError
from ibi.web.application import application
from ibi.web.archive_metrics import ArchiveMetrics
from ibi.web.archive_service import ArchiveService
from ibi.web.archive_status import ArchiveStatus
from ibi.web.branch import Branch
from ibi.web.item_pages import ItemPages
from ibi.web.reading import Reading

_ROUND: Final = 3600.0
"""Seconds between two rounds of housekeeping."""
_THREADS: Final = 64
"""That wait: those who change something take turns, and readers must not wait for them too."""


class Api(Protocol):
    """A part of the API."""

    @property
    def routes(self) -> list[Route]:
        """Where it answers."""


class Service(Protocol):
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
        apis: Sequence[Api],
        services: Sequence[Service],
        rounds: Sequence[Callable[[], None]],
        reading: Reading,
        pages: ItemPages,
        metrics: ArchiveMetrics,
        version: str,
    ) -> None:
        """Put it together; each of the rounds of housekeeping bears to be made at any time."""
        self._used_keys = UsedKeys(archive.catalogue, archive.clock)
        self._deposits = deposits
        self._service = service
        self._apis = apis
        self._services = services
        self._rounds = rounds
        self._reading = reading
        self._pages = pages
        self._metrics = metrics
        self._status = ArchiveStatus(archive.catalogue, metrics, version)

    def asgi(self) -> Starlette:
        """Return the application."""
        routes = [
            Branch("/api/", [route for api in self._apis for route in api.routes]),
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
