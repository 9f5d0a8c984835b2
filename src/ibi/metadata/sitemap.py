"""Sitemaps, version 0.9 (https://www.sitemaps.org/protocol.html)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND

NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
MEDIA_TYPE: Final = "application/xml"
MOST_ADDRESSES: Final = 50_000
"""Addresses in one sitemap; they may have 50 MB, which is a thousand bytes for each."""
_BEGINNING: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'

Entry = tuple[str, int]
"""An address, and when it changed last in nanoseconds of POSIX time; 0 if that is not known."""


def sitemap(entries: Iterable[Entry]) -> bytes:
    """Return a sitemap of pages."""
    return _document("urlset", "url", entries)


def sitemap_index(entries: Iterable[Entry]) -> bytes:
    """Return an index of sitemaps."""
    return _document("sitemapindex", "sitemap", entries)


def _document(root: str, name: str, entries: Iterable[Entry]) -> bytes:
    lines = [f'{_BEGINNING}<{root} xmlns="{NAMESPACE}">']
    for address, changed in entries:
        moment = Instant(changed // SECOND).iso8601
        lastmod = f"<lastmod>{moment}</lastmod>" if changed else ""
        lines.append(f"<{name}><loc>{escape(address)}</loc>{lastmod}</{name}>")
    lines.append(f"</{root}>\n")
    return "\n".join(lines).encode()
