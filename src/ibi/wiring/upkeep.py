"""What makes an archive last, put together: each part its API, its long work and its schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibi.archive.tasks import Tasks, Work
    from ibi.web.archive_app import Api
    from ibi.web.archive_door import ArchiveDoor
    from ibi.web.archive_urls import ArchiveUrls
    from ibi.wiring.archive import Instance


@dataclass(slots=True)
class Upkeep:
    """Its parts."""

    tasks: Tasks
    apis: list[Api] = field(default_factory=list)
    rounds: list[Callable[[], None]] = field(default_factory=list)
    """What is looked after now and again."""


def upkeep_of(instance: Instance, door: ArchiveDoor, urls: ArchiveUrls) -> Upkeep:
    """Return the upkeep of an archive; nothing of it runs yet."""
    from ibi.archive.tasks import Tasks
    from ibi.web.tasks_api import TasksApi

    archive, clock = instance.archive, instance.clock
    works: dict[str, Work] = {}
    tasks = Tasks(archive.catalogue, clock, works)
    upkeep = Upkeep(tasks)
    upkeep.apis.append(TasksApi(tasks, door))
    return upkeep
