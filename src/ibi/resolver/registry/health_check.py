"""Looks after archives that nobody asks: whether those that are down are up, and the others down.

Searches notice when an archive that they ask falls silent, and do not ask it then. So somebody
else has to: by the request for a confirmation, which an archive answers at no cost (004, 5.2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from ibi.model.clock import Clock
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NO_SLOT, ArchiveClient
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.outage import MAX_SILENCES, SECOND, is_due

PATIENCE: Final = 3.0
"""Seconds that an archive has for its confirmation."""
TICK: Final = 0.25
"""Seconds between two looks; the shortest retry is twice that."""
QUIET: Final = 600 * SECOND
"""After which an archive that nobody asked is asked."""
MOST_AT_ONCE: Final = 64
_LOG: Final = structlog.get_logger()


class HealthCheck:
    """Asks archives whether they are there, until it is cancelled."""

    def __init__(
        self,
        registry: Registry,
        client: ArchiveClient,
        clock: Clock,
        tick: float = TICK,
        on_duty: Callable[[], bool] = lambda: True,
    ) -> None:
        """Look at the archives of a registry, so many seconds apart, while it is on duty."""
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
        """Watch."""
        try:
            while True:
                try:
                    if self._on_duty():
                        self._look()
                except Exception:  # noqa: BLE001  # whatever it is, archives have to be watched
                    _LOG.exception("the watch failed")
                await asyncio.sleep(self._tick)
        finally:
            tasks = tuple(self._asking.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _look(self) -> None:
        """Begin to ask whoever is to be asked now."""
        now = self._clock.wall()
        due = [
            (archive.outage.next_try, archive)
            for archive in self._registry.down()
            if archive.outage is not None and is_due(archive.outage, now)
        ]
        for _, archive in sorted(due, key=lambda each: each[0]):
            self._begin(archive, 1)
        for archive in self._next():
            if self._registry.is_asked(archive.id) and self._is_quiet(archive):
                self._begin(archive, MAX_SILENCES)

    def _next(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives whose turn it is: each comes once in the time that makes one quiet.

        So they are spread over that time, however many there are.
        """
        included, now = self._registry.included(), self._clock.uptime()
        self._share += len(included) * (now - self._looked) / QUIET
        self._looked = now
        count = min(int(self._share), len(included))
        self._share %= 1
        start = self._place if self._place < len(included) else 0
        turn = included[start : start + count]
        turn += included[: count - len(turn)]
        self._place = (start + count) % max(1, len(included))
        return turn

    def _is_quiet(self, archive: RegisteredArchive) -> bool:
        return self._clock.uptime() - self._registry.last_asked(archive.id) >= QUIET

    def _begin(self, archive: RegisteredArchive, times: int) -> None:
        # Those left out come again: they are due still, or their turn comes.
        if archive.id in self._asking or len(self._asking) >= MOST_AT_ONCE:
            return
        task = asyncio.create_task(self._ask(archive, times))
        self._asking[archive.id] = task
        task.add_done_callback(lambda _: self._asking.pop(archive.id, None))

    async def _ask(self, archive: RegisteredArchive, times: int) -> None:
        """Ask an archive until it answers; one that nobody else asks as often as makes it sure."""
        try:
            for _ in range(times):
                silence = await self._client.confirm(archive.address, archive.service, PATIENCE)
                now = self._registry.find(archive.id)
                if now is None or now.address != archive.address:
                    return  # it has moved, or is gone
                if silence == NO_SLOT:
                    return
                if not silence:
                    self._registry.returned(archive.id)
                    return
                self._registry.heard(archive.id, silence)
        except Exception:  # noqa: BLE001  # as above: it comes again at its turn
            _LOG.exception("an archive could not be watched", archive=archive.id)
