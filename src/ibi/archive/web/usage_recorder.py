"""Records views and downloads, and counts them in batches.

A request only adds to a list in memory, which is counted every few seconds: by the one process that
changes the archive, so that a reader whose requests come to several processes counts once. Of a
batch that is lost in a crash nothing is counted.

No address of a client leaves the process: a visit has a digest, under a key of the archive, of
address, user agent and request, and it is forgotten after the double clicks.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
import structlog
from counter_robots import is_robot_or_machine
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.ports.statistics import Statistics
from ibi.archive.rules.statistics.usage import UsageTally, Visit, is_counted
from ibi.errors import IbiError
from ibi.foundation.web.client_address import ClientAddresses
from ibi.model.clock import SECOND, Clock

Sink: TypeAlias = Callable[[list[Visit]], Awaitable[None]]
"""Counts visits, or sends them to the process that does; raises if it cannot."""

USAGE: Final = b"u"
"""The topic of messages between processes with visits."""
PERIOD: Final = 5.0
"""Seconds between two batches."""
MAX_WAITING: Final = 40_000
"""Visits of one batch, which fit one frame between processes; further ones are not counted."""
_MAX_AGENT: Final = 512
"""Characters of a user agent that are judged."""
_DECODER: Final = msgspec.msgpack.Decoder(list[Visit])
_LOG: Final = structlog.get_logger()


@lru_cache(maxsize=4096)
def is_robot(user_agent: str) -> bool:
    """Return whether a user agent is a robot or a program, by the list of COUNTER.

    Browsers name themselves; archives that copy items do so too, as `ibi`.
    """
    return not user_agent or user_agent.startswith("ibi") or is_robot_or_machine(user_agent)


class UsageCounter:
    """Counts visits in the statistics of a catalogue."""

    def __init__(self, statistics: Statistics) -> None:
        """Count in one process only."""
        self._statistics = statistics
        self._tally = UsageTally()
        self.views = 0
        """Views that were counted since the start."""
        self.downloads = 0

    async def count(self, visits: list[Visit]) -> None:
        """Count visits."""
        uses = self._tally.add(visits)
        if uses:
            await asyncio.to_thread(self._statistics.count_usage, uses)
            self.views += sum(views for views, _ in uses.values())
            self.downloads += sum(downloads for _, downloads in uses.values())

    async def count_encoded(self, content: bytes) -> None:
        """Count visits that another process recorded."""
        with suppress(msgspec.MsgspecError):
            await self.count(_DECODER.decode(content))


class UsageRecorder:
    """Records visits, and gives them to a sink every few seconds."""

    def __init__(self, clients: ClientAddresses, clock: Clock, secret: str, sink: Sink) -> None:
        """`secret` is the key of digests, the same in all processes of the archive."""
        self._clients = clients
        self._clock = clock
        self._key = hashlib.blake2b(secret.encode(), person=b"usage").digest()
        self._sink = sink
        self._waiting: list[Visit] = []
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Start the task that counts."""
        self._task = asyncio.create_task(self._run(), name="ibi-usage")

    async def close(self) -> None:
        """Stop, and count what is waiting."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self.flush()

    def view(self, item: int, request: Request) -> None:
        """Record that the page of an item, or its metadata, was answered with."""
        if request.method == "GET":
            self._record(item, "", request)

    def download(self, item: int, path: str, request: Request, response: Response) -> None:
        """Record that a file was answered with, if the answer counts."""
        whole = response.headers.get("content-range", "")
        if is_counted(request.method, response.status_code, whole):
            self._record(item, path, request)

    def _record(self, item: int, path: str, request: Request) -> None:
        agent = request.headers.get("user-agent", "")[:_MAX_AGENT]
        if is_robot(agent) or len(self._waiting) >= MAX_WAITING:
            return
        who = f"{self._clients.reader(request)}\n{agent}\n{item}\n{path}"
        digest = hashlib.blake2b(
            who.encode("utf-8", "surrogateescape"), key=self._key, digest_size=8
        )
        key = int.from_bytes(digest.digest(), "big")
        self._waiting.append(Visit(item, bool(path), key, self._clock.wall() // SECOND))

    async def flush(self) -> None:
        """Count what is waiting; if that fails, it goes on waiting."""
        visits, self._waiting = self._waiting, []
        if not visits:
            return
        try:
            await self._sink(visits)
        except (IbiError, OSError, EOFError, TimeoutError) as failure:
            _LOG.warning("views and downloads were not counted yet", error=str(failure))
            self._waiting = (visits + self._waiting)[:MAX_WAITING]

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            await self.flush()


def encoded(visits: list[Visit]) -> bytes:
    """Return visits as bytes, for the process that counts."""
    return msgspec.msgpack.encode(visits)
