"""Pages as responses: the headers of every page of an archive and a resolver."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.foundation.pages.static_files import SECURITY_POLICY
from ibi.foundation.pages.templates import Page

PAGE_HEADERS: Final = {
    "Content-Security-Policy": SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Vary": "Accept-Language, Cookie",
    "Cache-Control": "public, max-age=60",
}
"""The headers of a page that is the same for all readers of its language."""


def page_response(
    page: Page, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response with a page; `headers` are further ones, or replace those of all pages.

    The page of an error is not stored without asking again: its cause may be gone soon.
    """
    cached = {"Cache-Control": "no-cache"} if status >= HTTPStatus.BAD_REQUEST else {}
    own = {"Content-Language": page.language, **(headers or {})}
    return Response(page.html, status, {**PAGE_HEADERS, **cached, **own}, "text/html")
