"""The API of an archive: the location of its files, and their move."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Final, Protocol

import msgspec
from starlette.responses import Response

from ibi.archive.tasks import Tasks
from ibi.archive.web.api.tasks import task_answer
from ibi.errors import ArchiveRequestError, Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest

_LONGEST: Final = 1024
"""Characters of the longest text of a request."""
Text = Annotated[str, msgspec.Meta(max_length=_LONGEST)]


class StorageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new location of the files: an existing folder, or s3://bucket/prefix."""

    storage: Text
    endpoint: Text = ""
    """The URL of an object store other than Amazon S3."""
    region: Text = ""


class StorageAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the files are."""

    storage: str
    endpoint: str = ""
    region: str = ""
    delivery: str = ""
    """The delivery from an object store: proxied, or presigned."""


class Moves(Protocol):
    """Moves the files of an archive."""

    kind: str

    def present(self) -> dict[str, str]:
        """Return where the files are."""
        ...

    def wanted(self, storage: str, endpoint: str, region: str) -> object:
        """Return the settings of another location; raise if it cannot be used."""
        ...


class StorageApi:
    """Handlers of the operations on the storage."""

    def __init__(self, moves: Moves, tasks: Tasks) -> None:
        """Move the files of one archive."""
        self._moves = moves
        self._tasks = tasks

    async def show(self, _: AuthorizedRequest) -> Response:
        """Answer with the location of the files."""
        return json_answer(StorageAnswer(**self._moves.present()))

    async def move(self, request: AuthorizedRequest) -> Response:
        """Begin to move the files."""
        wanted = await request.read(StorageRequest)
        if not wanted.storage:
            msg = Sentence("The new location is missing: expected a folder, or s3://bucket/prefix.")
            raise ArchiveRequestError(msg)
        facts = msgspec.to_builtins(wanted)
        await asyncio.to_thread(lambda: self._moves.wanted(**facts))
        task = await asyncio.to_thread(self._tasks.begin, self._moves.kind, facts, request.caller)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)
