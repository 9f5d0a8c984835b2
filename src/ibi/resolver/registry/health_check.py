"""Checks archives that no search asks: whether those that are down are up, and the others down.

Searches notice when an archive that they ask falls silent, and do not ask it then. So it is asked
here, by the request for a confirmation, which costs an archive nothing (004, 5.2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from ibi.model.clock import SECOND, Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NO_SLOT, ArchiveClient
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.outage import (
    MAX_SILENCES,
    is_due,
)

TIMEOUT_SECONDS: Final = 3.0
"""Seconds that an archive has for its confirmation."""
TICK: Final = 0.25
"""Seconds between two rounds; the shortest retry is twice that."""
MAX_IDLE: Final = 600 * SECOND
"""Nanoseconds without a question after which an archive is checked."""
MAX_CONCURRENT: Final = 64
"""Archives that are asked at the same time."""
_LOG: Final = structlog.get_logger()


class HealthCheck:
    """Asks archives for confirmations, until it is cancelled."""

    def __init__(
        self,
        registry: Registry,
        client: ArchiveClient,
        clock: Clock,
        tick: float = TICK,
        on_duty: Callable[[], bool] = lambda: True,
    ) -> None:
        """Check the archives of a registry every `tick` seconds, while `on_duty` returns true."""
        self._registry = registry
        self._client = client
        self._clock = clock
        self._tick = tick
        self._on_duty = on_duty
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._looked = clock.uptime()
        self._place = 0
        self._share = 0.0

    async def run(self) -> None:
        """Check archives in rounds until cancelled."""
        try:
            while True:
                try:
                    if self._on_duty():
                        self._begin_due()
                except Exception:  # noqa: BLE001  # archives have to be checked after any failure
                    _LOG.exception("the health check failed")
                await asyncio.sleep(self._tick)
        finally:
            tasks = tuple(self._asking.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _begin_due(self) -> None:
        """Begin to ask all archives that are due."""
        now = self._clock.wall()
        due = [
            (archive.outage.next_try, archive)
            for archive in self._registry.down()
            if archive.outage is not None and is_due(archive.outage, now)
        ]
        for _, archive in sorted(due, key=lambda each: each[0]):
            self._begin(archive, 1)
        for archive in self._next():
            if self._registry.is_asked(archive.id) and self._is_idle(archive):
                self._begin(archive, MAX_SILENCES)

    def _next(self) -> tuple[RegisteredArchive, ...]:
        """Return the next archives: each comes once in MAX_IDLE.

        So they are spread over that time, however many there are.
        """
        included, now = self._registry.included(), self._clock.uptime()
        self._share += len(included) * (now - self._looked) / MAX_IDLE
        self._looked = now
        count = min(int(self._share), len(included))
        self._share %= 1
        start = self._place if self._place < len(included) else 0
        turn = included[start : start + count]
        turn += included[: count - len(turn)]
        self._place = (start + count) % max(1, len(included))
        return turn

    def _is_idle(self, archive: RegisteredArchive) -> bool:
        return self._clock.uptime() - self._registry.last_asked(archive.id) >= MAX_IDLE

    def _begin(self, archive: RegisteredArchive, times: int) -> None:
        # Archives that are left out come again: they are still due, or come next in turn.
        if archive.id in self._asking or len(self._asking) >= MAX_CONCURRENT:
            return
        task = asyncio.create_task(self._ask(archive, times))
        self._asking[archive.id] = task
        task.add_done_callback(lambda _: self._asking.pop(archive.id, None))

    async def _ask(self, archive: RegisteredArchive, times: int) -> None:
        """Ask an archive until it answers; an idle one, until it counts as down."""
        try:
            for _ in range(times):
                began = self._clock.uptime()
                silence = await self._client.confirm(
                    archive.address, archive.service, TIMEOUT_SECONDS
                )
                now = self._registry.find(archive.id)
                if now is None or now.address != archive.address:
                    return  # it has moved, or was removed
                if silence == NO_SLOT:
                    return
                if not silence:
                    self._registry.note_confirmation(archive.id)
                    seconds = (self._clock.uptime() - began) / SECOND
                    self._registry.response_times.note(archive.id, seconds)
                    return
                self._registry.note_reply(archive.id, silence)
        except Exception:  # noqa: BLE001  # it is checked again later
            _LOG.exception("an archive could not be checked", archive=archive.id)
