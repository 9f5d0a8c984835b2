"""The metrics of a resolver, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ibi.foundation.figures.prometheus import counts_by, durations_of
from ibi.model.figures import Durations

BOUNDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.3, 0.5, 1, 2, 5, 15)
"""The bounds in seconds by which durations are counted."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})

_ALIKE = frozenset({"conflicts_open", "digests", "digest_names", "digest_age_seconds"})
"""Metrics that come from the database, which all processes share."""


class ResolverMetrics:
    """Metrics of one resolver."""

    def __init__(self) -> None:
        """Begin with all metrics at zero."""
        self.registry = CollectorRegistry()
        self.common = CollectorRegistry()
        """The registry of metrics that are equal in all processes: they are reported once."""
        self._requests = Counter(
            "ibi_resolver_requests",
            "Requests answered, but for warm ones",
            ["method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ibi_resolver_request_seconds",
            "How long requests take, but for warm ones",
            buckets=BOUNDS,
            registry=self.registry,
        )
        self._outcomes = Counter(
            "ibi_resolver_outcomes",
            "What became of persistent URLs, but for warm ones",
            ["outcome"],
            registry=self.registry,
        )

    def observe(self, method: str, status: int, seconds: float) -> None:
        """Count a request; unknown methods share one name, so that clients cannot add names."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, str(status)).inc()
        self._seconds.observe(seconds)

    def observe_outcome(self, outcome: str) -> None:
        """Count the outcome of a persistent URL."""
        self._outcomes.labels(outcome).inc()

    def statuses(self) -> dict[str, int]:
        """Return how many requests were answered, by status, but for warm ones."""
        return counts_by(self._requests, "status")

    def outcomes(self) -> dict[str, int]:
        """Return how many persistent URLs had each outcome, but for warm ones."""
        return counts_by(self._outcomes, "outcome")

    def durations(self) -> Durations:
        """Return how long requests took, but for warm ones."""
        return durations_of(self._seconds)

    def watch(self, name: str, what: str, read: Callable[[], float]) -> None:
        """Report a number, which is read at each scrape."""
        registry = self.common if name in _ALIKE else self.registry
        Gauge(f"ibi_resolver_{name}", what, registry=registry).set_function(read)

    def watch_states(self, read: Callable[[str], float], states: tuple[str, ...]) -> None:
        """Report how many archives are in each state."""
        gauge = Gauge(
            "ibi_resolver_archives", "Archives on record", ["state"], registry=self.common
        )
        for state in states:
            gauge.labels(state).set_function(partial(read, state))
