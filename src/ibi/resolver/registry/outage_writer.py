"""Outages on their way to the store: noted at once, written in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import structlog

from ibi.errors import IbiError, NotOnRecordError
from ibi.model.clock import Clock
from ibi.resolver.ports.store import RegistryEvent

REST: Final = 5.0
"""Seconds after which a store that failed is tried again."""
RESOLVER: Final = "resolver"
"""Who says that an archive is down."""
_LOG: Final = structlog.get_logger()


class OutageWriter:
    """What is still to be written: of each archive only what happened last."""

    def __init__(self, write: Callable[[RegistryEvent], Awaitable[None]], clock: Clock) -> None:
        """Get ready; `write` keeps what is then seen of an archive, and the event with it."""
        self._write = write
        self._clock = clock
        self._events: dict[str, RegistryEvent] = {}
        self._being_written = ""
        self._news = asyncio.Event()
        self._closing = asyncio.Event()

    def add(self, archive: str, act: str, detail: str) -> None:
        """Have it written that an archive went down or came up."""
        self._events[archive] = RegistryEvent(0, self._clock.wall(), RESOLVER, act, archive, detail)
        self._news.set()

    def has(self, archive: str) -> bool:
        """Return whether there is still something to be written of an archive."""
        return archive in self._events or archive == self._being_written

    def forget(self, archive: str) -> None:
        """Write nothing of an archive that is gone."""
        self._events.pop(archive, None)

    async def run(self) -> None:
        """Write whatever comes, until it is closed: what is being written is not broken off."""
        while not self._closing.is_set():
            await self._news.wait()
            self._news.clear()
            if not await self.drain():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), REST)
                self._news.set()

    def close(self) -> None:
        """Begin nothing any more."""
        self._closing.set()
        self._news.set()

    async def drain(self) -> bool:
        """Write all that there is; False if the store does not take it."""
        for archive in tuple(self._events):
            # Taken first: something else may happen to the archive meanwhile.
            event = self._events.pop(archive, None)
            if event is None:
                continue
            self._being_written = archive
            try:
                await self._write(event)
            except NotOnRecordError:
                continue  # it was removed meanwhile
            except IbiError as failure:
                self._events.setdefault(archive, event)
                _LOG.warning("an outage was not written", archive=archive, error=str(failure))
                return False
            finally:
                self._being_written = ""
        return True
