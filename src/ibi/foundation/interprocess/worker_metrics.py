"""The Prometheus metrics of all processes of one service, whichever of them is asked.

Each process has metrics of its own, under a label of its own: those of a replaced process start
again at zero, which Prometheus handles for one counter, but not for the sum of several.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request

from ibi.foundation.interprocess.frames import ACCEPTED, METRICS, FdChannel, frame, read_frame

PATIENCE: Final = 2.0
"""Seconds in which a process must send its metrics; otherwise it is left out."""


class _Sample(msgspec.Struct, frozen=True, array_like=True):
    name: str
    labels: dict[str, str]
    value: float


class _Family(msgspec.Struct, frozen=True, array_like=True):
    name: str
    what: str
    kind: str
    samples: list[_Sample]


MetricsSource: TypeAlias = Callable[[], Awaitable[bytes]]
"""Returns the present metrics of this process, encoded."""

_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODE: Final = msgspec.msgpack.Decoder(list[_Family]).decode


def encoded_metrics(registry: CollectorRegistry) -> bytes:
    """Return the metrics of this process, encoded for another process."""
    return _ENCODE(
        [
            _Family(
                metric.name,
                metric.documentation,
                metric.type,
                [_Sample(each.name, dict(each.labels), each.value) for each in metric.samples],
            )
            for metric in registry.collect()
        ]
    )


def page_of(received: Mapping[str, bytes]) -> bytes:
    """Return the page for Prometheus, from the encoded metrics of each process by its name."""
    families: dict[str, Metric] = {}
    for worker, content in sorted(received.items()):
        for family in _DECODE(content):
            made = Metric(family.name, family.what, family.kind)
            metric = families.setdefault(family.name, made)
            for sample in family.samples:
                metric.add_sample(sample.name, {**sample.labels, "worker": worker}, sample.value)
    registry = CollectorRegistry()
    registry.register(_Received(families.values()))
    return generate_latest(registry)


class _Received(Collector):
    """Metrics that other processes sent."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


class WorkerMetrics:
    """The metrics of all processes of a service, of which this process is one."""

    def __init__(
        self, name: str, channels: Mapping[str, FdChannel], patience: float = PATIENCE
    ) -> None:
        """Take the name of this process, and the channels to all processes by their names."""
        self._patience = patience
        self.name = name
        self.channels = channels

    @property
    def channel(self) -> FdChannel:
        """The channel of this process."""
        return self.channels[self.name]

    async def page(self, own: CollectorRegistry) -> bytes:
        """Return the page for Prometheus, from all processes that answer in time."""
        others = [name for name in self.channels if name != self.name]
        answers = await asyncio.gather(*(self._ask(self.channels[name]) for name in others))
        received = {name: answer for name, answer in zip(others, answers, strict=True) if answer}
        return page_of({**received, self.name: encoded_metrics(own)})

    async def _ask(self, channel: FdChannel) -> bytes:
        with suppress(OSError, EOFError, TimeoutError):
            async with asyncio.timeout(self._patience):
                reader, writer = await asyncio.open_unix_connection(sock=channel.connect())
                try:
                    writer.write(frame(METRICS))
                    if await reader.readexactly(1) == ACCEPTED:
                        _, content = await read_frame(reader)
                        return content
                finally:
                    writer.close()
        return b""


def set_metrics_source(app: Starlette, own: MetricsSource) -> None:
    """Set the function that returns the metrics of an application."""
    app.state.metrics_source = own


def metrics_source(app: Starlette) -> MetricsSource:
    """Return the function that returns the metrics of an application."""
    own: MetricsSource = app.state.metrics_source
    return own


def join_workers(app: Starlette, processes: WorkerMetrics) -> None:
    """Let an application answer with the metrics of all processes."""
    app.state.processes = processes


async def page_for(
    request: Request, own: CollectorRegistry, common: CollectorRegistry | None = None
) -> bytes:
    """Return the page for Prometheus: of this process, or of all processes of the service.

    Metrics that all of them have in common are added once.
    """
    processes: WorkerMetrics | None = getattr(request.app.state, "processes", None)
    page = generate_latest(own) if processes is None else await processes.page(own)
    return page if common is None else page + generate_latest(common)
