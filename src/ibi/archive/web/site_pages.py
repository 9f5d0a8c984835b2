"""Pages of an archive as a whole: its imprint, and the description of its API."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.web.api.operations import DESCRIPTION, OPERATIONS
from ibi.archive.web.drafts.script import DRAFT_FILES
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.foundation.pages.api_page import ApiPage
from ibi.foundation.pages.api_reference import ApiView
from ibi.foundation.pages.links import IMPRINT
from ibi.foundation.pages.static_files import static_routes


class SitePages:
    """Handlers of the pages and files that belong to no item."""

    def __init__(self, pages: Pages, version: str) -> None:
        """Use the pages of an archive; `version` is that of the program."""
        self._pages = pages
        self._api = ApiPage(DESCRIPTION, OPERATIONS, version, self._show)

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            *static_routes({**self._pages.site_files, **DRAFT_FILES}),
            *self._api.routes,
            Route(IMPRINT, self.imprint),
        ]

    async def imprint(self, request: Request) -> Response:
        """Answer with the imprint; without one this path is as unknown as any other."""
        page = self._pages.imprint(preference(request), here(request))
        if page is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return page_response(page)

    def _show(self, view: ApiView, request: Request) -> Response:
        return page_response(self._pages.api(view, preference(request), here(request)))
