"""Who reads, and what of a licensed item: by the address of the connection, or by a secret.

Nothing that a request says of its own address is believed, but for what a proxy says that the
administrator named (threats, row 16).
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
"""Tells whether a secret, which may be empty, opens the files of an item to who brings it."""


class ReaderAccess:
    """Tells what the reader of a request may read."""

    def __init__(
        self, clients: ClientAddresses, authorizer: Authorizer, is_ticket: IsTicket
    ) -> None:
        """Know readers by their addresses, by the tokens of an archive, or by tickets."""
        self._clients = clients
        self._authorizer = authorizer
        self._is_ticket = is_ticket

    async def may_read(self, item: Item, request: Request) -> bool:
        """Tell whether the reader may read the files of an item."""
        if not item.readers or may_read(item, (self._clients.reader(request),)):
            return True
        return await self.is_trusted(item, request)

    async def is_trusted(self, item: Item, request: Request) -> bool:
        """Tell whether the reader has a secret, by which all of an item may be read."""
        # First the ticket: one that is good is no token that somebody guessed wrongly.
        return self._is_ticket(item, bearer_of(request)) or await self._has_token(request)

    async def of(self, request: Request) -> MayRead:
        """Return what the reader may read of all items; tickets are for one of them alone."""
        if await self._has_token(request):
            return anyone
        return reads_from(self._clients.reader(request))

    async def _has_token(self, request: Request) -> bool:
        """Tell whether there is a token of the archive: any is good for all files."""
        if not bearer_of(request):
            return False
        try:
            await self._authorizer.authorize(request, READ)
        except AccessError:
            return False
        return True


def bearer_of(request: Request) -> str:
    """Return the secret that a request brings; empty if none (RFC 6750, 2.1)."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""
