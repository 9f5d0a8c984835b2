"""Access to items whose readers are limited: by the address of the connection, or by a secret.

No header about the address of a client is trusted, except that of a proxy that the administrator
named (threats, row 16).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from starlette.requests import Request

from ibi.archive.rules.access import MayRead, anyone, may_read, reads_from
from ibi.archive.rules.scopes import READ
from ibi.errors import AccessError
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.client_address import ClientAddresses
from ibi.model.item import Item

IsTicket: TypeAlias = Callable[[Item, str], bool]
"""Returns whether a secret, which may be empty, gives access to the files of an item."""


class ReaderAccess:
    """Decides what the reader of a request may read."""

    def __init__(
        self, clients: ClientAddresses, authorizer: Authorizer, is_ticket: IsTicket
    ) -> None:
        """Recognize readers by their addresses, by tokens of the archive, or by tickets."""
        self._clients = clients
        self._authorizer = authorizer
        self._is_ticket = is_ticket

    async def may_read(self, item: Item, request: Request) -> bool:
        """Return whether the reader may read the files of an item."""
        if not item.readers or may_read(item, (self._clients.reader(request),)):
            return True
        return await self.is_trusted(item, request)

    async def is_trusted(self, item: Item, request: Request) -> bool:
        """Return whether the reader has a secret that gives access to the whole item."""
        # The ticket comes first: a valid one must not count as a wrong token.
        return self._is_ticket(item, bearer_of(request)) or await self._has_token(request)

    async def of(self, request: Request) -> MayRead:
        """Return what the reader may read of all items; tickets, which are for one, are ignored."""
        if await self._has_token(request):
            return anyone
        return reads_from(self._clients.reader(request))

    async def _has_token(self, request: Request) -> bool:
        """Return whether the request has a token of the archive: any scope may read all files."""
        if not bearer_of(request):
            return False
        try:
            await self._authorizer.authorize(request, READ)
        except AccessError:
            return False
        return True


def bearer_of(request: Request) -> str:
    """Return the bearer token of a request; empty if there is none (RFC 6750, 2.1)."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""
