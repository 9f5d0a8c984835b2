"""Atom feeds (RFC 4287): items as entries that feed readers follow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lxml import etree

from ibi.metadata.xml_writing import add, document
from ibi.model.clock import SECOND
from ibi.model.metadata_record import Text

MEDIA_TYPE: Final = "application/atom+xml"
NAMESPACE: Final = "http://www.w3.org/2005/Atom"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """An item in a feed."""

    id: str
    """An IRI that never changes (4.2.6)."""
    title: Text
    address: str
    """The page of the item."""
    published: int
    """Nanoseconds of POSIX time."""
    updated: int
    """Nanoseconds of POSIX time."""
    authors: tuple[str, ...] = ()
    """The author of the feed, if there are none (4.1.2)."""
    summary: Text | None = None
    categories: tuple[str, ...] = ()
    licence: str = ""
    """The address of the licence (RFC 4946); empty if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed, whose newest entries come first."""

    id: str
    """An IRI that never changes (4.2.6)."""
    title: str
    author: str
    address: str
    """Where the feed itself is."""
    page: str
    """The page that shows the same to people."""
    entries: tuple[FeedEntry, ...]

    @property
    def updated(self) -> int:
        """The time of the last change, in nanoseconds of POSIX time; 0 without entries."""
        return max((entry.updated for entry in self.entries), default=0)


def write(feed: Feed) -> bytes:
    """Return a feed as XML."""
    root = etree.Element(f"{{{NAMESPACE}}}feed", nsmap={None: NAMESPACE})  # type: ignore[dict-item]  # the default namespace
    _add(root, "id", feed.id)
    _add(root, "title", feed.title)
    _add(root, "updated", _instant(feed.updated))
    _add(_add(root, "author"), "name", feed.author)
    _add(root, "link", rel="self", type=MEDIA_TYPE, href=feed.address)
    _add(root, "link", rel="alternate", type="text/html", href=feed.page)
    for entry in feed.entries:
        _write_entry(_add(root, "entry"), entry)
    return document(root)


def _write_entry(element: etree._Element, entry: FeedEntry) -> None:
    _add(element, "id", entry.id)
    _add_text(element, "title", entry.title)
    _add(element, "updated", _instant(entry.updated))
    _add(element, "published", _instant(entry.published))
    for name in entry.authors:
        _add(_add(element, "author"), "name", name)
    _add(element, "link", rel="alternate", type="text/html", href=entry.address)
    if entry.licence:
        _add(element, "link", rel="license", href=entry.licence)
    for category in entry.categories:
        _add(element, "category", term=category)
    if entry.summary is not None:
        _add_text(element, "summary", entry.summary)


def _add_text(parent: etree._Element, name: str, text: Text) -> None:
    add(parent, _name(name), text.value, text.language)


def _add(parent: etree._Element, name: str, text: str = "", **attributes: str) -> etree._Element:
    return add(parent, _name(name), text, attributes=attributes)


def _name(local: str) -> str:
    return f"{{{NAMESPACE}}}{local}"


def _instant(nanoseconds: int) -> str:
    """Return an instant as RFC 3339 writes it (RFC 4287, 3.3)."""
    moment = datetime.fromtimestamp(nanoseconds // SECOND, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
