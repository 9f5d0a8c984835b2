"""The access log: one line for each request that reaches the application.

It contains no address of a reader. What a resolver's fast path answers is only counted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ibi.errors import printable
from ibi.foundation.interprocess.frames import FORWARDED

_LOG: Final = structlog.get_logger()
_MAX_PATH: Final = 500


class AccessLog:
    """Logs each request with its status and duration."""

    def __init__(self, app: ASGIApp, observe: Callable[[str, int, float], None]) -> None:
        """Pass method, status and seconds of each request to `observe`."""
        self._app = app
        self._observe = observe
        self._log = _LOG

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log it."""
        if scope["type"] == "lifespan":
            # The log is configured by now. Binding it for each line would take as long as the line.
            self._log = _LOG.bind()
        if scope["type"] != "http" or FORWARDED in scope:
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            status = status or HTTPStatus.SERVICE_UNAVAILABLE  # the server sends it
            raise
        except BaseException:
            status = status or HTTPStatus.INTERNAL_SERVER_ERROR  # an outer middleware sends it
            raise
        finally:
            seconds = time.perf_counter() - started
            self._observe(scope["method"], status, seconds)
            # The path only: the query may contain a secret, or data of a reader.
            path = scope["raw_path"][:_MAX_PATH].decode("ascii", "backslashreplace")
            self._log.info(
                "request",
                method=scope["method"],
                path=printable(path),
                status=status,
                milliseconds=round(seconds * 1000, 1),
            )
