"""Atom feeds of an archive: the newest items of all, or of a search."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.rules.search.snippet import LENGTH
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.urls import ArchiveUrls
from ibi.foundation.web.conditional_requests import Validators
from ibi.metadata import licence
from ibi.metadata.atom import MEDIA_TYPE, Feed, FeedEntry, write
from ibi.model.metadata_record import Text

PATH: Final = "/feed.atom"
MOST_ENTRIES: Final = 50
"""Items of a feed: the newest."""
_LONGEST_SUMMARY: Final = 4 * LENGTH
"""Characters of a summary."""
_HEADERS: Final = {
    "Cache-Control": "public, max-age=60",
    "X-Content-Type-Options": "nosniff",
    "Access-Control-Allow-Origin": "*",
}


class FeedEndpoint:
    """Answers feed readers."""

    def __init__(self, name: str, searches: SearchQueue, urls: ArchiveUrls) -> None:
        """Publish the items of an archive of that name."""
        self._name = name
        self._searches = searches
        self._urls = urls

    async def answer(self, request: Request) -> Response:
        """Answer with the feed of a search, or that the client has it."""
        # Whatever order and page the reader looks at, a feed has the newest items.
        asked = SearchQuery.parse(request.query_params)
        query = SearchQuery(text=asked.text, filters=asked.filters)
        found = await self._searches.run(lambda search: search.newest(query, MOST_ENTRIES))
        feed = self._feed(query, found)
        body = write(feed)
        validators = Validators(f'"{sha256(body).hexdigest()[:32]}"', feed.updated)
        headers = {**_HEADERS, "ETag": validators.etag, "Last-Modified": validators.last_modified}
        status = validators.judge(request.headers)
        if status is not None:
            return Response(status_code=status, headers=headers)
        # Browsers show a feed as a text, and take its encoding from here, not from the XML.
        headers["Content-Type"] = f"{MEDIA_TYPE}; charset=utf-8"
        return Response(body, headers=headers)

    def _feed(self, query: SearchQuery, found: Sequence[ItemWithMetadata]) -> Feed:
        base, pairs = self._urls.base, f"?{query.pairs}" if query.pairs else ""
        about = ", ".join(filter(None, (query.text, *(value for _, value in query.filters))))
        return Feed(
            id=f"{base}{PATH}{pairs}",
            title=f"{about} \N{EN DASH} {self._name}" if about else self._name,
            author=self._name,
            address=f"{base}{PATH}{pairs}",
            page=f"{base}/search{pairs}",
            entries=tuple(self._entry(each) for each in found),
        )

    def _entry(self, look: ItemWithMetadata) -> FeedEntry:
        item, record = look.item, look.record
        label = item.forms.short.spelling
        updated = max(item.updated, look.metadata.item.updated if look.metadata else 0)
        entry = FeedEntry(
            id=f"ibi:{item.forms.label.spelling}",
            title=Text(label),
            address=f"{self._urls.persistent(item.forms)}:",
            published=item.created,
            updated=updated,
        )
        if record is None:
            return entry
        return FeedEntry(
            id=entry.id,
            title=record.title,
            address=entry.address,
            published=entry.published,
            updated=entry.updated,
            authors=tuple(map(str, record.named_creators)),
            summary=_summary(record.descriptions),
            categories=record.types,
            licence=licence.address_of(record.licence),
        )


def _summary(descriptions: Sequence[Text]) -> Text | None:
    for description in descriptions:
        text = description.value
        short = text if len(text) <= _LONGEST_SUMMARY else f"{text[:_LONGEST_SUMMARY]}…"
        return Text(short, description.language)
    return None
