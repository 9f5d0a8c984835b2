"""Audits on request and on schedule."""

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
from ibi.errors import ArchiveRequestError, Sentence, StateError, shown
from ibi.identifier.label import Label
from ibi.model.clock import SECOND
from ibi.model.task import Task
from ibi.wire.addresses import is_web_address

WHOLE: Final = "audit"
"""The kind of task that checks the whole archive, one at a time."""
SOME: Final = "check"
"""The kind of task that checks some items; it does not wait for an audit, which may take days."""
_DAY: Final = 86_400 * SECOND
_MOST: Final = 1000
_SCHEDULE: Final = "schedule"


class AuditRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to check, at what rate, and whether to repair damage."""

    items: Annotated[list[str], msgspec.Meta(max_length=_MOST)] = []
    """Labels of the items to check; none for the whole archive."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """Megabytes a second; 0 for no limit."""
    repair: bool = False
    source: str = msgspec.field(default="", name="from")
    """The address of an archive to repair from."""


class PeerSearch(Protocol):
    """Finds other archives that hold an item, and connects to them."""

    def connect(self, address: str) -> PeerArchive:
        """Return the archive at an address; the first read connects to it."""
        ...

    def holders(self, label: Label) -> list[str]:
        """Return the addresses of archives that are known to have an item."""
        ...


class AuditSchedule:
    """Begins and carries out audits of one archive; damage goes to a log."""

    def __init__(self, archive: Archive, damages: DamageLog, elsewhere: PeerSearch) -> None:
        """Audit an archive, and repair from the peers that have copies."""
        self.damages = damages
        self._archive = archive
        self._elsewhere = elsewhere
        self._beginning = Lock()

    @property
    def works(self) -> dict[str, Callable[[TaskProgress], None]]:
        """The work of each kind of task."""
        return {WHOLE: self.audit, SOME: self.audit}

    def audit(self, progress: TaskProgress) -> None:
        """Carry out an audit task."""
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
        """Begin an audit, or return the running one if it has the same request.

        A request cancels an audit that the schedule began; a caller `alone` with the archive
        cancels any. Raises StateError if an audit that another request began is running.
        """
        if request.source and not (request.repair and is_web_address(request.source)):
            msg = Sentence(
                "%(source)s is no archive to repair from: expected http://host.",
                source=shown(request.source),
            )
            raise ArchiveRequestError(msg)
        for label in request.items:
            self._archive.get(label)
        wanted = msgspec.to_builtins(request)
        with self._beginning:
            if request.items:
                return self._begun(tasks.begin(SOME, wanted, who))
            for running in tasks.newest(1, WHOLE):
                if not running.state.has_ended:
                    if msgspec.json.decode(running.request) == wanted:
                        return running
                    if not alone and running.who != _SCHEDULE:
                        raise _busy(running)
                    tasks.cancel(running.id)
            return self._begun(tasks.begin(WHOLE, wanted, who))

    def _begun(self, task: Task) -> Task:
        """Note in the history that a person began an audit."""
        detail: dict[str, object] = {"task": task.id, **msgspec.json.decode(task.request)}
        self._archive.note("audit", task.who, detail)
        return task

    def begin_if_due(self, tasks: Tasks, days: int, rate: int) -> None:
        """Begin an audit of the whole archive if the last is so many days ago; 0 means never."""
        with self._beginning:
            if days and tasks.is_due(WHOLE, days * _DAY):
                wanted = msgspec.to_builtins(AuditRequest(rate=rate))
                tasks.begin(WHOLE, wanted, _SCHEDULE)


def _busy(running: Task) -> StateError:
    return StateError(
        Sentence(
            "The whole archive is being checked already, by task %(id)s: wait for its end, or give "
            "it up by 'ibi archive tasks --cancel %(id)s'.",
            id=running.id,
        )
    )
