"""The route of the page that describes the HTTP API of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.foundation.pages.api_reference import PART, ApiReference, ApiView
from ibi.foundation.pages.links import API
from ibi.foundation.web.openapi import ApiDescription
from ibi.foundation.web.operations import Operation


class ApiPage:
    """The handler of the page."""

    def __init__(
        self,
        description: ApiDescription,
        operations: Sequence[Operation],
        version: str,
        show: Callable[[ApiView, Request], Response],
    ) -> None:
        """Describe the operations of a program; `show` renders a page of its site."""
        self._described = (description, operations, version)
        self._show = show

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [Route(API, self.page)]

    async def page(self, request: Request) -> Response:
        """Answer with all operations, or one part of them in detail."""
        view = self._reference.view(request.query_params.get(PART, ""))
        if view is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return self._show(view, request)

    @cached_property
    def _reference(self) -> ApiReference:
        """The description, which most processes never need."""
        return ApiReference(*self._described)
