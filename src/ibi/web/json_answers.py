"""Answers in JSON, and routes that know all methods of a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_ENCODE: Final = msgspec.json.Encoder().encode
FRESH: Final = {"Cache-Control": "no-store"}


def json_answer(
    answer: Any,  # noqa: ANN401  # any message
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a message; nobody keeps it."""
    return Response(_ENCODE(answer), status, {**FRESH, **(headers or {})}, "application/json")


def by_method(path: str, **handlers: Callable[[Request], Awaitable[Response]]) -> Route:
    """Return one route for all methods of a path, so that a wrong one is told of all others."""

    async def handle(request: Request) -> Response:
        # HEAD is GET without its body, which the server leaves out.
        return await handlers[request.method.replace("HEAD", "GET")](request)

    return Route(path, handle, methods=list(handlers))
