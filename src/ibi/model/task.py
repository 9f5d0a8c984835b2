"""Work that takes long: begun by somebody, done in the background, gone on with after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TaskState(StrEnum):
    """How it stands with a task."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self not in {TaskState.WAITING, TaskState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task, and how far it has come."""

    id: str
    kind: str
    who: str
    begun: int
    """Nanoseconds of POSIX time."""
    request: str = "{}"
    """What is to be done, as JSON."""
    state: TaskState = TaskState.WAITING
    done: int = 0
    total: int = 0
    """How much there is to do, in whatever it is that the task counts; 0 if nobody knows."""
    place: str = ""
    """Up to where it is done: from here a task goes on."""
    note: str = ""
    """What it is at, or why it failed, for people."""
    result: str = "{}"
    """What came of it, or has so far, as JSON."""
    ended: int = 0
