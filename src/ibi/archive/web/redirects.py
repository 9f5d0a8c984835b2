"""Redirects of readers: to a file, to a service that runs elsewhere, to the page of an item."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.web.landing import VARY
from ibi.errors import UnknownError
from ibi.wire.percent_encoding import path as in_url
from ibi.wire.percent_encoding import url_mended

_NO_LINKS: Final[Mapping[str, str]] = MappingProxyType({})


def with_pairs(url: str, pairs: tuple[str, ...]) -> str:
    """Add the pairs of a persistent URL that belong to the item."""
    if not pairs:
        return url
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(pairs)}"


def onward(runs_at: str, path: str, request: Request) -> Response:
    """Redirect a reader to a web service that runs elsewhere, with the pairs of the request."""
    query = request.scope["query_string"].decode("iso-8859-1")
    address, mark, own = runs_at.partition("?")
    if {".", ".."} & set(path.split("/")):
        raise UnknownError("file", path)
    if path:
        address = f"{address.rstrip('/')}/{in_url(path)}"
    further = with_pairs(address + mark + own, (query,) if query else ())
    # Other characters than those of URLs are encoded, so that no client can forge a header.
    return redirect(url_mended(further))


def redirect(
    url: str,
    *,
    varies: bool = False,
    public: bool = True,
    links: Mapping[str, str] = _NO_LINKS,
) -> Response:
    """Redirect a reader; a redirect that is not `public` is for this reader alone.

    `links` is the header with the links of what is redirected.
    """
    kept = "public, max-age=60" if public else "private, no-store"
    headers = {"Location": url, "Cache-Control": kept, **links}
    if varies:
        headers["Vary"] = "Accept-Language"
    return Response(status_code=HTTPStatus.FOUND, headers=headers)


def land(page: str, links: Mapping[str, str] = _NO_LINKS) -> Response:
    """Redirect a person to the page of an item; programs get another answer there."""
    headers = {"Location": page, "Cache-Control": "no-store", "Vary": VARY, **links}
    return Response(status_code=HTTPStatus.FOUND, headers=headers)
