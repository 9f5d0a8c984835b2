"""Health and metrics of every process of an archive."""

from __future__ import annotations

import asyncio

from starlette.applications import Starlette
from starlette.requests import Request

from ibi.archive.ports.catalogue import Items
from ibi.archive.web.api.operations import DESCRIPTION, OPERATIONS
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.errors import StorageError
from ibi.foundation.interprocess.worker_metrics import encoded_metrics, page_for, set_metrics_source
from ibi.foundation.web import openapi
from ibi.foundation.web.status import StatusApi


def archive_status(items: Items, metrics: ArchiveMetrics, version: str) -> StatusApi:
    """Return the status endpoints of a process with these items and metrics."""

    async def check() -> None:
        if not await asyncio.to_thread(items.page, 0, 1):
            raise StorageError("of the catalogue", "it is empty")

    async def page(request: Request) -> bytes:
        return await page_for(request, metrics.registry)

    return StatusApi(openapi.document(DESCRIPTION, OPERATIONS, version), check, page)


def share_metrics(app: Starlette, metrics: ArchiveMetrics) -> None:
    """Publish the metrics of this process to the other processes of the archive."""

    async def told() -> bytes:
        return encoded_metrics(metrics.registry)

    set_metrics_source(app, told)
