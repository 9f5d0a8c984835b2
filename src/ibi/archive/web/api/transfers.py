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
from ibi.errors import ArchiveRequestError, Sentence, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of

_MAX_ITEMS: Final = 1000
"""Items of one request, or transfers of one answer, at most."""
_STATES: Final = ("", "open", "done", "undone")


class TransferRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Items whose Originals are to be transferred to another archive."""

    items: list[str]
    to: str
    """The address of the other archive."""
    token: str
    """A token of the other archive, of the scope `receive`."""


class ResumptionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A transfer to be continued now, perhaps with a new token or at a new address."""

    token: str = ""
    to: str = ""
    """The new address of the other archive."""


class OfferRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that another archive offers to transfer."""

    label: str
    source: str
    ticket: str


class AcceptanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other archive has only a Copy now: this archive is to have the Original."""

    label: str
    receipt: str


class TransferAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A transfer and its progress."""

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
    """The reason why the transfer is delayed or was undone."""


class TransfersAnswer(msgspec.Struct, frozen=True):
    """Transfers, the oldest first."""

    transfers: list[TransferAnswer]


class TransfersApi:
    """Handlers of the operations on transfers."""

    def __init__(self, transfers: Transfers) -> None:
        """Begin, show and undo transfers, and receive messages of other archives."""
        self._transfers = transfers

    async def begin(self, request: AuthorizedRequest) -> Response:
        """Begin to transfer items."""
        wanted = await request.read(TransferRequest)
        begun = await asyncio.to_thread(
            self._transfers.offer, wanted.items, wanted.to, wanted.token, request.caller
        )
        return json_answer(TransfersAnswer([_answer(each) for each in begun]), HTTPStatus.ACCEPTED)

    async def list(self, request: AuthorizedRequest) -> Response:
        """List transfers; the newest if there are more than requested."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_ITEMS)
        state = request.query_params.get("state", "")
        if state not in _STATES:
            msg = Sentence(
                "%(state)s is not a state of transfers: expected open, done or undone.",
                state=shown(state),
            )
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(self._transfers.newest, limit, state)
        return json_answer(TransfersAnswer([_answer(each) for each in found]))

    async def show(self, request: AuthorizedRequest) -> Response:
        """Show a transfer and its progress."""
        found = await asyncio.to_thread(self._transfers.get, request.path_params["id"])
        return json_answer(_answer(found))

    async def resume(self, request: AuthorizedRequest) -> Response:
        """Continue a transfer now, perhaps with a new token or at a new address."""
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
        """Receive an offer of another archive; answer with the progress."""
        said = await request.read(OfferRequest)
        return await self._receive(
            TransferOffer(
                id=request.path_params["id"],
                label=said.label,
                source=said.source,
                ticket=said.ticket,
            )
        )

    async def committed(self, request: AuthorizedRequest) -> Response:
        """Accept the Original, unless the transfer was undone."""
        said = await request.read(AcceptanceRequest)
        return await self._receive(
            Commit(id=request.path_params["id"], label=said.label, receipt=said.receipt)
        )

    async def unwanted(self, request: AuthorizedRequest) -> Response:
        """Undo an incoming transfer, or answer that it was accepted."""
        pairs = request.query_params
        return await self._receive(
            Undo(
                id=request.path_params["id"],
                label=pairs.get("label", ""),
                receipt=pairs.get("receipt", ""),
            )
        )

    async def _receive(self, message: Message) -> Response:
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
