"""OAI-PMH 2.0 over HTTP."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.harvest.harvest import Harvest
from ibi.archive.rules.harvest.document import write
from ibi.archive.web.harvest.queue import HarvestQueue
from ibi.foundation.web.request_body import body_of

PATH: Final = "/oai"
_MEDIA_TYPE: Final = "text/xml; charset=utf-8"
_FORM: Final = "application/x-www-form-urlencoded"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Access-Control-Allow-Origin": "*",
}


class OaiEndpoint:
    """The handler of requests of harvesters, which are all public."""

    def __init__(self, harvest: Harvest, queue: HarvestQueue) -> None:
        """Answer by the service."""
        self._harvest = harvest
        self._queue = queue

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [Route(PATH, self.answer, methods=["GET", "POST"])]

    async def answer(self, request: Request) -> Response:
        """Answer a request; errors of the protocol have status 200 (OAI-PMH 2.0, 3.1.2.2)."""
        given = request.scope["query_string"]
        # Arguments are in the query, or in the body of a POST; both together count as repeated.
        if request.method == "POST" and _is_form(request):
            given = b"&".join(filter(None, (given, await body_of(request))))
        pairs = parse_qsl(given.decode(errors="replace"), keep_blank_values=True)
        body = await self._queue.run(lambda: write(self._harvest.answer(pairs)))
        return Response(body, headers={**_HEADERS, "Content-Type": _MEDIA_TYPE})


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", _FORM).partition(";")[0].strip().lower() == _FORM
