"""The API of an archive: deposits."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.deposits.deposits import Deposits
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.web.api import messages, uploads
from ibi.archive.web.api import responses as answers
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.archive.web.urls import ArchiveUrls
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.request_body import body_of, decoded

_LARGEST_DESCRIPTION: Final = 2 << 20
"""Bytes: a record of half a megabyte, however it is escaped."""
_SHOWN: Final = 100
"""Files in the answer to a completed deposit."""

_DECODE: Final = msgspec.json.Decoder(DepositRequest).decode
_DECODE_COMPLETION: Final = msgspec.json.Decoder(messages.CompletionRequest).decode
_DECODE_UNPACK: Final = msgspec.json.Decoder(messages.UnpackRequest).decode


class DepositsApi:
    """Its handlers."""

    def __init__(
        self, deposits: Deposits, door: ArchiveAuthorizer, urls: ArchiveUrls, largest_file: int
    ) -> None:
        """Take files up to a size."""
        self._deposits = deposits
        self._door = door
        self._urls = urls
        self._largest = largest_file

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        deposit = "/api/v1/deposits/{id}"
        return [
            by_method("/api/v1/deposits", POST=self.open),
            by_method(deposit, GET=self.show, DELETE=self.abandon),
            by_method(
                f"{deposit}/files/{{path:path}}",
                PUT=self.receive,
                PATCH=self.receive,
                GET=self.show_file,
                DELETE=self.remove,
            ),
            by_method(f"{deposit}/unpacking", POST=self.unpack),
            by_method(f"{deposit}/completion", POST=self.complete),
        ]

    async def open(self, request: Request) -> Response:
        """Begin a deposit."""
        who = await self._door.admit(request, "deposit")
        wanted = decoded(_DECODE, await body_of(request, _LARGEST_DESCRIPTION))
        if wanted.further_names:
            # Whoever claims a name that others know must answer for the archive.
            await self._door.admit(request, "administer")
        deposit = await asyncio.to_thread(self._deposits.open, wanted, who)
        answer = answers.deposit_answer(deposit, [])
        location = {"Location": f"{self._urls.base}/api/v1/deposits/{deposit.id}"}
        return json_answer(answer, HTTPStatus.CREATED, location)

    async def show(self, request: Request) -> Response:
        """Tell what has come."""
        await self._door.admit(request, "deposit")
        id_ = request.path_params["id"]
        deposit = await asyncio.to_thread(self._deposits.get, id_)
        staged = [] if deposit.completed else await asyncio.to_thread(self._deposits.staged, id_)
        return json_answer(answers.deposit_answer(deposit, staged))

    async def abandon(self, request: Request) -> Response:
        """Give a deposit up."""
        await self._door.admit(request, "deposit")
        await asyncio.to_thread(self._deposits.abandon, request.path_params["id"])
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def receive(self, request: Request) -> Response:
        """Take a file, or the rest of one."""
        await self._door.admit(request, "deposit")
        id_, path = request.path_params["id"], uploads.path_after(request, b"/files/")
        offset = uploads.offset_of(request)
        reception = await asyncio.to_thread(self._deposits.receive, id_, path, offset)
        file = await uploads.receive(request, reception, offset, self._largest)
        if file is None:
            return await self._state_of(id_, path)
        headers = {"Upload-Offset": str(file.size), "Upload-Complete": "?1"}
        return json_answer(answers.file_answer(file), HTTPStatus.CREATED, headers)

    async def show_file(self, request: Request) -> Response:
        """Tell how much of a file has come: from there it can be gone on with."""
        await self._door.admit(request, "deposit")
        return await self._state_of(
            request.path_params["id"], uploads.path_after(request, b"/files/")
        )

    async def _state_of(self, id_: str, path: str) -> Response:
        staged = await asyncio.to_thread(self._deposits.staged_file, id_, path)
        whole = staged.file is not None
        answer = messages.StagedAnswer(
            staged.path, staged.size, whole, staged.file.sha256 if staged.file else ""
        )
        headers = {"Upload-Offset": str(staged.size), "Upload-Complete": "?1" if whole else "?0"}
        return json_answer(answer, headers=headers)

    async def remove(self, request: Request) -> Response:
        """Take a file out again."""
        await self._door.admit(request, "deposit")
        id_, path = request.path_params["id"], uploads.path_after(request, b"/files/")
        await asyncio.to_thread(self._deposits.remove, id_, path)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def unpack(self, request: Request) -> Response:
        """Take a zip or tar file apart."""
        await self._door.admit(request, "deposit")
        wanted = decoded(_DECODE_UNPACK, await body_of(request))
        files = await asyncio.to_thread(
            self._deposits.unpack, request.path_params["id"], wanted.path, wanted.folder
        )
        return json_answer(messages.UnpackAnswer(files))

    async def complete(self, request: Request) -> Response:
        """Make the item."""
        who = await self._door.admit(request, "deposit")
        body = await body_of(request)
        target = decoded(_DECODE_COMPLETION, body).target if body else ""
        id_ = request.path_params["id"]
        return json_answer(await asyncio.to_thread(self._complete, id_, who, target))

    def _complete(self, id_: str, who: str, target: str) -> messages.ItemAnswer:
        look = self._deposits.complete(id_, who, target)
        files = self._urls.items.files(look.held.id, "", _SHOWN)
        return answers.item_answer(look, self._urls.persistent, self._urls.of(look.item), files)
