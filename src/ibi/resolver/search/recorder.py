"""Records the outcome of a search: the owner of the item, and rival claims to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.model.clock import Clock
from ibi.resolver.ports.store import Owner, RegistryEvent
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.ownership import contention, owner_after
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.search import Search

_LOG: Final = structlog.get_logger()


class SearchRecorder:
    """Records owners and conflicts after searches."""

    def __init__(  # its collaborators
        self,
        owners: Owners,
        conflicts: Conflicts,
        registry: Registry,
        clock: Clock,
        forget: Callable[[str], None],
    ) -> None:
        """Record in these; `forget` is called with labels to drop from caches."""
        self._owners = owners
        self._conflicts = conflicts
        self._registry = registry
        self._clock = clock
        self._forget = forget
        self._tasks: set[asyncio.Task[None]] = set()

    def learn(self, search: Search) -> None:
        """Record the outcome of a search that has ended."""
        question, evidence = search.question, search.evidence()
        label = question.label.canonical
        owner = owner_after(question, evidence, self._clock.wall())
        if owner is not None and owner != evidence.owner:
            self._owners.learn(label, owner)
            if evidence.owner is not None:
                self._forget(label)
                self._begin(self._record_change(label, evidence.owner, owner))
        found = contention(question, evidence)
        if found is not None:
            contended = found.label.canonical
            # Otherwise the cached redirects were chosen among the same claims.
            if self._conflicts.is_news(contended, found.answers, found.incumbents):
                self._forget(label)
                self._forget(contended)
            self._begin(self._conflicts.record(contended, found.answers, found.incumbents))

    async def _record_change(self, label: str, before: Owner, after: Owner) -> None:
        """Add to the history that the owner changed, after the new owner is stored."""
        await self._owners.keep()
        event = RegistryEvent(
            0, after.since, "resolver", "owner", after.archive, f"{label}, before {before.archive}"
        )
        try:
            await self._registry.note(event, label)
        except IbiError as failure:
            _LOG.warning("history cannot be stored", error=str(failure))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until everything is recorded."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
