"""The API of an archive: where its files are, and how they get elsewhere."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Final, Protocol

import msgspec
from starlette.responses import Response

from ibi.archive.tasks import Tasks
from ibi.archive.web.api.tasks import task_answer
from ibi.errors import ArchiveRequestError
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest

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

    def __init__(self, moves: Moves, tasks: Tasks) -> None:
        """Move the files of one archive."""
        self._moves = moves
        self._tasks = tasks

    async def show(self, _: AuthorizedRequest) -> Response:
        """Say where the files are."""
        return json_answer(StorageAnswer(**self._moves.present()))

    async def move(self, request: AuthorizedRequest) -> Response:
        """Begin to move them."""
        wanted = await request.read(StorageRequest)
        if not wanted.storage:
            msg = "Say where the files are to be: a folder, or s3://bucket/prefix."
            raise ArchiveRequestError(msg)
        facts = msgspec.to_builtins(wanted)
        await asyncio.to_thread(lambda: self._moves.wanted(**facts))
        task = await asyncio.to_thread(self._tasks.begin, self._moves.kind, facts, request.caller)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)
