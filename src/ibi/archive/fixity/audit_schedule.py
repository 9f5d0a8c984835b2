"""Auditing: who wants what to be checked, and when all of it is due."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from threading import Lock
from typing import Annotated, Final, Protocol

import msgspec

from ibi.archive.archive import Archive
from ibi.archive.copies.fetch import SourcePool
from ibi.archive.fixity.audit import Audit
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.fixity.repair import Repairer
from ibi.archive.ports.maintenance import PeerArchive
from ibi.archive.rules.fixity import read_pace
from ibi.archive.tasks import TaskProgress, Tasks
from ibi.errors import ArchiveRequestError, StateError, shown
from ibi.identifier.label import Label
from ibi.metadata.web_address import is_web_address
from ibi.model.task import Task

WHOLE: Final = "audit"
"""The task that checks the whole archive; there is one at a time."""
SOME: Final = "check"
"""The task that checks some items: it need not wait for the other, which may take days."""
_DAY: Final = 86_400 * 1_000_000_000
_MOST: Final = 1000
_SCHEDULE: Final = "schedule"


class AuditRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to check, how fast, and whether to repair it."""

    items: Annotated[list[str], msgspec.Meta(max_length=_MOST)] = []
    """Labels; none for the whole archive."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """Megabytes a second; 0: as fast as can be."""
    repair: bool = False
    source: str = msgspec.field(default="", name="from")
    """The address of an archive that has what is damaged here."""


class PeerSearch(Protocol):
    """The other archives."""

    def connect(self, address: str) -> PeerArchive:
        """Return an archive; it is spoken to when something is read."""
        ...

    def holders(self, label: Label) -> list[str]:
        """Return the addresses of archives that are known to have an item."""
        ...


class AuditSchedule:
    """Checks one archive; damage is kept on a list."""

    def __init__(self, archive: Archive, damages: DamageLog, elsewhere: PeerSearch) -> None:
        """Take the archive, the list, and who has copies."""
        self.damages = damages
        self._archive = archive
        self._elsewhere = elsewhere
        self._beginning = Lock()

    @property
    def works(self) -> dict[str, Callable[[TaskProgress], None]]:
        """How its tasks are done."""
        return {WHOLE: self.audit, SOME: self.audit}

    def audit(self, progress: TaskProgress) -> None:
        """Check what a task asks for."""
        request = msgspec.convert(progress.request, AuditRequest)
        with SourcePool(self._elsewhere.connect) as sources:
            repairer = None
            if request.repair:
                holders, who = self._elsewhere.holders, progress.task.who
                repairer = Repairer(self._archive, sources, holders, request.source, who)
            pace = read_pace(request.rate)
            with closing(Audit(self._archive, self.damages, progress, pace, repairer)) as audit:
                audit.run()

    def begin(self, tasks: Tasks, request: AuditRequest, who: str, *, alone: bool = False) -> Task:
        """Begin a check, or return the one that is under way if it is the same.

        What the schedule began gives way to somebody who waits; and all does to who is `alone`
        with the archive. StateError if the whole archive is being checked for somebody else.
        """
        if request.source and not (request.repair and is_web_address(request.source)):
            msg = f"{shown(request.source)} is no archive to repair from: expected http://host."
            raise ArchiveRequestError(msg)
        for label in request.items:
            self._archive.get(label)
        wanted = msgspec.to_builtins(request)
        with self._beginning:
            if request.items:
                return tasks.begin(SOME, wanted, who)
            for running in tasks.newest(1, WHOLE):
                if not running.state.has_ended:
                    if msgspec.json.decode(running.request) == wanted:
                        return running
                    if not alone and running.who != _SCHEDULE:
                        raise _busy(running)
                    tasks.cancel(running.id)
            return tasks.begin(WHOLE, wanted, who)

    def begin_if_due(self, tasks: Tasks, days: int, rate: int) -> None:
        """Begin a check of the whole archive after so many days; never after 0."""
        with self._beginning:
            if days and tasks.is_due(WHOLE, days * _DAY):
                wanted = msgspec.to_builtins(AuditRequest(rate=rate))
                tasks.begin(WHOLE, wanted, _SCHEDULE)


def _busy(running: Task) -> StateError:
    return StateError(
        f"The whole archive is being checked already, by task {running.id}: wait for its end, or "
        f"give it up by 'ibi archive tasks --cancel {running.id}'."
    )
