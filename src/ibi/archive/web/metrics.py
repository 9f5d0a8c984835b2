"""Prometheus metrics of an archive, and the status endpoints of each of its processes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.applications import Starlette
from starlette.requests import Request

from ibi.archive.copies.copies import Copies
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.ports.catalogue import Items
from ibi.archive.rules.announcement import Link
from ibi.archive.search.full_text import FullTextExtraction
from ibi.archive.web.access_counter import AccessCounter
from ibi.archive.web.api.operations import DESCRIPTION, OPERATIONS
from ibi.errors import StorageError
from ibi.foundation.figures.prometheus import counts_by, durations_of
from ibi.foundation.figures.recorder import Readings
from ibi.foundation.interprocess.worker_metrics import encoded_metrics, page_for, set_metrics_source
from ibi.foundation.system.disk import check_room
from ibi.foundation.web import openapi
from ibi.foundation.web.status import StatusApi

BOUNDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300)
"""The bounds in seconds by which durations are counted."""
REQUESTS: Final = "requests"
"""The name of requests and of their durations among the figures."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


class ArchiveMetrics:
    """Metrics of one archive."""

    def __init__(self) -> None:
        """Create all metrics in a registry of their own."""
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "ibi_archive_requests",
            "Requests answered",
            ["method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ibi_archive_request_seconds",
            "How long requests take",
            buckets=BOUNDS,
            registry=self.registry,
        )
        self._included = Gauge(
            "ibi_archive_included",
            "1 if the resolver includes the archive",
            ["resolver"],
            registry=self.registry,
        )

    def observe(self, method: str, status: int, seconds: float) -> None:
        """Record a request; unknown methods share one label, so that clients cannot add labels."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, str(status)).inc()
        self._seconds.observe(seconds)

    def readings(self) -> Readings:
        """Return the requests that this process answered, by status and by duration."""
        statuses = {
            f"status.{status}": count
            for status, count in counts_by(self._requests, "status").items()
        }
        requests = {REQUESTS: sum(statuses.values())}
        return Readings({**statuses, **requests}, {REQUESTS: durations_of(self._seconds)})

    def observe_link(self, link: Link) -> None:
        """Record the state of the link to a resolver."""
        self._included.labels(link.resolver).set(link.state == "included")

    def watch(self, counting: AccessCounter) -> None:
        """Report the number of counted accesses."""
        counted = Gauge(
            "ibi_archive_accesses_counted",
            "Accesses counted since the start",
            registry=self.registry,
        )
        counted.set_function(lambda: counting.counted)

    def watch_damage(self, damages: DamageLog) -> None:
        """Report the number of damaged files."""
        damaged = Gauge(
            "ibi_archive_damaged_files",
            "Files that are not what was deposited",
            registry=self.registry,
        )
        damaged.set_function(lambda: damages.count)

    def watch_full_text(self, extraction: FullTextExtraction) -> None:
        """Report the number of items whose files are not searched yet."""
        waiting = Gauge(
            "ibi_archive_full_text_waiting",
            "Items whose files wait to be searched by their text",
            registry=self.registry,
        )
        waiting.set_function(lambda: extraction.waiting)

    def watch_copies(self, copies: Copies) -> None:
        """Report the numbers of copies and of missing Originals."""
        all_of_them = Gauge(
            "ibi_archive_copies", "Copies of items of other archives", registry=self.registry
        )
        all_of_them.set_function(lambda: copies.counted[0])
        missing = Gauge(
            "ibi_archive_originals_missing",
            "Copies whose Original cannot be found",
            registry=self.registry,
        )
        missing.set_function(lambda: copies.counted[1])


def archive_status(
    items: Items, metrics: ArchiveMetrics, version: str, folders: Sequence[Path]
) -> StatusApi:
    """Return the status endpoints of a process with these items and metrics.

    It is ready if items can be read, and the disks of these folders have room for changes.
    """

    async def check() -> None:
        check_room(*folders)
        if not await asyncio.to_thread(items.page, 0, 1):
            raise StorageError("of the catalogue", "it is empty")

    async def page(request: Request) -> bytes:
        return await page_for(request, metrics.registry)

    return StatusApi(openapi.document(DESCRIPTION, OPERATIONS, version), check, page)


def share_metrics(app: Starlette, metrics: ArchiveMetrics) -> None:
    """Publish the metrics of this process to the other processes of the archive."""

    async def own_metrics() -> bytes:
        return encoded_metrics(metrics.registry)

    set_metrics_source(app, own_metrics)
