"""The API of an archive: the transfer of Originals, to other archives and from them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, Undo
from ibi.archive.transfers.transfers import TransferProgress, Transfers
from ibi.archive.web.api.responses import moment
from ibi.errors import ArchiveRequestError, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of

_MOST: Final = 1000
_STATES: Final = ("", "open", "done", "undone")


class TransferRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items that another archive is to have the Originals of."""

    items: list[str]
    to: str
    """Its address."""
    token: str
    """Of the scope `receive`, made there."""


class ResumptionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A transfer that is to go on now, perhaps with another token, or at another address."""

    token: str = ""
    to: str = ""
    """Where the other archive is by now."""


class OfferRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What another archive would transfer here."""

    label: str
    source: str
    ticket: str


class AcceptanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other archive is a Copy: this one is to be the Original."""

    label: str
    receipt: str


class TransferAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A transfer, and how far it is."""

    id: str
    item: str
    role: str
    """giving, or receiving."""
    peer: str
    state: str
    """open, done or undone."""
    phase: str
    since: str
    done: int = 0
    total: int = 0
    fault: str = ""
    """Why it does not go on just now, or was undone."""


class TransfersAnswer(msgspec.Struct, frozen=True):
    """Transfers, the oldest first."""

    transfers: list[TransferAnswer]


class TransfersApi:
    """Its handlers."""

    def __init__(self, transfers: Transfers) -> None:
        """Begin, show and undo transfers, and hear what other archives say of theirs."""
        self._transfers = transfers

    async def begin(self, request: AuthorizedRequest) -> Response:
        """Begin to transfer items."""
        wanted = await request.read(TransferRequest)
        begun = await asyncio.to_thread(
            self._transfers.offer, wanted.items, wanted.to, wanted.token, request.caller
        )
        return json_answer(TransfersAnswer([_answer(each) for each in begun]), HTTPStatus.ACCEPTED)

    async def list(self, request: AuthorizedRequest) -> Response:
        """List transfers; if there are more than asked for, the newest."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        state = request.query_params.get("state", "")
        if state not in _STATES:
            msg = f"{shown(state)} is not a state of transfers: expected open, done or undone."
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(self._transfers.newest, limit, state)
        return json_answer(TransfersAnswer([_answer(each) for each in found]))

    async def show(self, request: AuthorizedRequest) -> Response:
        """Tell how far a transfer is."""
        found = await asyncio.to_thread(self._transfers.get, request.path_params["id"])
        return json_answer(_answer(found))

    async def resume(self, request: AuthorizedRequest) -> Response:
        """Have a transfer go on now, with a token that it needs again, or where the other is."""
        wanted = await request.read(ResumptionRequest)
        found = await asyncio.to_thread(
            self._transfers.resume,
            request.path_params["id"],
            wanted.token,
            wanted.to,
            request.caller,
        )
        return json_answer(_answer(found), HTTPStatus.ACCEPTED)

    async def undo(self, request: AuthorizedRequest) -> Response:
        """Undo a transfer."""
        found = await asyncio.to_thread(
            self._transfers.undo, request.path_params["id"], request.caller
        )
        return json_answer(_answer(found), HTTPStatus.ACCEPTED)

    async def offered(self, request: AuthorizedRequest) -> Response:
        """Hear of an item that is to come here, and tell how far that is."""
        said = await request.read(OfferRequest)
        return await self._hear(
            TransferOffer(
                id=request.path_params["id"],
                label=said.label,
                source=said.source,
                ticket=said.ticket,
            )
        )

    async def committed(self, request: AuthorizedRequest) -> Response:
        """Become the Original, if that is still right."""
        said = await request.read(AcceptanceRequest)
        return await self._hear(
            Commit(id=request.path_params["id"], label=said.label, receipt=said.receipt)
        )

    async def unwanted(self, request: AuthorizedRequest) -> Response:
        """Let go of what was to come; or tell that it came."""
        pairs = request.query_params
        return await self._hear(
            Undo(
                id=request.path_params["id"],
                label=pairs.get("label", ""),
                receipt=pairs.get("receipt", ""),
            )
        )

    async def _hear(self, message: Message) -> Response:
        return json_answer(await asyncio.to_thread(self._transfers.hear, message))


def _answer(progress: TransferProgress) -> TransferAnswer:
    exchange = progress.exchange
    return TransferAnswer(
        exchange.id,
        exchange.label,
        exchange.role,
        exchange.peer,
        exchange.state,
        progress.phase,
        moment(exchange.since),
        progress.done,
        progress.total,
        exchange.fault,
    )
