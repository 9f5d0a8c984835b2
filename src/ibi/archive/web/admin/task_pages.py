"""The pages of tasks and of the files: progress, cancellation, audits and damage."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.responses import Response

from ibi.archive.fixity.audit_schedule import WHOLE, AuditRequest, AuditSchedule
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.maintenance import Damage
from ibi.archive.tasks import Tasks
from ibi.archive.web.admin.tabs import FILES, TASKS
from ibi.errors import IbiError, Sentence
from ibi.foundation.accounts.site import see_other
from ibi.foundation.pages.administration import AdminSite, Question
from ibi.foundation.web.page_operations import PageRequest
from ibi.foundation.web.problems import problem_of
from ibi.model.task import Task

_SHOWN: Final = 50
"""Tasks, or damaged files, of a page at most."""
_RATES: Final = ("", "1", "10", "50", "200")
"""Megabytes a second that a form offers; empty for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksView:
    """Tasks that run, and those that ended last."""

    running: list[Task]
    ended: list[Task]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesView:
    """The audits and the damage of files."""

    audit: Task | None
    """The last audit of the whole archive."""
    days: int
    """Days between two audits; 0 if none begins by itself."""
    damage: list[Damage]
    more: bool
    """Whether there is more damage than is shown."""
    filled: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    rates: tuple[str, ...] = _RATES

    @property
    def result(self) -> dict[str, Any]:
        """What the last audit counted."""
        found: dict[str, Any] = msgspec.json.decode(self.audit.result) if self.audit else {}
        return found


class TaskPages:
    """Handlers of these pages."""

    def __init__(
        self,
        site: AdminSite,
        catalogue: Catalogue,
        tasks: Tasks,
        auditing: AuditSchedule,
        audit_days: int,
    ) -> None:
        """Show the tasks of one archive; audits begin by themselves after so many days."""
        self._site = site
        self._catalogue = catalogue
        self._tasks = tasks
        self._auditing = auditing
        self._audit_days = audit_days

    async def tasks(self, request: PageRequest) -> Response:
        """Show the tasks."""
        view = await asyncio.to_thread(self._tasks_view)
        return self._site.page(request, "admin_tasks.html", view, TASKS)

    def _tasks_view(self) -> TasksView:
        newest = self._tasks.newest(_SHOWN)
        return TasksView(
            running=self._catalogue.tasks.unfinished(),
            ended=[task for task in newest if task.state.has_ended],
        )

    async def ask_cancel(self, request: PageRequest) -> Response:
        """Ask whether a task is to be cancelled."""
        task = await asyncio.to_thread(self._tasks.get, request.path_params["id"])
        question = Question(
            title=Sentence("Cancel this task?"),
            consequences=(
                Sentence("It ends at its next step. What it has done so far stays done."),
                Sentence("It is not resumed; you can begin another one."),
            ),
            act=Sentence("Cancel the task"),
            path=f"{TASKS}/{task.id}/cancel",
            back=TASKS,
        )
        return self._site.ask(request, question, TASKS)

    async def cancel(self, request: PageRequest) -> Response:
        """Cancel a task."""
        id_, who = request.path_params["id"], request.visitor.actor
        await asyncio.to_thread(self._tasks.cancel, id_, who)
        return see_other(TASKS, request)

    async def files(self, request: PageRequest) -> Response:
        """Show the last audit, and the damage that is known."""
        view = await asyncio.to_thread(self._files_view, {}, "")
        return self._site.page(request, "admin_files.html", view, FILES)

    def _files_view(self, filled: Mapping[str, str], fault: str) -> FilesView:
        damage = self._catalogue.damages.page(("", ""), _SHOWN + 1)
        return FilesView(
            audit=next(iter(self._tasks.newest(1, WHOLE)), None),
            days=self._audit_days,
            damage=damage[:_SHOWN],
            more=len(damage) > _SHOWN,
            filled=filled,
            fault=fault,
        )

    async def begin_audit(self, request: PageRequest) -> Response:
        """Begin an audit of the whole archive."""
        filled = {"rate": request.fields.get("rate"), "repair": request.fields.get("repair")}
        try:
            wanted = AuditRequest(rate=_rate(filled["rate"]), repair=bool(filled["repair"]))
            who = request.visitor.actor
            await asyncio.to_thread(self._auditing.begin, self._tasks, wanted, who)
        except IbiError as error:
            problem, _ = problem_of(error)
            fault = problem.detail or problem.title
            view = await asyncio.to_thread(self._files_view, filled, fault)
            status = HTTPStatus(problem.status)
            return self._site.page(request, "admin_files.html", view, FILES, status)
        return see_other(FILES, request)


def _rate(text: str) -> float:
    """Return one of the rates that the form offers; no limit for any other text."""
    return float(text) if text in _RATES and text else 0
