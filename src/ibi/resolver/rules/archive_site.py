"""The addresses of an archive's own pages, made of the host and port that it announced."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from ibi.identifier.limits import MAX_PORT

# RFC 2396, 3.2.2: hostport = host [":" port]. Nothing that hides a host in front of another.
_HOST_AND_PORT: Final = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?"
)
_HTTPS: Final = 443
_HTTP: Final = 80


def site_of(address: str) -> str:
    """Return the URL of the site at a host and port, without a slash; "" if they are invalid.

    The standard has only http. No server answers http at port 443, so https is used there.
    """
    divided = _HOST_AND_PORT.fullmatch(address)
    port = int(divided[1] or _HTTP) if divided else 0
    if not 0 < port <= MAX_PORT:
        return ""
    return f"{'https' if port == _HTTPS else 'http'}://{address}"


def search_page_of(address: str, words: str) -> str:
    """Return the URL of the search page of an archive for some words; "" if it has no address."""
    site = site_of(address)
    return f"{site}/search?q={quote(words, safe='')}" if site else ""
