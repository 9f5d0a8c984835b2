"""The figures of a resolver over time: what a process reads of its counters once a minute."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from ibi.foundation.figures.recorder import Readings
from ibi.model.figures import Durations
from ibi.model.registration import ArchiveState
from ibi.resolver.digests.locations import Locations
from ibi.resolver.registry.registry import Registry
from ibi.resolver.web.fast_redirects import FastRedirects
from ibi.resolver.web.metrics import BOUNDS, ResolverMetrics
from ibi.resolver.web.redirect import RedirectEndpoint

RESOLUTIONS: Final = "resolutions"
"""Persistent URLs that were answered, warm ones included."""
CACHED: Final = "cached"
"""Those of them that were answered from the cache."""
REQUESTS: Final = "requests"
"""Requests that were answered, warm ones included; also the name of their durations."""
_REDIRECT: Final = "redirect"
_FOUND: Final = "status.302"
_LEAST: Final = str(float(min(BOUNDS)))
"""The bound at which warm answers are counted: they take some microseconds."""


class ResolverReadings:
    """Reads the counters of one process, and what is equal in all of them if it has the duty."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it reads
        self,
        metrics: ResolverMetrics,
        fast: FastRedirects,
        redirects: RedirectEndpoint,
        registry: Registry,
        locations: Locations,
        catch_up: Callable[[], Awaitable[None]],
        count_conflicts: Callable[[], Awaitable[int]],
        has_duty: Callable[[], bool],
    ) -> None:
        """`has_duty` returns whether this process reports what all of them have in common.

        `catch_up` applies what other processes changed in the registry.
        """
        self._metrics = metrics
        self._fast = fast
        self._redirects = redirects
        self._registry = registry
        self._locations = locations
        self._catch_up = catch_up
        self._count_conflicts = count_conflicts
        self._has_duty = has_duty

    async def read(self) -> Readings:
        """Read everything."""
        warm, recalled = self._fast.given, self._redirects.recalled
        outcomes = self._metrics.outcomes()
        statuses = {f"status.{name}": count for name, count in self._metrics.statuses().items()}
        requests = sum(statuses.values())
        statuses[_FOUND] = statuses.get(_FOUND, 0) + warm
        counts = {
            RESOLUTIONS: sum(outcomes.values()) + warm,
            CACHED: recalled + warm,
            REQUESTS: requests + warm,
            **statuses,
            **{f"outcome.{name}": count for name, count in outcomes.items()},
        }
        name = f"outcome.{_REDIRECT}"
        counts[name] = counts.get(name, 0) + warm
        levels = await self._levels() if self._has_duty() else {}
        return Readings(counts, {REQUESTS: self._durations(warm)}, levels)

    def _durations(self, warm: int) -> Durations:
        durations = self._metrics.durations()
        return {**durations, _LEAST: durations.get(_LEAST, 0) + warm}

    async def _levels(self) -> dict[str, int]:
        await self._catch_up()
        states = [archive.state for archive in self._registry.all()]
        return {
            "archives": sum(state is not ArchiveState.PENDING for state in states),
            "archives.answering": states.count(ArchiveState.INCLUDED),
            "archives.down": states.count(ArchiveState.DOWN),
            "digests": self._locations.whole,
            "digest.age": int(self._locations.age),
            "conflicts": await self._count_conflicts(),
        }
