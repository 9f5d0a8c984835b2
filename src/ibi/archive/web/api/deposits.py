"""The API of an archive: deposits."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.deposits.deposits import Deposits
from ibi.archive.item_rights import ItemRights
from ibi.archive.ports.deposits import Deposit
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.drafts.draft import is_draft
from ibi.archive.rules.scopes import CURATE, Caller
from ibi.archive.web.api import messages, uploads
from ibi.archive.web.api import responses as answers
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import RoleError, UnknownError
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest

_SHOWN: Final = 100
"""Files in the answer to a completed deposit."""


class DepositsApi:
    """Handlers of the operations on deposits."""

    def __init__(
        self, deposits: Deposits, rights: ItemRights, urls: ArchiveUrls, largest_file: int
    ) -> None:
        """Accept files up to a size in bytes."""
        self._deposits = deposits
        self._rights = rights
        self._urls = urls
        self._largest = largest_file

    async def open(self, request: AuthorizedRequest) -> Response:
        """Open a deposit."""
        wanted = await request.read(DepositRequest)
        deposit = await asyncio.to_thread(
            self._open, wanted, Caller(request.caller, request.granted)
        )
        answer = answers.deposit_answer(deposit, [])
        location = {"Location": f"{self._urls.base}/api/v1/deposits/{deposit.id}"}
        return json_answer(answer, HTTPStatus.CREATED, location)

    def _open(self, wanted: DepositRequest, caller: Caller) -> Deposit:
        self._rights.check_request(caller, wanted)
        return self._deposits.open(wanted, caller.name)

    async def _own(self, request: AuthorizedRequest) -> Deposit:
        """Return the deposit that a request names, if the caller may use it.

        Those of drafts are for their owners (`web.api.drafts`).
        """
        id_: str = request.path_params["id"]
        if is_draft(id_):
            raise UnknownError("deposit", id_)
        deposit = await asyncio.to_thread(self._deposits.get, id_)
        self._rights.check_deposit(Caller(request.caller, request.granted), deposit)
        return deposit

    async def show(self, request: AuthorizedRequest) -> Response:
        """Show a deposit with its received files."""
        deposit = await self._own(request)
        id_ = deposit.id
        staged = [] if deposit.completed else await asyncio.to_thread(self._deposits.staged, id_)
        return json_answer(answers.deposit_answer(deposit, staged, self._deposits.stored(id_)))

    async def abandon(self, request: AuthorizedRequest) -> Response:
        """Cancel a deposit."""
        await asyncio.to_thread(self._deposits.abandon, (await self._own(request)).id)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def receive(self, request: AuthorizedRequest) -> Response:
        """Receive a file, or the rest of one."""
        id_, path = (await self._own(request)).id, uploads.path_after(request, b"/files/")
        offset = uploads.offset_of(request)
        reception = await asyncio.to_thread(self._deposits.receive, id_, path, offset)
        file = await uploads.receive(request, reception, offset, self._largest)
        if file is None:
            return await self._state_of(id_, path)
        headers = {"Upload-Offset": str(file.size), "Upload-Complete": "?1"}
        return json_answer(answers.file_answer(file), HTTPStatus.CREATED, headers)

    async def show_file(self, request: AuthorizedRequest) -> Response:
        """Show how many bytes of a file were received, to continue from there."""
        id_ = (await self._own(request)).id
        return await self._state_of(id_, uploads.path_after(request, b"/files/"))

    async def _state_of(self, id_: str, path: str) -> Response:
        staged = await asyncio.to_thread(self._deposits.staged_file, id_, path)
        answer = answers.staged_answer(staged)
        complete = "?1" if answer.whole else "?0"
        headers = {"Upload-Offset": str(staged.size), "Upload-Complete": complete}
        return json_answer(answer, headers=headers)

    async def remove(self, request: AuthorizedRequest) -> Response:
        """Remove a received file."""
        id_, path = (await self._own(request)).id, uploads.path_after(request, b"/files/")
        await asyncio.to_thread(self._deposits.remove, id_, path)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def unpack(self, request: AuthorizedRequest) -> Response:
        """Unpack a zip or tar file."""
        wanted = await request.read(messages.UnpackRequest)
        id_ = (await self._own(request)).id
        files = await asyncio.to_thread(self._deposits.unpack, id_, wanted.path, wanted.folder)
        return json_answer(messages.UnpackAnswer(files))

    async def complete(self, request: AuthorizedRequest) -> Response:
        """Complete a deposit: make or change its item."""
        wanted = await request.read(messages.CompletionRequest)
        deposit, caller = await self._own(request), Caller(request.caller, request.granted)
        return json_answer(await asyncio.to_thread(self._complete, deposit, caller, wanted.target))

    def _complete(self, deposit: Deposit, caller: Caller, target: str) -> messages.ItemAnswer:
        if caller.is_limited and not deposit.completed and deposit.request:
            # The role may have changed since it was opened.
            try:
                request = msgspec.json.decode(deposit.request, type=DepositRequest)
            except msgspec.ValidationError:  # an import, which is for administrators
                raise RoleError(CURATE) from None
            self._rights.check_request(caller, request)
        look = self._deposits.complete(deposit.id, caller.name, target)
        files = self._urls.items.files(look.held.id, "", _SHOWN)
        return answers.item_answer(look, self._urls.persistent, self._urls.of(look.item), files)
