"""The API of an archive: its tasks and their progress."""

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
from ibi.model.clock import SECOND
from ibi.model.task import Task

_MAX_PAGE: Final = 1000
"""Tasks of one answer at most."""


class TaskAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task and its progress."""

    id: str
    kind: str
    who: str
    state: str
    begun: str
    done: int
    total: int
    """The amount of work; 0 if it is not known."""
    note: str = ""
    result: dict[str, Any] = {}
    ended: str = ""


class TasksAnswer(msgspec.Struct, frozen=True):
    """Tasks, the newest first."""

    tasks: list[TaskAnswer]


def task_answer(task: Task) -> TaskAnswer:
    """Return a task as a message of the API."""
    return TaskAnswer(
        task.id,
        task.kind,
        task.who,
        str(task.state),
        Instant(task.begun // SECOND).iso8601,
        task.done,
        task.total,
        task.note,
        msgspec.json.decode(task.result),
        Instant(task.ended // SECOND).iso8601 if task.ended else "",
    )


class TasksApi:
    """Handlers of the operations on tasks."""

    def __init__(self, tasks: Tasks) -> None:
        """Show and cancel tasks."""
        self._tasks = tasks

    async def list(self, request: AuthorizedRequest) -> Response:
        """List tasks, the newest first."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        kind = request.query_params.get("kind", "")
        found = await asyncio.to_thread(self._tasks.newest, limit, kind)
        return json_answer(TasksAnswer([task_answer(task) for task in found]))

    async def show(self, request: AuthorizedRequest) -> Response:
        """Show a task and its progress."""
        task = await asyncio.to_thread(self._tasks.get, request.path_params["id"])
        return json_answer(task_answer(task))

    async def cancel(self, request: AuthorizedRequest) -> Response:
        """Cancel a task."""
        task = await asyncio.to_thread(
            self._tasks.cancel, request.path_params["id"], request.caller
        )
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)
