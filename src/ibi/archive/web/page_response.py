"""A page as a response, and what a request says of the page that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.pages import response
from ibi.foundation.pages.templates import Page
from ibi.foundation.translation.language import preference_of
from ibi.identifier.language_preference import LanguagePreference


def preference(request: Request) -> LanguagePreference:
    """Return the languages that a reader prefers: the one chosen by a link first."""
    chosen = request.query_params.get("lang", "")
    return preference_of(request.headers.get("accept-language", ""), chosen)


def here(request: Request) -> str:
    """Return path and query of a request."""
    query = request.scope["query_string"].decode("ascii", "replace")
    path = request.scope["raw_path"].decode("ascii", "replace")
    return f"{path}?{query}" if query else path


def page_response(
    page: Page, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page as a response; `headers` are further ones."""
    return response.page_response(page, status, headers)
