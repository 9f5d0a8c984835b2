"""A resolver over HTTP: the whole of it, readable in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request

from ibi.foundation.interprocess.worker_metrics import encoded_metrics, page_for, set_metrics_source
from ibi.foundation.web import openapi
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.base_app import application
from ibi.foundation.web.operations import routes_of
from ibi.foundation.web.status import StatusApi
from ibi.model.registration import ArchiveState
from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.digests.locations import Locations
from ibi.resolver.digests.log_follower import LogFollower
from ibi.resolver.ports.outbound import ArchiveClient
from ibi.resolver.registry.health_check import HealthCheck
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.recorder import SearchRecorder
from ibi.resolver.web.fast_redirects import FastRedirects
from ibi.resolver.web.metrics import ResolverMetrics
from ibi.resolver.web.operations import DESCRIPTION, OPERATIONS
from ibi.resolver.web.public_routes import ResolverPublicRoutes
from ibi.resolver.web.register_page import RegisterPage
from ibi.resolver.workers.change_feed import ChangeFeed
from ibi.resolver.workers.leases import WorkerLeases


@dataclass(frozen=True, slots=True)
class BackgroundServices:
    """What runs in the background while a resolver serves."""

    registry: Registry
    worker_leases: WorkerLeases
    change_feed: ChangeFeed
    searching: SearchPool
    owners: Owners
    conflicts: Conflicts
    recorder: SearchRecorder
    acknowledgments: AcknowledgmentSender
    watch: HealthCheck
    locations: Locations
    digests: DigestFetcher
    log_follower: LogFollower
    client: ArchiveClient

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Begin with everything, and end it in the opposite order."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.client.close)
            await self.registry.open()
            stack.push_async_callback(self.registry.close)
            await self.worker_leases.open()
            stack.push_async_callback(self.worker_leases.close)
            change_feed = asyncio.create_task(self.change_feed.run(), name="ibi-following")
            stack.push_async_callback(_end, change_feed)
            stack.push_async_callback(self.conflicts.close)
            self.owners.open()
            stack.push_async_callback(self.owners.close)
            stack.push_async_callback(self.recorder.close)
            self.acknowledgments.open()
            stack.push_async_callback(self.acknowledgments.close)
            stack.callback(self.locations.close)
            stack.push_async_callback(self.log_follower.close)
            stack.push_async_callback(self.searching.close)
            watching = asyncio.create_task(self.watch.run(), name="ibi-watch")
            stack.push_async_callback(_end, watching)
            fetching = asyncio.create_task(self.digests.run(), name="ibi-digests")
            stack.push_async_callback(_end, fetching)
            yield


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class ResolverApp:
    """What a resolver's application is made of."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        running: BackgroundServices,
        apis: Sequence[object],
        authorizer: Authorizer,
        register_page: RegisterPage,
        reading: ResolverPublicRoutes,
        metrics: ResolverMetrics,
        warm: FastRedirects,
        version: str,
    ) -> None:
        """Put it together; `apis` have the handlers of its operations."""
        self._running = running
        self._apis = apis
        self._authorizer = authorizer
        self._register_page = register_page
        self._reading = reading
        self._metrics = metrics
        self._open_conflicts = 0
        document = openapi.document(DESCRIPTION, OPERATIONS, version)
        self._status = StatusApi(document, self._check, self._page)
        self._watch(warm)

    def _watch(self, warm: FastRedirects) -> None:
        registry, told = self._running.registry, self._running.acknowledgments
        where = self._running.locations
        self._metrics.watch_states(
            lambda state: sum(archive.state == state for archive in registry.all()),
            tuple(ArchiveState),
        )
        for name, what, read in (
            ("warm_answers", "Redirections given again at once", lambda: warm.given),
            ("warm_targets", "Addresses whose redirection is known", lambda: len(warm)),
            (
                "logs_read",
                "Archives whose changes are followed",
                lambda: len(self._running.log_follower),
            ),
            ("searches", "Searches begun", lambda: self._running.searching.begun),
            ("searches_under_way", "Searches", lambda: len(self._running.searching)),
            ("accesses_told", "Accesses that archives were told of", lambda: told.accesses_told),
            ("accesses_waiting", "Accesses to tell archives of", lambda: told.waiting),
            ("accesses_given_up", "Accesses that nobody was told of", lambda: told.given_up),
            ("accesses_lost", "Accesses for which there was no room", lambda: told.lost),
            ("digests", "Digests that are here as a whole", lambda: where.whole),
            ("digest_names", "Fingerprints in digests", lambda: where.names),
            ("digest_age_seconds", "Since the oldest was confirmed", lambda: where.age),
            ("conflicts_open", "Conflicts that need a person", lambda: self._open_conflicts),
        ):
            self._metrics.watch(name, what, read)

    def asgi(self) -> Starlette:
        """Return the application."""
        routes = [
            *routes_of(OPERATIONS, (*self._apis, self._reading, self._status), self._authorizer),
            *self._register_page.routes,
            *self._reading.routes,
        ]
        app = application(routes, self._lifespan, self._reading.problem, self._metrics.observe)
        set_metrics_source(app, self._encoded_metrics)
        return app

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with self._running.open():
            yield

    async def _check(self) -> None:
        """Raise if the registry cannot be read."""
        await self._running.conflicts.count_open()

    async def _page(self, request: Request) -> bytes:
        self._open_conflicts = await self._running.conflicts.count_open()
        return await page_for(request, self._metrics.registry, self._metrics.common)

    async def _encoded_metrics(self) -> bytes:
        return encoded_metrics(self._metrics.registry)
