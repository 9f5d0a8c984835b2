"""Bugs planted in what resolvers store: accesses, keys, records and worker leases."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

from ibi.foundation.sql.database import Execute
from ibi.model.registration import RegisteredArchive
from ibi.resolver.acknowledgments.outbox import AcknowledgmentOutbox, PendingAccesses, TakenAccesses
from ibi.resolver.ports.store import ChangeArchive, PendingAcknowledgment
from ibi.resolver.registry.registry import SerialExecutor
from ibi.resolver.rules import access_count_sheet, acknowledgment
from ibi.resolver.rules.acknowledgment import NextStep
from ibi.resolver.storage.acknowledgments import SqlAcknowledgments, _append, _replace
from ibi.resolver.storage.archives import SqlArchives
from ibi.resolver.storage.workers import SqlProcesses
from ibi.resolver.workers.change_feed import ChangeFeed
from ibi.resolver.workers.leases import WorkerLeases
from tests.simulation.planted.mutation import Mutation
from tests.simulation.world.virtual_time import wait

_next_step: Final = acknowledgment.next_step
_change_archive: Final = SqlArchives.change_archive
_register: Final = WorkerLeases._register  # noqa: SLF001  # what is changed
_take: Final = PendingAccesses.take
_keyed: Final = access_count_sheet.keyed


async def _key_in_mind(
    self: AcknowledgmentOutbox, row: PendingAcknowledgment, acknowledgment: str, most: int
) -> tuple[PendingAcknowledgment, None]:
    del self, most
    return replace(row, acknowledgment=acknowledgment), None


def _another_key(row: PendingAcknowledgment, now: int, *, ready: bool) -> NextStep:
    step = _next_step(row, now, ready=ready)
    return NextStep.ASK if step is NextStep.SEND else step


def _hopeless(row: PendingAcknowledgment, now: int, *, ready: bool) -> NextStep:
    step = _next_step(row, now, ready=ready)
    return NextStep.GIVE_UP if step is NextStep.ASK else step


def _keep_again(
    self: SqlAcknowledgments, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
) -> list[int] | None:
    def work(execute: Execute) -> list[int] | None:
        if self._last_turn(execute, keeper) is None:
            return None
        execute("UPDATE resolver_process SET turn = $1 WHERE id = $2", turn, keeper)
        _replace(execute, keeper, [each for each in pending if each.id])
        numbers = iter(_append(execute, keeper, [each for each in pending if not each.id]))
        return [each.id or next(numbers) for each in pending]

    return self._handle.write(work)


def _adopt_all(self: SqlProcesses, process: str) -> int:
    take = "UPDATE resolver_acknowledgment SET keeper = $1 WHERE keeper <> $1 RETURNING count"
    return sum(count for (count,) in self._handle.write(lambda execute: execute(take, process)))


def _adopt_none(self: SqlProcesses, process: str) -> int:
    del self, process
    return 0


def _any_key(key: object, good: tuple[str, str]) -> str:
    del key
    return good[0]


def _uses(execute: object, access: object) -> bool:
    del execute, access
    return True


async def _deaf(self: ChangeFeed) -> None:
    del self


async def _at_once(self: SerialExecutor, act: Coroutine[Any, Any, object]) -> object:
    del self
    return await act


def _change_read_before(
    self: SqlArchives, name: str, change: ChangeArchive
) -> RegisteredArchive | None:
    """Change a record from a read outside the transaction."""
    before = next(iter(self.archives([name])), None)
    changed = change(before)
    wait(asyncio.sleep(0.5))
    return _change_archive(self, name, lambda _: changed)


async def _take_and_keep(self: PendingAccesses, since: int) -> TakenAccesses:
    counts = dict(self._counts)
    taken = await _take(self, since)
    self._counts = {access: count - 1 for access, count in counts.items() if count > 1}
    return taken


def _keyed_and_kept(
    row: PendingAcknowledgment, acknowledgment: str, most: int, now: int
) -> list[PendingAcknowledgment]:
    """Acknowledge a whole sheet by the key of its first line, and keep the sheet."""
    keyed = _keyed(row, acknowledgment, most, now)
    return keyed if len(keyed) > 1 else [row, replace(keyed[0], id=0)]


async def _register_once(self: WorkerLeases) -> None:
    """Continue under the old name after being declared gone."""
    if not self.process:
        await _register(self)


IN_PROCESSES: Final = (
    Mutation(
        "a process that was declared gone continues under its old name",
        {"ibi.resolver.workers.leases.WorkerLeases._register": _register_once},
        within=150,
    ),
    Mutation(
        "changes of the registry are not serialised",
        {"ibi.resolver.registry.registry.SerialExecutor.run": _at_once},
    ),
    Mutation(
        "a record of an archive is changed from a stale read",
        {"ibi.resolver.storage.archives.SqlArchives.change_archive": _change_read_before},
    ),
    Mutation(
        "accesses that were taken stay noted",
        {"ibi.resolver.acknowledgments.outbox.PendingAccesses.take": _take_and_keep},
    ),
    Mutation(
        "a sheet stays after it was acknowledged",
        {"ibi.resolver.rules.access_count_sheet.keyed": _keyed_and_kept},
    ),
    Mutation(
        "a process does not follow the change feed",
        {"ibi.resolver.workers.change_feed.ChangeFeed.apply_all": _deaf},
    ),
    Mutation(
        "a process takes over from one that is alive",
        {"ibi.resolver.storage.workers.SqlProcesses.adopt_pending": _adopt_all},
    ),
    Mutation(
        "no process takes over from one that is gone",
        {"ibi.resolver.storage.workers.SqlProcesses.adopt_pending": _adopt_none},
    ),
    Mutation(
        "accesses that may have been stored are stored again",
        {"ibi.resolver.storage.acknowledgments.SqlAcknowledgments.keep_pending": _keep_again},
    ),
    Mutation(
        "a key is used before it is stored",
        {"ibi.resolver.acknowledgments.outbox.AcknowledgmentOutbox.key": _key_in_mind},
    ),
    Mutation(
        "a second key is requested when an answer is lost",
        {"ibi.resolver.acknowledgments.sender.next_step": _another_key},
    ),
    Mutation(
        "accesses are given up that could be acknowledged",
        {"ibi.resolver.acknowledgments.sender.next_step": _hopeless},
    ),
    Mutation(
        "an archive counts a key twice",
        {"ibi.archive.storage.catalogue.statistics._use": _uses},
    ),
    Mutation(
        "an archive is included by any key",
        {"ibi.resolver.registry.inclusion._fitting": _any_key},
    ),
)
