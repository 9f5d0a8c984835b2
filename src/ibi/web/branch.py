"""Routes that begin alike, all of them passed by at one glance.

Starlette tries one route after the other. An archive has half a hundred for programs, and a reader
would wait for each of them to say no.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class Branch(BaseRoute):
    """Routes whose paths have one beginning; which of them answers is as without it."""

    def __init__(self, beginning: str, routes: Sequence[BaseRoute]) -> None:
        """Look at routes only for paths that begin as all of theirs do."""
        self._beginning = beginning
        self.routes = tuple(routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the first route that takes the request; else the first that has its path."""
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
        """Let the route answer that was found."""
        await scope["route"].handle(scope, receive, send)
