"""The common part of the applications of an archive and a resolver: errors and log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final, TypeAlias

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from ibi.errors import IbiError, printable
from ibi.foundation.web import problems
from ibi.foundation.web.access_log import AccessLog
from ibi.foundation.web.compression import Compression
from ibi.foundation.web.json_response import FRESH
from ibi.foundation.web.personal_pages import PersonalPages
from ibi.foundation.web.problems import Problem
from ibi.foundation.web.visitor import VisitorFinder

ShowProblem: TypeAlias = Callable[[Problem, Request], Response]
"""Renders a problem as a page."""
Lifespan: TypeAlias = Callable[[Starlette], AbstractAsyncContextManager[None]]
"""Runs around the whole life of an application."""

_LOG: Final = structlog.get_logger()


def application(
    routes: Sequence[BaseRoute],
    lifespan: Lifespan,
    show_problem: ShowProblem,
    observe: Callable[[str, int, float], None],
    visitors: VisitorFinder | None = None,
) -> Starlette:
    """Return an application; `observe` gets method, status and seconds of each request.

    With `visitors`, its pages show the name of the person who is signed in.
    """
    on_error = _on_error(show_problem)
    app = Starlette(
        routes=list(routes),
        middleware=[
            Middleware(AccessLog, observe=observe),
            Middleware(Compression),
            Middleware(PersonalPages, visitors=visitors),
        ],
        exception_handlers={
            IbiError: on_error,
            HTTPException: on_error,
            Exception: problems.on_bug,
        },
        lifespan=_logged(lifespan),
    )
    app.router.redirect_slashes = False  # an unknown address is an error, not a redirect
    return app


def _logged(lifespan: Lifespan) -> Lifespan:
    """Log why a service does not start: the server does not."""

    @asynccontextmanager
    async def logged(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(lifespan(app))
            except Exception as failure:
                _LOG.error(
                    "the service does not start", error=str(failure), exc_info=failure
                )  # with the logger of this program
                raise
            yield

    return logged


def _on_error(show_problem: ShowProblem) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def on_error(request: Request, error: Exception) -> Response:
        """Answer an error: as a page, a plain text or a problem document."""
        accepted = request.headers.get("accept", "")
        wants_page, wants_text = "text/html" in accepted, "text/plain" in accepted
        if request.url.path.startswith("/api/") or not (wants_page or wants_text):
            if isinstance(error, IbiError):
                return await problems.on_ibi_error(request, error)
            return await problems.on_http_error(request, error)
        problem, headers = problems.problem_of(error)
        if wants_page:
            response = show_problem(problem, request)
        else:
            told, about_language = problems.localized(problem, problems.languages_of(request))
            text = f"{printable(told.title)}\n{printable(told.detail)}\n"
            response = Response(text, problem.status, {**FRESH, **about_language}, "text/plain")
        response.headers.update(headers)
        return response

    return on_error
