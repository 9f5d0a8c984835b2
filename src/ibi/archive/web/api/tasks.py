"""The API of an archive: long work, and how far it has come."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.responses import Response

from ibi.archive.tasks import Tasks
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.identifier.instant import Instant
from ibi.model.task import Task

_MOST: Final = 1000
_SECOND: Final = 1_000_000_000


class TaskAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task, and how far it has come."""

    id: str
    kind: str
    who: str
    state: str
    begun: str
    done: int
    total: int
    """How much there is to do; 0 if nobody knows."""
    note: str = ""
    result: dict[str, Any] = {}
    ended: str = ""


class TasksAnswer(msgspec.Struct, frozen=True):
    """Tasks, the newest first."""

    tasks: list[TaskAnswer]


def task_answer(task: Task) -> TaskAnswer:
    """Say how it stands with a task."""
    return TaskAnswer(
        task.id,
        task.kind,
        task.who,
        str(task.state),
        Instant(task.begun // _SECOND).iso8601,
        task.done,
        task.total,
        task.note,
        msgspec.json.decode(task.result),
        Instant(task.ended // _SECOND).iso8601 if task.ended else "",
    )


class TasksApi:
    """Its handlers."""

    def __init__(self, tasks: Tasks) -> None:
        """Show and cancel tasks."""
        self._tasks = tasks

    async def list(self, request: AuthorizedRequest) -> Response:
        """List tasks, the newest first."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        kind = request.query_params.get("kind", "")
        found = await asyncio.to_thread(self._tasks.newest, limit, kind)
        return json_answer(TasksAnswer([task_answer(task) for task in found]))

    async def show(self, request: AuthorizedRequest) -> Response:
        """Tell how far a task is."""
        task = await asyncio.to_thread(self._tasks.get, request.path_params["id"])
        return json_answer(task_answer(task))

    async def cancel(self, request: AuthorizedRequest) -> Response:
        """Give a task up."""
        task = await asyncio.to_thread(self._tasks.cancel, request.path_params["id"])
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)
