"""What makes an archive last, put together: each part its API, its long work and its schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ibi.wiring.auditing import auditing_of, log_damage
from ibi.wiring.copying import copying_of
from ibi.wiring.transferring import transfers_of

if TYPE_CHECKING:
    from ibi.archive.copies import Copies
    from ibi.archive.damages import Damages
    from ibi.archive.tasks import Tasks, Work
    from ibi.archive.transferring import Transfers
    from ibi.web.archive_app import Api, Service
    from ibi.web.archive_door import ArchiveDoor
    from ibi.wiring.archive import Instance


@dataclass(slots=True)
class Upkeep:
    """Its parts."""

    tasks: Tasks
    damages: Damages
    copies: Copies
    transfers: Transfers
    apis: list[Api] = field(default_factory=list)
    rounds: list[Callable[[], None]] = field(default_factory=list)
    """What is looked after now and again."""
    services: list[Service] = field(default_factory=list)
    """What goes on by itself, from the start to the end."""


def upkeep_of(instance: Instance, door: ArchiveDoor) -> Upkeep:
    """Return the upkeep of an archive; nothing of it runs yet."""
    from ibi.archive.digest import Digest, Filling
    from ibi.archive.tasks import Tasks
    from ibi.web.audits_api import AuditsApi
    from ibi.web.copies_api import CopiesApi
    from ibi.web.digest_door import DigestDoor
    from ibi.web.holdings_api import HoldingsApi
    from ibi.web.storage_api import StorageApi
    from ibi.web.tasks_api import TasksApi
    from ibi.web.transfers_api import TransfersApi
    from ibi.wiring.moving import StoreMove

    archive, clock = instance.archive, instance.clock
    works: dict[str, Work] = {}
    tasks = Tasks(archive.catalogue, clock, works)
    auditing = auditing_of(instance, log_damage)
    works |= auditing.works
    copies, copy_work = copying_of(instance)
    works |= {"copy": copy_work.copy, "refresh": copy_work.refresh}
    transfers = transfers_of(instance)
    upkeep = Upkeep(tasks, auditing.damages, copies, transfers)
    upkeep.services += [tasks, transfers]
    upkeep.apis.append(TasksApi(tasks, door))
    moves = StoreMove(instance)
    works[moves.kind] = moves.work
    upkeep.apis.append(StorageApi(moves, tasks, door))
    upkeep.apis.append(AuditsApi(archive, auditing, tasks, door))
    upkeep.apis.append(CopiesApi(copies, tasks, door))
    upkeep.apis.append(TransfersApi(transfers, door))
    upkeep.apis.append(HoldingsApi(archive))
    is_published = instance.settings.digest
    upkeep.apis.append(DigestDoor(Digest(archive.catalogue), published=is_published))
    if is_published:
        upkeep.services.append(Filling(archive.catalogue))
    upkeep.rounds.append(auditing.damages.load)
    days, rate = instance.settings.audit_days, instance.settings.audit_megabytes_a_second
    upkeep.rounds.append(partial(auditing.begin_if_due, tasks, days, rate))
    hours = instance.settings.copies_hours
    upkeep.rounds.append(partial(copy_work.begin_if_due, tasks, hours))
    return upkeep
