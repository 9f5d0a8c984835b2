"""What is put on record when a search has ended: who owns the item, and who contends for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.model.clock import Clock
from ibi.resolver.ports.store import Owner, RegistryEvent
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.ownership import owner_after, rivals
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.search import Search

_LOG: Final = structlog.get_logger()


class SearchRecorder:
    """Learns from searches."""

    def __init__(  # where it is put on record
        self,
        owners: Owners,
        conflicts: Conflicts,
        registry: Registry,
        clock: Clock,
        forget: Callable[[str], None],
    ) -> None:
        """Put it on record there; `forget` is told of labels of which no memory holds any more."""
        self._owners = owners
        self._conflicts = conflicts
        self._registry = registry
        self._clock = clock
        self._forget = forget
        self._tasks: set[asyncio.Task[None]] = set()

    def learn(self, search: Search) -> None:
        """Learn from a search that has ended."""
        question, evidence = search.question, search.evidence()
        label = question.label.canonical
        owner = owner_after(question, evidence, self._clock.wall())
        if owner is not None and owner != evidence.owner:
            self._owners.learn(label, owner)
            if evidence.owner is not None:
                self._forget(label)
                self._begin(self._tell(label, evidence.owner, owner))
        contention = rivals(question, evidence)
        if contention is not None:
            contended, answers = contention[0].canonical, contention[1]
            self._forget(label)
            self._forget(contended)
            incumbent = evidence.owner if contended == label else None
            self._begin(self._conflicts.record(contended, answers, incumbent))

    async def _tell(self, label: str, before: Owner, after: Owner) -> None:
        """Put into the history that an item changed hands, once others can read by whom it is."""
        await self._owners.keep()
        event = RegistryEvent(
            0, after.since, "resolver", "owner", after.archive, f"{label}, before {before.archive}"
        )
        try:
            await self._registry.note(event, label)
        except IbiError as failure:
            _LOG.warning("history cannot be kept", error=str(failure))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until all is on record."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
