"""Routes that begin alike answer as they would by themselves."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Route, Router

from ibi.foundation.web.routing import Branch


async def _answer(request: Request) -> Response:
    return PlainTextResponse(request.scope["route"].path)


def _routes() -> list[BaseRoute]:
    return [
        Route("/api/items", _answer, methods=["GET"]),
        Route("/api/items", _answer, methods=["PUT"]),
        Route("/api/{name}", _answer, methods=["GET"]),
    ]


def _found(routes: list[BaseRoute], method: str, path: str) -> tuple[Match, object]:
    """Return what Starlette's router finds: a full match, or else the first partial one."""
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    best: tuple[Match, object] = (Match.NONE, None)
    for route in Router(routes).routes:
        match, child = route.matches(scope)
        if match.value > best[0].value:
            best = match, {"route": route, **child}["route"]
        if match is Match.FULL:
            break
    return best


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["/api/items", "/api/other", "/api/", "/items", "/"])
def test_a_branch_finds_what_its_routes_find(method: str, path: str) -> None:
    match, route = _found(_routes(), method, path)
    assert _found([Branch("/api/", _routes())], method, path) == (match, route)
