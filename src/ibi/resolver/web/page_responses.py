"""Responses with the pages of a resolver: their headers, and the language of their reader."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.pages import response
from ibi.foundation.pages.links import LANGUAGE, LANGUAGE_OF_ITEM
from ibi.foundation.pages.templates import Page
from ibi.foundation.translation.language import preference_of
from ibi.identifier.language_preference import LanguagePreference

PAGE_HEADERS: Final = {
    **response.PAGE_HEADERS,
    "Vary": "Accept-Language, Accept, Cookie",
    "Cache-Control": "no-store",
}
"""Headers of pages whose content is valid for a short time only, or depends on its reader."""

_REVALIDATED: Final = {**PAGE_HEADERS, "Cache-Control": "no-cache"}
"""Headers of pages that a client keeps, and asks each time whether they changed (ADR 44)."""


def page_response(page: Page, status: int = HTTPStatus.OK) -> Response:
    """Return the response with a page."""
    return response.page_response(page, status, PAGE_HEADERS)


def shared_page_response(page: Page) -> Response:
    """Return the response with a page that is the same for all readers of its language.

    It gets an entity tag, by which a client that has the page is spared its content.
    """
    return response.page_response(page, HTTPStatus.OK, _REVALIDATED)


def preference_in(request: Request) -> LanguagePreference:
    """Return the languages that the reader of a page prefers."""
    # A persistent URL has a language pair of its own, which the links of a page use.
    given = request.query_params
    chosen = given.get(LANGUAGE_OF_ITEM, "") or given.get(LANGUAGE, "")
    return preference_of(request.headers.get("accept-language", ""), chosen)
