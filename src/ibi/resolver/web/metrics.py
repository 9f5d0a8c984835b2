"""What a resolver tells Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.3, 0.5, 1, 2, 5, 15)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})

_ALIKE = frozenset({"conflicts_open", "digests", "digest_names", "digest_age_seconds"})
"""What stands in the database that all processes share."""


class ResolverMetrics:
    """Metrics of one resolver."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.registry = CollectorRegistry()
        self.common = CollectorRegistry()
        """Of what all processes of a resolver see alike: it is told once, not by each."""
        self._requests = Counter(
            "ibi_resolver_requests",
            "Requests answered, but for warm ones",
            ["method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ibi_resolver_request_seconds",
            "How long requests take, but for warm ones",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._outcomes = Counter(
            "ibi_resolver_outcomes",
            "What became of persistent URLs, but for warm ones",
            ["outcome"],
            registry=self.registry,
        )

    def observe(self, method: str, status: int, seconds: float) -> None:
        """Note a request; a method that nobody knows is not a name that anybody may invent."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, str(status)).inc()
        self._seconds.observe(seconds)

    def observe_outcome(self, outcome: str) -> None:
        """Note what became of a persistent URL."""
        self._outcomes.labels(outcome).inc()

    def watch(self, name: str, what: str, read: Callable[[], float]) -> None:
        """Report a number as it is whenever somebody asks."""
        registry = self.common if name in _ALIKE else self.registry
        Gauge(f"ibi_resolver_{name}", what, registry=registry).set_function(read)

    def watch_states(self, read: Callable[[str], float], states: tuple[str, ...]) -> None:
        """Report how many archives are in each state."""
        gauge = Gauge(
            "ibi_resolver_archives", "Archives on record", ["state"], registry=self.common
        )
        for state in states:
            gauge.labels(state).set_function(partial(read, state))
