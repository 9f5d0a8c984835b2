"""Readings from the Prometheus metrics of a process."""

from __future__ import annotations

from collections import Counter as Sums
from collections.abc import Iterable
from typing import Final

from prometheus_client import Counter, Histogram, Metric
from prometheus_client.samples import Sample

from ibi.model.figures import Durations

_TOTAL: Final = "_total"
_BUCKET: Final = "_bucket"


def counts_by(counter: Counter, label: str) -> dict[str, int]:
    """Return the values of a counter by the value of one of its labels."""
    sums: Sums[str] = Sums()
    for sample in _samples(counter.collect(), _TOTAL):
        sums[sample.labels[label]] += int(sample.value)
    return dict(sums)


def durations_of(histogram: Histogram) -> Durations:
    """Return the durations of a histogram without labels, each at its least bound."""
    durations: Durations = {}
    below = 0
    for sample in _samples(histogram.collect(), _BUCKET):  # by bound; each has those below too
        count = int(sample.value)
        durations[sample.labels["le"]] = count - below
        below = count
    return durations


def _samples(metrics: Iterable[Metric], end: str) -> list[Sample]:
    return [each for metric in metrics for each in metric.samples if each.name.endswith(end)]
