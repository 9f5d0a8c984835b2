"""Tasks: long work in the background, one task of a kind at a time.

A task that the end of the process interrupts is resumed when the archive starts again, from the
place that it reported last. The work after that place may be done twice.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

import msgspec
import structlog

from ibi.archive.ports.maintenance import TaskStore
from ibi.errors import IbiError, Sentence, StateError, UnknownError
from ibi.model.clock import SECOND, Clock
from ibi.model.task import Task, TaskState

_LOOK: Final = 30.0
"""Seconds between two searches of a worker for new tasks."""
_CANCELLED: Final = "This task was cancelled."
_LOG: Final = structlog.get_logger()


class CancelledError(Exception):
    """The task was cancelled; `TaskProgress` raises this where the work reports."""


class InterruptedTaskError(Exception):
    """The process is about to end; the next process resumes the task."""


class TaskProgress:
    """The progress of a task, stored once a second and when `keep` is called."""

    def __init__(
        self,
        task: Task,
        keep: Callable[[Task], None],
        clock: Clock,
        check: Callable[[str], None],
    ) -> None:
        """Report on a task; `keep` and `check` raise if it is to end."""
        self.task = task
        self._keep = keep
        self._clock = clock
        self._check = check
        self._kept = clock.uptime()

    @property
    def request(self) -> dict[str, Any]:
        """The request of the task."""
        found: dict[str, Any] = msgspec.json.decode(self.task.request)
        return found

    @property
    def result(self) -> dict[str, Any]:
        """The result so far."""
        found: dict[str, Any] = msgspec.json.decode(self.task.result)
        return found

    def report(self, **facts: Any) -> None:  # noqa: ANN401  # fields of a task
        """Report progress: done, total, place, note, or result, a dict.

        Raises CancelledError or InterruptedTaskError if the work is to end here.
        """
        if "result" in facts:
            facts["result"] = msgspec.json.encode(facts["result"]).decode()
        self.task = replace(self.task, **facts)
        if self._clock.uptime() - self._kept >= SECOND:
            self.keep()
        self._check(self.task.id)

    def keep(self) -> None:
        """Make the reported progress durable; raises like `report`."""
        self._keep(self.task)
        self._kept = self._clock.uptime()


Work: TypeAlias = Callable[[TaskProgress], None]
"""Carries out a task and reports its progress; an IbiError is the reason of a failure."""


class Tasks:
    """The tasks of one archive, with one thread for each kind."""

    def __init__(
        self,
        store: TaskStore,
        clock: Clock,
        works: Mapping[str, Work],
        note: Callable[[str, str, dict[str, object]], None] = lambda *_: None,
    ) -> None:
        """Carry out each kind of task by its work; nothing runs before `start`.

        `note` records an act of a person, and what it was about, in the history.
        """
        self._note = note
        self._store = store
        self._clock = clock
        self._works = works
        self._writing = threading.Lock()
        self._cancelled: set[str] = set()
        self._stopping = threading.Event()
        self._wake: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def begin(self, kind: str, request: Mapping[str, object], who: str) -> Task:
        """Begin a task; it is durable when this returns."""
        task = Task(
            id=uuid.uuid4().hex,
            kind=kind,
            who=who,
            begun=self._clock.wall(),
            request=msgspec.json.encode(request).decode(),
        )
        self._store.keep(task)
        self._event(kind).set()
        return task

    def _event(self, kind: str) -> threading.Event:
        return self._wake.setdefault(kind, threading.Event())

    def get(self, id: str) -> Task:  # noqa: A002  # what it is called everywhere
        """Return a task; raise UnknownError if there is none."""
        task = self._store.get(id)
        if task is None:
            raise UnknownError("task", id)
        return task

    def newest(self, limit: int, kind: str = "") -> list[Task]:
        """Return tasks, the newest first."""
        return self._store.newest(limit, kind)

    def is_due(self, kind: str, every: int) -> bool:
        """Return whether the last task of a kind began at least so many nanoseconds ago."""
        last = next(iter(self._store.newest(1, kind)), None)
        if last is None or not last.state.has_ended:
            return last is None
        return self._clock.wall() - last.begun >= every

    def cancel(self, id: str, who: str = "") -> Task:  # noqa: A002
        """Cancel a task for good: what it did stays done, and no restart resumes it.

        A running task ends at its next report. `who` is the person who cancels it, if it is one.
        """
        with self._writing:
            task = self.get(id)
            if task.state.has_ended:
                msg = Sentence("This task has ended already: %(state)s.", state=task.state)
                raise StateError(msg)
            cancelled = self._ended(task, TaskState.CANCELLED, _CANCELLED)
            self._store.keep(cancelled)
            self._cancelled.add(id)
        if who:
            self._note("cancel task", who, {"task": id, "kind": task.kind})
        return cancelled

    def start(self) -> None:
        """Start the threads; interrupted tasks are resumed first."""
        self._stopping.clear()
        for kind in self._works:
            thread = threading.Thread(
                target=self._run, args=(kind,), name=f"ibi-{kind}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Interrupt running tasks, and wait until they have stopped."""
        self._stopping.set()
        for kind in self._works:
            self._event(kind).set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self, kind: str) -> None:
        while not self._stopping.is_set():
            self._event(kind).clear()
            with suppress(IbiError):  # if the storage fails, the next search finds the task
                self._do_all(kind)
            if not self._stopping.is_set():
                self._event(kind).wait(_LOOK)

    def _do_all(self, kind: str) -> None:
        for task in self._store.unfinished():
            if task.kind == kind and not self._stopping.is_set():
                self._do(task)

    def _do(self, task: Task) -> None:
        running = replace(task, state=TaskState.RUNNING)
        progress = TaskProgress(running, self._keep, self._clock, self._check)
        try:
            progress.keep()
            self._works[task.kind](progress)
        except InterruptedTaskError:
            self._leave(progress.task)
            return
        except CancelledError:
            self._end(progress, TaskState.CANCELLED, _CANCELLED)
        except IbiError as failure:
            self._end(progress, TaskState.FAILED, str(failure))
        except Exception as fault:  # noqa: BLE001  # a bug must not end the thread of this kind
            _LOG.exception("a task failed", task=task.id, kind=task.kind)
            unforeseen = f"Something unforeseen happened ({type(fault).__name__})."
            self._end(progress, TaskState.FAILED, unforeseen)
        else:
            self._end(progress, TaskState.DONE, "")
        self._cancelled.discard(task.id)

    def _keep(self, task: Task) -> None:
        # A cancellation is written concurrently, and must not be overwritten.
        with self._writing:
            self._check(task.id)
            self._store.keep(task)

    def _leave(self, task: Task) -> None:
        """Store where a task was interrupted, unless it was cancelled."""
        with self._writing:
            if task.id not in self._cancelled:
                self._store.keep(task)

    def _end(self, progress: TaskProgress, state: TaskState, note: str) -> None:
        with self._writing:
            self._store.keep(self._ended(progress.task, state, note))

    def _ended(self, task: Task, state: TaskState, note: str) -> Task:
        return replace(task, state=state, note=note, ended=self._clock.wall())

    def _check(self, id: str) -> None:  # noqa: A002
        if id in self._cancelled:
            raise CancelledError
        if self._stopping.is_set():
            raise InterruptedTaskError
