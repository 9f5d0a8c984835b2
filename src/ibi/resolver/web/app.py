"""The application of a resolver over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request

from ibi.foundation.accounts.people import AccountPages
from ibi.foundation.interprocess.worker_metrics import encoded_metrics, page_for, set_metrics_source
from ibi.foundation.pages.api_page import ApiPage
from ibi.foundation.system.disk import check_room
from ibi.foundation.web import openapi
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.base_app import application
from ibi.foundation.web.operations import routes_of
from ibi.foundation.web.page_operations import page_routes
from ibi.foundation.web.status import StatusApi
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.web.metrics import ResolverMetrics
from ibi.resolver.web.operations import DESCRIPTION, OPERATIONS
from ibi.resolver.web.page_operations import PAGE_OPERATIONS
from ibi.resolver.web.public_routes import ResolverPublicRoutes
from ibi.resolver.web.register_page import RegisterPage
from ibi.resolver.web.search_page import SearchPage


class ResolverApp:
    """The parts of a resolver's application."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        background: Callable[[], AbstractAsyncContextManager[None]],
        conflicts: Conflicts,
        apis: Sequence[object],
        authorizer: Authorizer,
        register_page: RegisterPage,
        search_page: SearchPage,
        reading: ResolverPublicRoutes,
        accounts: AccountPages,
        metrics: ResolverMetrics,
        version: str,
        folder: Path,
    ) -> None:
        """Assemble the application; `apis` have the handlers of its operations.

        `background` runs while the application serves; `folder` is that of the instance.
        """
        self._background = background
        self._conflicts = conflicts
        self._apis = apis
        self._authorizer = authorizer
        self._register_page = register_page
        self._search_page = search_page
        self._reading = reading
        self._accounts = accounts
        self._metrics = metrics
        self._open_conflicts = 0
        self._folder = folder
        self._api_page = ApiPage(DESCRIPTION, OPERATIONS, version, reading.show_api)
        document = openapi.document(DESCRIPTION, OPERATIONS, version)
        self._status = StatusApi(document, self._check, self._page)
        metrics.watch(
            "conflicts_open", "Conflicts that need a person", lambda: self._open_conflicts
        )

    def asgi(self) -> Starlette:
        """Return the application."""
        routes = [
            *routes_of(
                OPERATIONS,
                (*self._apis, self._accounts.api, self._reading, self._status),
                self._authorizer,
            ),
            *page_routes(PAGE_OPERATIONS, self._accounts.handlers, self._accounts.gate),
            *self._api_page.routes,
            *self._register_page.routes,
            *self._search_page.routes,
            *self._reading.routes,
        ]
        app = application(
            routes,
            self._lifespan,
            self._reading.problem,
            self._metrics.observe,
            self._accounts.gate.visitors,
        )
        set_metrics_source(app, self._encoded_metrics)
        return app

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with self._background():
            yield

    async def _check(self) -> None:
        """Raise if the registry cannot be read, or its disk has no room."""
        check_room(self._folder)
        await self._conflicts.count_open()

    async def _page(self, request: Request) -> bytes:
        self._open_conflicts = await self._conflicts.count_open()
        return await page_for(request, self._metrics.registry, self._metrics.common)

    async def _encoded_metrics(self) -> bytes:
        return encoded_metrics(self._metrics.registry)
