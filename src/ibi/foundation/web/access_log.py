"""The access log: one line for each request that reaches the application.

It contains no address of a reader, and no secret of a path; it names the token or the account that
authorized the request. What a resolver's fast path answers is only counted.
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

CALLER: Final = "ibi.caller"
"""A key in the scope of a request: the name of the token or of the account that authorized it."""

_LOG: Final = structlog.get_logger()
_MAX_PATH: Final = 500
_CALLER_HEADER: Final = b"ibi-caller"
"""A header between the processes of one service, by which the one that logs learns the caller."""
_SECRET_PATHS: Final = ("/invitation/", "/password/")
"""Beginnings of paths whose next part is a secret."""


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
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if FORWARDED in scope:
            await self._app(scope, receive, _with_caller(scope, send))
            return
        started = time.perf_counter()
        status = 0
        told = ""

        async def noting(message: Message) -> None:
            nonlocal status, told
            if message["type"] == "http.response.start":
                status = message["status"]
                told = _take_caller(message)
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
            caller = scope.get(CALLER) or told
            self._log.info(
                "request",
                method=scope["method"],
                path=printable(_without_secret(path)),
                status=status,
                milliseconds=round(seconds * 1000, 1),
                **({"caller": printable(caller)} if caller else {}),
            )


def _without_secret(path: str) -> str:
    found = next((each for each in _SECRET_PATHS if path.startswith(each)), "")
    return f"{found}..." if found else path


def _with_caller(scope: Scope, send: Send) -> Send:
    """Return a function that adds the caller to the head of a forwarded answer."""

    async def telling(message: Message) -> None:
        if message["type"] == "http.response.start" and (caller := scope.get(CALLER)):
            header = (_CALLER_HEADER, caller.encode("ascii", "replace"))
            message = {**message, "headers": [*message.get("headers", ()), header]}
        await send(message)

    return telling


def _take_caller(message: Message) -> str:
    """Remove the caller from the head of an answer, and return it."""
    headers = message.get("headers", ())
    told = [value for name, value in headers if name == _CALLER_HEADER]
    if not told:
        return ""
    message["headers"] = [each for each in headers if each[0] != _CALLER_HEADER]
    return str(told[0].decode("ascii", "replace"))
