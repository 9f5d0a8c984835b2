"""What all processes of one service tell Prometheus, whichever of them is asked.

Each has numbers of its own, under a label of its own: those of a process that was replaced begin
anew, which Prometheus understands of one number, and not of a sum of several.
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

from ibi.foundation.interprocess.frames import HERE, NUMBERS, FdChannel, frame, read_frame

PATIENCE: Final = 2.0
"""Seconds in which a process has to tell its numbers; who does not is left out."""


class _Sample(msgspec.Struct, frozen=True, array_like=True):
    name: str
    labels: dict[str, str]
    value: float


class _Family(msgspec.Struct, frozen=True, array_like=True):
    name: str
    what: str
    kind: str
    samples: list[_Sample]


Numbers: TypeAlias = Callable[[], Awaitable[bytes]]
"""Writes down the numbers of this process, as of now."""

_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODE: Final = msgspec.msgpack.Decoder(list[_Family]).decode


def numbers(registry: CollectorRegistry) -> bytes:
    """Write down the numbers of this process."""
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


def page_of(told: Mapping[str, bytes]) -> bytes:
    """Return the page for Prometheus, of the numbers of processes by their names."""
    families: dict[str, Metric] = {}
    for worker, content in sorted(told.items()):
        for family in _DECODE(content):
            made = Metric(family.name, family.what, family.kind)
            metric = families.setdefault(family.name, made)
            for sample in family.samples:
                metric.add_sample(sample.name, {**sample.labels, "worker": worker}, sample.value)
    registry = CollectorRegistry()
    registry.register(_Told(families.values()))
    return generate_latest(registry)


class _Told(Collector):
    """Metrics that were told."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


class WorkerMetrics:
    """All processes of a service, of which this is one."""

    def __init__(
        self, name: str, bells: Mapping[str, FdChannel], patience: float = PATIENCE
    ) -> None:
        """Know one's own name, and the bells of all by theirs."""
        self._patience = patience
        self.name = name
        self.bells = bells

    @property
    def bell(self) -> FdChannel:
        """One's own."""
        return self.bells[self.name]

    async def page(self, own: CollectorRegistry) -> bytes:
        """Return the page for Prometheus, of all who answer in time."""
        others = [name for name in self.bells if name != self.name]
        answers = await asyncio.gather(*(self._ask(self.bells[name]) for name in others))
        told = {name: answer for name, answer in zip(others, answers, strict=True) if answer}
        return page_of({**told, self.name: numbers(own)})

    async def _ask(self, bell: FdChannel) -> bytes:
        with suppress(OSError, EOFError, TimeoutError):
            async with asyncio.timeout(self._patience):
                reader, writer = await asyncio.open_unix_connection(sock=bell.ring())
                try:
                    writer.write(frame(NUMBERS))
                    if await reader.readexactly(1) == HERE:
                        _, content = await read_frame(reader)
                        return content
                finally:
                    writer.close()
        return b""


def tell(app: Starlette, own: Numbers) -> None:
    """Let an application tell numbers to whichever colleague asks."""
    app.state.numbers = own


def metrics_of(app: Starlette) -> Numbers:
    """Return what an application tells."""
    own: Numbers = app.state.numbers
    return own


def join(app: Starlette, processes: WorkerMetrics) -> None:
    """Let an application speak for all."""
    app.state.processes = processes


async def page_for(
    request: Request, own: CollectorRegistry, common: CollectorRegistry | None = None
) -> bytes:
    """Return the page for Prometheus: of this process, or of all if it is one of several.

    What all of them have in common is told once.
    """
    processes: WorkerMetrics | None = getattr(request.app.state, "colleagues", None)
    page = generate_latest(own) if processes is None else await processes.page(own)
    return page if common is None else page + generate_latest(common)
