"""The API of an archive: the transfer of Originals, to other archives and from them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.archive.transfers.transfers import TransferProgress, Transfers
from ibi.archive.web.api.responses import moment
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.errors import ArchiveRequestError, shown
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.openapi import LIMIT, operation, parameter, query
from ibi.foundation.web.request_body import body_of, decoded, number_of

_MOST: Final = 1000
_LARGEST: Final = 1 << 20
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


_TRANSFER: Final = msgspec.json.Decoder(TransferRequest).decode
_RESUMPTION: Final = msgspec.json.Decoder(ResumptionRequest).decode
_OFFER: Final = msgspec.json.Decoder(OfferRequest).decode
_ACCEPTANCE: Final = msgspec.json.Decoder(AcceptanceRequest).decode


class TransfersApi:
    """Its handlers."""

    def __init__(self, transfers: Transfers, door: ArchiveAuthorizer) -> None:
        """Begin, show and undo transfers, and hear what other archives say of theirs."""
        self._transfers = transfers
        self._door = door

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        one, incoming = "/api/v1/transfers/{id}", "/api/v1/incoming/{id}"
        return [
            by_method("/api/v1/transfers", GET=self.list, POST=self.begin),
            by_method(one, GET=self.show, POST=self.resume, DELETE=self.undo),
            by_method(incoming, PUT=self.offered, DELETE=self.unwanted),
            by_method(f"{incoming}/acceptance", POST=self.committed),
        ]

    async def begin(self, request: Request) -> Response:
        """Begin to transfer items."""
        who = await self._door.admit(request, "administer")
        wanted = decoded(_TRANSFER, await body_of(request, _LARGEST))
        begun = await asyncio.to_thread(
            self._transfers.offer, wanted.items, wanted.to, wanted.token, who
        )
        return json_answer(TransfersAnswer([_answer(each) for each in begun]), HTTPStatus.ACCEPTED)

    async def list(self, request: Request) -> Response:
        """List transfers; if there are more than asked for, the newest."""
        await self._door.admit(request, "read")
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        state = request.query_params.get("state", "")
        if state not in _STATES:
            msg = f"{shown(state)} is not a state of transfers: expected open, done or undone."
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(self._transfers.newest, limit, state)
        return json_answer(TransfersAnswer([_answer(each) for each in found]))

    async def show(self, request: Request) -> Response:
        """Tell how far a transfer is."""
        await self._door.admit(request, "read")
        found = await asyncio.to_thread(self._transfers.get, request.path_params["id"])
        return json_answer(_answer(found))

    async def resume(self, request: Request) -> Response:
        """Have a transfer go on now, with a token that it needs again, or where the other is."""
        who = await self._door.admit(request, "administer")
        body = await body_of(request)
        wanted = decoded(_RESUMPTION, body) if body else ResumptionRequest()
        found = await asyncio.to_thread(
            self._transfers.resume, request.path_params["id"], wanted.token, wanted.to, who
        )
        return json_answer(_answer(found), HTTPStatus.ACCEPTED)

    async def undo(self, request: Request) -> Response:
        """Undo a transfer."""
        who = await self._door.admit(request, "administer")
        found = await asyncio.to_thread(self._transfers.undo, request.path_params["id"], who)
        return json_answer(_answer(found), HTTPStatus.ACCEPTED)

    async def offered(self, request: Request) -> Response:
        """Hear of an item that is to come here, and tell how far that is."""
        await self._door.admit(request, "receive")
        said = decoded(_OFFER, await body_of(request))
        return await self._hear(
            TransferOffer(
                id=request.path_params["id"],
                label=said.label,
                source=said.source,
                ticket=said.ticket,
            )
        )

    async def committed(self, request: Request) -> Response:
        """Become the Original, if that is still right."""
        await self._door.admit(request, "receive")
        said = decoded(_ACCEPTANCE, await body_of(request))
        return await self._hear(
            Commit(id=request.path_params["id"], label=said.label, receipt=said.receipt)
        )

    async def unwanted(self, request: Request) -> Response:
        """Let go of what was to come; or tell that it came."""
        await self._door.admit(request, "receive")
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


TYPES: Final = (
    AcceptanceRequest,
    TransferReply,
    OfferRequest,
    ResumptionRequest,
    TransferAnswer,
    TransferRequest,
    TransfersAnswer,
)
_ID: Final = parameter("id", "The id of a transfer")


def described() -> dict[str, Any]:
    """Describe them for OpenAPI."""
    hearing = (404, 409, 410, 413, 507)
    return {
        "/api/v1/transfers": {
            "get": operation(
                "Transfers, to other archives and from them",
                answer="TransfersAnswer",
                parameters=[LIMIT, query("state", "open, done or undone")],
            ),
            "post": operation(
                "Begin to transfer Originals to another archive",
                body="TransferRequest",
                answer="TransfersAnswer",
                status=202,
                errors=hearing,
            ),
        },
        "/api/v1/transfers/{id}": {
            "parameters": [_ID],
            "get": operation("How far it is", answer="TransferAnswer", errors=(404,)),
            "post": operation(
                "Go on now, with a token that is needed again",
                body="ResumptionRequest",
                answer="TransferAnswer",
                status=202,
                errors=hearing,
                body_needed=False,
            ),
            "delete": operation(
                "Undo it", answer="TransferAnswer", status=202, errors=(404, 409, 507)
            ),
        },
        "/api/v1/incoming/{id}": {
            "parameters": [_ID],
            "put": operation(
                "Another archive offers an item, and asks how far it is",
                body="OfferRequest",
                answer="TransferReply",
                errors=hearing,
            ),
            "delete": operation(
                "Another archive undoes a transfer",
                answer="TransferReply",
                parameters=[
                    query("label", "A label of the item"),
                    query("receipt", "By which it was ready"),
                ],
                errors=(409, 507),
            ),
        },
        "/api/v1/incoming/{id}/acceptance": {
            "parameters": [_ID],
            "post": operation(
                "Another archive has handed the Original over",
                body="AcceptanceRequest",
                answer="TransferReply",
                errors=hearing,
            ),
        },
    }
