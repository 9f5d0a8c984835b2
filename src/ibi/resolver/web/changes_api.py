"""Notifications of archives that their digests have changed.

Anybody may send one: it is not believed, but has the digest read again, as a message to the archive
that the sender's network is charged for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import NotOnRecordError
from ibi.foundation.web.client_address import ClientAddresses, network_of
from ibi.foundation.web.rate_limit import RateLimit
from ibi.identifier.label import parse
from ibi.resolver.registry.registry import Registry


class ChangesApi:
    """The handler of notifications."""

    def __init__(
        self,
        registry: Registry,
        notify: Callable[[str], Awaitable[None]],
        clients: ClientAddresses,
        budget: RateLimit,
    ) -> None:
        """Call `notify` with the id of each included archive whose digest has changed."""
        self._registry = registry
        self._notify = notify
        self._clients = clients
        self._budget = budget

    async def changed(self, request: Request) -> Response:
        """Have the digest of an archive read again."""
        label = parse(request.path_params["service"])
        if label.canonical not in self._registry.by_name:
            raise NotOnRecordError("archive", label.spelling)
        self._budget.admit(network_of(self._clients.of(request)[0]))
        await self._notify(label.canonical)
        return Response(status_code=HTTPStatus.NO_CONTENT)
