"""The Prometheus metrics of the minting service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from ibi.minting.minter import Minter
    from ibi.minting.web.request_queue import RequestQueue

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)


class MintingMetrics:
    """Metrics of one minter, created before it, because the minter observes the ledger at once."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        latency = Histogram(
            "ibi_ledger_seconds",
            "How long durable steps of the ledger take",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.observe = latency.observe

    def watch(self, minter: Minter, queue: RequestQueue) -> None:
        """Report a minter and its waiting requests."""
        self._registry.register(_Minting(minter, queue))

    def page(self) -> bytes:
        """Return the present values of all metrics."""
        return generate_latest(self._registry)


class _Minting(Collector):
    def __init__(self, minter: Minter, queue: RequestQueue) -> None:
        self._minter = minter
        self._queue = queue

    def collect(self) -> Iterator[Metric]:
        health = self._minter.health()
        given = CounterMetricFamily("ibi_labels_given", "Labels given out since the start")
        given.add_metric([], health.given)
        yield given
        for name, text, value in (
            ("ibi_waiting", "Callers in the waiting room", health.waiting + len(self._queue)),
            (
                "ibi_clock_distance_seconds",
                "How far the clock is behind the last label",
                health.clock_distance / 1e9,
            ),
            (
                "ibi_granularity_seconds",
                "The temporal granularity",
                health.granularity.nanoseconds / 1e9,
            ),
            ("ibi_trouble", "1 if minting is refused", int(health.trouble is not None)),
        ):
            yield GaugeMetricFamily(name, text, value=value)
