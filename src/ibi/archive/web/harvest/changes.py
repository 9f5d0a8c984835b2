"""The feed of changes over HTTP, as JSON lines."""

from __future__ import annotations

from hashlib import blake2b
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.archive.harvest.change_feed import ChangeFeed
from ibi.archive.web.harvest.queue import HarvestQueue
from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.conditional_requests import Validators
from ibi.foundation.web.openapi import query
from ibi.foundation.web.operations import AuthorizedRequest, Further, Media, Operation
from ibi.foundation.web.request_body import number_of

PATH: Final = "/api/v1/changes"
MEDIA_TYPE: Final = "application/jsonl"
_MOST: Final = 1000
"""Changes of one page at most."""
_USUAL: Final = 100
"""Changes of one page, if the client does not say."""


class ChangesApi:
    """The handler of the feed, which is public."""

    def __init__(self, feed: ChangeFeed, queue: HarvestQueue) -> None:
        """Answer by the service."""
        self._feed = feed
        self._queue = queue

    async def changes(self, request: AuthorizedRequest) -> Response:
        """Answer with the changes after a cursor, or that the client has them."""
        since = request.query_params.get("since", "")
        limit = number_of(request.query_params.get("limit", "") or str(_USUAL), 1, _MOST)
        page = await self._queue.run(lambda: self._feed.page(since, limit))
        tag = f'"{blake2b(page.body, digest_size=16).hexdigest()}"'
        headers = {
            "ETag": tag,
            "Cache-Control": "no-cache",
            "Link": f'<{PATH}?since={page.next}&limit={limit}>; rel="next"',
        }
        given = {name: value for name, value in request.headers.items() if name == "if-none-match"}
        if Validators(tag, 0).judge(given) is not None:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(page.body, headers=headers, media_type=MEDIA_TYPE)


# fmt: off
CHANGE_OPERATIONS: Final = (
    Operation("GET", PATH, PUBLIC, ChangesApi.changes,
        "The public items that changed after a cursor, each once, as JSON lines; "
        "the last line has the next cursor",
        answer=Media({MEDIA_TYPE: {"type": "string"}}),
        further={304: Further("The same page as the client has")}, problems=(400, 503),
        parameters=(
            query("since", "The cursor to continue after; from the beginning if left out"),
            query("limit", f"The most changes of the page: {_USUAL} if left out",
                {"type": "integer", "minimum": 1, "maximum": _MOST}),
        )),
)
# fmt: on
