"""Tasks: work that runs in the background and continues after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TaskState(StrEnum):
    """The state of a task."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        """Whether the task is done, failed or cancelled."""
        return self not in {TaskState.WAITING, TaskState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task, and its progress."""

    id: str
    kind: str
    who: str
    """The actor: the name of a token, or of a component of the archive."""
    begun: int
    """Nanoseconds of POSIX time."""
    request: str = "{}"
    """The parameters of the task, as JSON."""
    state: TaskState = TaskState.WAITING
    done: int = 0
    total: int = 0
    """The amount of work, in the unit that the task counts; 0 if unknown."""
    place: str = ""
    """The position up to which the work is done, from which a task continues."""
    note: str = ""
    """What it does now, or why it failed, for people."""
    result: str = "{}"
    """The result so far, as JSON."""
    ended: int = 0
