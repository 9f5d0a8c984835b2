"""The status routes of every program: alive, ready, metrics, and the description of its API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.json_response import FRESH
from ibi.foundation.web.openapi import TEXT
from ibi.foundation.web.operations import Operation

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class StatusApi:
    """Handlers of the status routes."""

    def __init__(
        self,
        document: dict[str, Any],
        check: Callable[[], Awaitable[None]],
        metrics: Callable[[Request], Awaitable[bytes]],
    ) -> None:
        """Create the handlers; `check` raises if the program is not ready."""
        self._document = msgspec.json.encode(document)
        self._check = check
        self._metrics = metrics

    async def healthz(self, _: Request) -> Response:
        """Answer that the process is alive."""
        return Response(b"alive\n", media_type="text/plain", headers=FRESH)

    async def readyz(self, _: Request) -> Response:
        """Answer whether the program can do its work."""
        await self._check()
        return Response(b"ready\n", media_type="text/plain", headers=FRESH)

    async def metrics(self, request: Request) -> Response:
        """Answer the metrics for Prometheus."""
        return Response(await self._metrics(request), media_type=METRICS_TYPE)

    async def openapi(self, _: Request) -> Response:
        """Answer the OpenAPI document."""
        return Response(self._document, media_type="application/json")


def status_operations(ready: str) -> tuple[Operation, ...]:
    """Return the operations of a program; `ready` describes its readiness."""
    return (
        Operation(
            "GET",
            "/healthz",
            PUBLIC,
            StatusApi.healthz,
            "Whether the process lives",
            answer=TEXT,
        ),
        Operation("GET", "/readyz", PUBLIC, StatusApi.readyz, ready, answer=TEXT),
        Operation(
            "GET", "/metrics", PUBLIC, StatusApi.metrics, "Metrics for Prometheus", answer=TEXT
        ),
        Operation(
            "GET",
            "/openapi.json",
            PUBLIC,
            StatusApi.openapi,
            "The OpenAPI document",
            described=False,
        ),
    )
