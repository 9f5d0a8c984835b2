"""Routes: all methods of a path together, and all paths with a common prefix together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send


class PathRoute(Route):
    """Matches all methods of its path: a wrong one is refused here, not left to a later route."""

    def __init__(
        self, path: str, handlers: Mapping[str, Callable[[Request], Awaitable[Response]]]
    ) -> None:
        """Answer each method by its handler; HEAD is GET, and the server omits the body."""

        async def handle(request: Request) -> Response:
            return await handlers[request.method.replace("HEAD", "GET")](request)

        super().__init__(path, handle, methods=list(handlers))
        self._allowed = (*handlers, "HEAD") if "GET" in handlers else tuple(handlers)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match every request for the path."""
        match, child = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL else match), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or list the allowed methods (RFC 9110, 15.5.6)."""
        if scope["method"] not in self._allowed:
            headers = {"Allow": ", ".join(self._allowed)}
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers=headers)
        await super().handle(scope, receive, send)


class Branch(BaseRoute):
    """Routes whose paths have a common prefix; it does not change which of them answers."""

    def __init__(self, beginning: str, routes: Sequence[BaseRoute]) -> None:
        """Match routes only for paths with the prefix."""
        self._beginning = beginning
        self.routes = tuple(routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the first route that matches the request; else the first that matches its path."""
        found: tuple[Match, Scope] = (Match.NONE, {})
        if not scope["path"].startswith(self._beginning):
            return found
        for route in self.routes:
            match, child = route.matches(scope)
            if match.value > found[0].value:
                found = match, {**child, "route": route}
            if match is Match.FULL:
                break
        return found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the route that was found."""
        await scope["route"].handle(scope, receive, send)
