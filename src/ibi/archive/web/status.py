"""What every process of an archive tells alike: its API, whether it is ready, its numbers."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.ports.catalogue import Items
from ibi.archive.web import metrics as archive_metrics
from ibi.archive.web.api import openapi as archive_openapi
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.errors import StorageError
from ibi.foundation.interprocess.worker_metrics import numbers, page_for, tell
from ibi.foundation.web.json_response import FRESH


class ArchiveStatus:
    """Its handlers."""

    def __init__(self, items: Items, metrics: ArchiveMetrics, version: str) -> None:
        """Tell of a process that reads this catalogue and counts by these metrics."""
        self._items = items
        self._registry = metrics.registry
        self._openapi = msgspec.json.encode(archive_openapi.document(version))

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [
            Route("/openapi.json", self.openapi),
            Route("/readyz", self.readyz),
            Route("/metrics", self.metrics),
        ]

    def share(self, app: Starlette) -> None:
        """Let the processes beside this one ask for its numbers."""
        tell(app, self._numbers)

    async def openapi(self, _: Request) -> Response:
        """Describe the API."""
        return Response(self._openapi, media_type="application/json")

    async def readyz(self, _: Request) -> Response:
        """Tell whether the archive can be read, whoever changes it."""
        if not await asyncio.to_thread(self._items.page, 0, 1):
            raise StorageError("of the catalogue", "it is empty")
        return Response(b"ready\n", media_type="text/plain", headers=FRESH)

    async def metrics(self, request: Request) -> Response:
        """Tell Prometheus."""
        page = await page_for(request, self._registry)
        return Response(page, media_type=archive_metrics.MEDIA_TYPE)

    async def _numbers(self) -> bytes:
        return numbers(self._registry)
