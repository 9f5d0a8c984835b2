"""Tasks: long work in the background, one task of a kind at a time.

A task that the end of the process interrupts is gone on with when the archive is started again,
from the place that it reported last. Whoever does the work must bear to be asked twice for what
came after that place.
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
from ibi.errors import IbiError, StateError, UnknownError
from ibi.model.clock import Clock
from ibi.model.task import Task, TaskState

_SECOND: Final = 1_000_000_000
_LOOK: Final = 30.0
"""Seconds after which a worker looks for tasks that it was not told of."""
_CANCELLED: Final = "This task was cancelled."
_LOG: Final = structlog.get_logger()


class CancelledError(Exception):
    """Somebody does not want the task any more; `TaskProgress` raises it where the work reports."""


class InterruptedTaskError(Exception):
    """The process is about to end; the task is gone on with by the next."""


class TaskProgress:
    """Takes how far a task has come; it is kept once in a second, and when `keep` is called."""

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
        """What is to be done."""
        found: dict[str, Any] = msgspec.json.decode(self.task.request)
        return found

    @property
    def result(self) -> dict[str, Any]:
        """What came of it so far."""
        found: dict[str, Any] = msgspec.json.decode(self.task.result)
        return found

    def report(self, **facts: Any) -> None:  # noqa: ANN401  # fields of a task
        """Say how far it is: done, total, place, note, or result, a dict.

        CancelledError or InterruptedTaskError if the work is to end here.
        """
        if "result" in facts:
            facts["result"] = msgspec.json.encode(facts["result"]).decode()
        self.task = replace(self.task, **facts)
        if self._clock.uptime() - self._kept >= _SECOND:
            self.keep()
        self._check(self.task.id)

    def keep(self) -> None:
        """Make durable what was reported; like `report`, it ends work that nobody wants."""
        self._keep(self.task)
        self._kept = self._clock.uptime()


Work: TypeAlias = Callable[[TaskProgress], None]
"""Does a task, and reports on it; an IbiError is why it failed."""


class Tasks:
    """The tasks of one archive, and a thread for each kind."""

    def __init__(self, store: TaskStore, clock: Clock, works: Mapping[str, Work]) -> None:
        """Know how each kind is done; nothing runs before `start`."""
        self._store = store
        self._clock = clock
        self._works = works
        self._writing = threading.Lock()
        self._cancelled: set[str] = set()
        self._stopping = threading.Event()
        self._wake: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def begin(self, kind: str, request: Mapping[str, object], who: str) -> Task:
        """Take a task on; durable when this returns."""
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
        """Return a task; UnknownError if there is none."""
        task = self._store.get(id)
        if task is None:
            raise UnknownError("task", id)
        return task

    def newest(self, limit: int, kind: str = "") -> list[Task]:
        """Return tasks, the newest first."""
        return self._store.newest(limit, kind)

    def is_due(self, kind: str, every: int) -> bool:
        """Tell whether a task that is done every so many nanoseconds should be begun again."""
        last = next(iter(self._store.newest(1, kind)), None)
        if last is None or not last.state.has_ended:
            return last is None
        return self._clock.wall() - last.begun >= every

    def cancel(self, id: str) -> Task:  # noqa: A002
        """Give a task up, for good: what it did stays done, and no restart goes on with it.

        If it is at work, it ends where it next says how far it is.
        """
        with self._writing:
            task = self.get(id)
            if task.state.has_ended:
                msg = f"This task has ended already: {task.state}."
                raise StateError(msg)
            cancelled = self._ended(task, TaskState.CANCELLED, _CANCELLED)
            self._store.keep(cancelled)
            self._cancelled.add(id)
        return cancelled

    def start(self) -> None:
        """Begin to work, first on what was interrupted."""
        self._stopping.clear()
        for kind in self._works:
            thread = threading.Thread(
                target=self._run, args=(kind,), name=f"ibi-{kind}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Interrupt whatever is done, and wait until it is."""
        self._stopping.set()
        for kind in self._works:
            self._event(kind).set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self, kind: str) -> None:
        while not self._stopping.is_set():
            self._event(kind).clear()
            with suppress(IbiError):  # the storage fails: later
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
        except Exception as fault:  # noqa: BLE001  # or a fault of ours would end all of the kind
            _LOG.exception("a task failed", task=task.id, kind=task.kind)
            unforeseen = f"Something unforeseen happened ({type(fault).__name__})."
            self._end(progress, TaskState.FAILED, unforeseen)
        else:
            self._end(progress, TaskState.DONE, "")
        self._cancelled.discard(task.id)

    def _keep(self, task: Task) -> None:
        # Whoever cancels it writes too, and has the last word.
        with self._writing:
            self._check(task.id)
            self._store.keep(task)

    def _leave(self, task: Task) -> None:
        """Keep where a task was interrupted, unless it is to be gone on with by nobody."""
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
