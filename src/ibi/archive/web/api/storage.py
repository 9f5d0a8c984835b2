"""The API of an archive: where its files are, and how they get elsewhere."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Any, Final, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.tasks import Tasks
from ibi.archive.web.api.tasks import task_answer
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.errors import ArchiveRequestError
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.openapi import operation
from ibi.foundation.web.request_body import body_of, decoded

_LONGEST: Final = 1024
Text = Annotated[str, msgspec.Meta(max_length=_LONGEST)]


class StorageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the files are to be: a folder that is there, or s3://bucket/prefix."""

    storage: Text
    endpoint: Text = ""
    """The URL of an object store that is not Amazon's."""
    region: Text = ""


class StorageAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the files are."""

    storage: str
    endpoint: str = ""
    region: str = ""
    delivery: str = ""
    """Of an object store: proxied, or presigned."""


class Moves(Protocol):
    """What moves the files of an archive."""

    kind: str

    def present(self) -> dict[str, str]:
        """Say where the files are."""
        ...

    def wanted(self, storage: str, endpoint: str, region: str) -> object:
        """Say what is wrong with another place for them, if anything is."""
        ...


class StorageApi:
    """Its handlers."""

    def __init__(self, moves: Moves, tasks: Tasks, door: ArchiveAuthorizer) -> None:
        """Move the files of one archive."""
        self._moves = moves
        self._tasks = tasks
        self._door = door

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [by_method("/api/v1/storage", GET=self.show, POST=self.move)]

    async def show(self, request: Request) -> Response:
        """Say where the files are."""
        await self._door.admit(request, "administer")
        return json_answer(StorageAnswer(**self._moves.present()))

    async def move(self, request: Request) -> Response:
        """Begin to move them."""
        who = await self._door.admit(request, "administer")
        wanted = decoded(_DECODE, await body_of(request))
        if not wanted.storage:
            msg = "Say where the files are to be: a folder, or s3://bucket/prefix."
            raise ArchiveRequestError(msg)
        facts = msgspec.to_builtins(wanted)
        await asyncio.to_thread(lambda: self._moves.wanted(**facts))
        task = await asyncio.to_thread(self._tasks.begin, self._moves.kind, facts, who)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)


_DECODE: Final = msgspec.json.Decoder(StorageRequest).decode
TYPES: Final = (StorageRequest, StorageAnswer)


def described() -> dict[str, Any]:
    """Describe them for OpenAPI."""
    return {
        "/api/v1/storage": {
            "get": operation("Where the files are", answer="StorageAnswer"),
            "post": operation(
                "Move all files to another store, while the archive serves",
                body="StorageRequest",
                answer="TaskAnswer",
                status=202,
                errors=(409, 413, 507),
            ),
        }
    }
