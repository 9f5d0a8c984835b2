"""Outages on their way to the store: noted at once, written in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from ibi.errors import IbiError, NotOnRecordError
from ibi.ports import Clock, RegistryEvent

REST: Final = 5.0
"""Seconds after which a store that failed is tried again."""
RESOLVER: Final = "resolver"
"""Who says that an archive is down."""
_LOG: Final = structlog.get_logger()


class OutageJournal:
    """What is still to be written: of each archive only what happened last."""

    def __init__(self, write: Callable[[RegistryEvent], Awaitable[None]], clock: Clock) -> None:
        """Get ready; `write` keeps an archive as it then is, and the event with it."""
        self._write = write
        self._clock = clock
        self._events: dict[str, RegistryEvent] = {}
        self._news = asyncio.Event()

    def add(self, archive: str, act: str, detail: str) -> None:
        """Have it written that an archive went down or came up."""
        self._events[archive] = RegistryEvent(0, self._clock.wall(), RESOLVER, act, archive, detail)
        self._news.set()

    def forget(self, archive: str) -> None:
        """Write nothing of an archive that is gone."""
        self._events.pop(archive, None)

    async def run(self) -> None:
        """Write whatever comes, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            if not await self.drain():
                await asyncio.sleep(REST)
                self._news.set()

    async def drain(self) -> bool:
        """Write all that there is; False if the store does not take it."""
        for archive in tuple(self._events):
            # Taken first: who cancels this does not undo what is being written.
            event = self._events.pop(archive, None)
            if event is None:
                continue
            try:
                await self._write(event)
            except NotOnRecordError:
                continue  # it was removed meanwhile
            except IbiError as failure:
                self._events.setdefault(archive, event)
                _LOG.warning("an outage was not written", archive=archive, error=str(failure))
                return False
        return True
