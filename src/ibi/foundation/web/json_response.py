"""Answers in JSON, and routes that know all methods of a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

_ENCODE: Final = msgspec.json.Encoder().encode
FRESH: Final = {"Cache-Control": "no-store"}


def json_answer(
    answer: Any,  # noqa: ANN401  # any message
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a message; nobody keeps it."""
    return Response(_ENCODE(answer), status, {**FRESH, **(headers or {})}, "application/json")


class _WholeRoute(Route):
    """Takes all methods of its path: a wrong one is refused here, not left to who comes after."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL else match), child


def not_allowed(methods: Iterable[str]) -> HTTPException:
    """Say which methods there are (RFC 9110, 15.5.6)."""
    return HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(methods)})


def by_method(path: str, **handlers: Callable[[Request], Awaitable[Response]]) -> Route:
    """Return one route for all methods of a path, so that a wrong one is told of all others."""

    async def handle(request: Request) -> Response:
        # HEAD is GET without its body, which the server leaves out.
        return await handlers[request.method.replace("HEAD", "GET")](request)

    return _WholeRoute(path, handle, methods=list(handlers))
