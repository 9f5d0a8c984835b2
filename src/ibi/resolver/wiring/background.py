"""The background services of a resolver, in the order in which they start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, TypeAlias

from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.digests.locations import Locations
from ibi.resolver.digests.log_follower import LogFollower
from ibi.resolver.digests.log_relay import LogRelay
from ibi.resolver.ports.documents import DocumentClient
from ibi.resolver.ports.outbound import ArchiveClient
from ibi.resolver.registry.health_check import HealthCheck
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.archive_names import ArchiveNames
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.recorder import SearchRecorder
from ibi.resolver.workers.change_feed import ChangeFeed
from ibi.resolver.workers.leases import WorkerLeases

_Act: TypeAlias = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class BackgroundServices:
    """The services of one resolver process."""

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
    log_relay: LogRelay
    client: ArchiveClient
    documents: DocumentClient | None = None
    names: ArchiveNames | None = None
    """The names of archives and the client that fetches them; None without pages."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start all services, and stop them in the opposite order."""
        async with AsyncExitStack() as stack:
            for service in self._in_order():
                await stack.enter_async_context(service)
            yield

    def _in_order(self) -> tuple[AbstractAsyncContextManager[None], ...]:
        """Return the services in the order of their start: each may use those before it."""
        return (
            _service(None, self.client.close),
            *((_service(None, self.documents.close),) if self.documents else ()),
            _service(self.registry.open, self.registry.close),
            _service(self.worker_leases.open, self.worker_leases.close),
            _task(self.change_feed.run, "ibi-following"),
            _service(None, self.conflicts.close),
            _service(self.owners.open, self.owners.close),
            _service(None, self.recorder.close),
            _service(self.acknowledgments.open, self.acknowledgments.close),
            _service(None, self.locations.close),
            _service(None, self.log_follower.close),
            _service(None, self.searching.close),
            _task(self.watch.run, "ibi-watch"),
            _task(self.digests.run, "ibi-digests"),
            _task(self.log_relay.run, "ibi-log-relay"),
            *((_task(self.names.run, "ibi-archive-names"),) if self.names else ()),
        )


@asynccontextmanager
async def _service(start: _Act | None, stop: _Act) -> AsyncIterator[None]:
    if start is not None:
        await _done(start)
    try:
        yield
    finally:
        await _done(stop)


async def _done(act: _Act) -> None:
    result = act()
    if isawaitable(result):
        await result


@asynccontextmanager
async def _task(run: Callable[[], Coroutine[Any, Any, None]], name: str) -> AsyncIterator[None]:
    task = asyncio.create_task(run(), name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
