"""Pages of an archive as a whole: its imprint."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.web.drafts.script import DRAFT_FILES
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.foundation.pages.links import IMPRINT
from ibi.foundation.pages.static_files import static_routes


class SitePages:
    """Handlers of the pages and files that belong to no item."""

    def __init__(self, pages: Pages) -> None:
        """Use the pages of an archive."""
        self._pages = pages

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            *static_routes({**self._pages.site_files, **DRAFT_FILES}),
            Route(IMPRINT, self.imprint),
        ]

    async def imprint(self, request: Request) -> Response:
        """Answer with the imprint; without one this path is as unknown as any other."""
        page = self._pages.imprint(preference(request), here(request))
        if page is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return page_response(page)
